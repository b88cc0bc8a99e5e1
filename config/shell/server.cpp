#include "config/shell/server.hpp"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/io_context.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

namespace ligature::shell {

namespace fs = std::filesystem;
namespace asio = boost::asio;
using boost::system::error_code;
using nlohmann::json;
using Local = asio::local::stream_protocol;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr std::size_t kVerb = 16;               // bytes before the line itself
constexpr std::size_t kLongestLine = 4u << 20;  // skipped at most; a longer one is no line
constexpr std::size_t kMostQueued = 8u << 20;   // bytes of answers that wait for a reader
constexpr auto kLivePeriod = std::chrono::milliseconds(500);
constexpr auto kTick = std::chrono::milliseconds(100);
constexpr auto kAfterRefusal =
    std::chrono::milliseconds(2);  // so that refusing costs next to nothing, however many knock

std::string dump(const json& object) {
  return object.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

struct Server::State {
  class Connection;

  State(Shell& s, Who w) : shell(s), who(std::move(w)), acceptor(io), ticker(io), retry(io) {}

  void accept();
  void accept_after(SteadyClock::duration pause);
  void tick();
  void drop(const std::shared_ptr<Connection>& connection);

  Shell& shell;
  Who who;
  fs::path path;
  asio::io_context io{1};
  Local::acceptor acceptor;
  asio::steady_timer ticker, retry;
  std::vector<std::shared_ptr<Connection>> connections;
};

class Server::State::Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(State& server, Local::socket socket, std::unique_ptr<Session> session)
      : server_(server),
        socket_(std::move(socket)),
        session_(std::move(session)),
        later_(server.io),
        write_limit_(server.io),
        idle_(server.io),
        tokens_(2 * server.shell.limits().commands_per_s),
        refilled_(SteadyClock::now()) {}

  /// Null when it is closed.
  const Session* session() const { return session_.get(); }

  void begin() {
    send({{"type", "hello"},
          {"text", session_->greeting()},
          {"prompt", session_->prompt()},
          {"role", name_of(session_->role())},
          {"user", session_->peer().user}});
    keep_awake();
    read();
  }

  void notice(const std::string& text, bool leave) {
    if (closed_ || leaving_) return;
    send({{"type", "notice"}, {"text", text}, {"prompt", session_->prompt()}, {"leave", leave}});
    if (leave) leave_after_writing();
  }

  void close() {
    if (closed_) return;
    closed_ = true;
    error_code ignored;
    socket_.close(ignored);
    later_.cancel();
    write_limit_.cancel();
    idle_.cancel();
    live_ = nullptr;
    session_.reset();
    server_.drop(shared_from_this());
  }

 private:
  void leave_after_writing() {
    leaving_ = true;
    live_ = nullptr;
    if (queue_.empty()) close();
  }

  void read() {
    if (closed_ || reading_ || ended_ || leaving_) return;
    reading_ = true;
    socket_.async_read_some(asio::buffer(block_), [self = shared_from_this()](error_code wrong, std::size_t n) {
      self->reading_ = false;
      if (self->closed_) return;
      if (wrong) {
        self->ended_ = true;  // what came before is still answered
        if (wrong != asio::error::eof) return self->close();
      } else {
        self->take({self->block_.data(), n});
      }
      self->work();
    });
  }

  /// Bytes into lines; of a line that is too long only its length is kept.
  void take(std::string_view bytes) {
    const std::size_t most = server_.shell.limits().line_bytes + kVerb;
    for (;;) {
      const auto newline = bytes.find('\n');
      const std::string_view part = bytes.substr(0, newline);
      skipped_ += part.size();
      if (part_.size() <= most) part_.append(part.substr(0, most + 1 - part_.size()));
      if (newline == std::string_view::npos) return;
      lines_.push_back({std::move(part_), skipped_});
      part_.clear();
      skipped_ = 0;
      bytes.remove_prefix(newline + 1);
    }
  }

  /// Does what can be done now: one command after the other, none before the last answer was read.
  void work() {
    while (!closed_ && !leaving_ && queue_.empty() && !lines_.empty()) {
      Line line = std::move(lines_.front());
      if (line.text.starts_with("stop") && line.bytes <= 5) {
        lines_.pop_front();
        end_live();
        continue;
      }
      if (!may_run()) {
        lines_.front() = std::move(line);
        return;
      }
      lines_.pop_front();
      end_live();
      keep_awake();
      answer(line.text, line.bytes);
    }
    if (closed_ || leaving_) return;
    if (skipped_ > kLongestLine) return notice("a line without end: the session is ended", true);
    if (!lines_.empty()) return;  // the rest when the answer is read
    if (ended_) {
      live_ = nullptr;
      if (queue_.empty()) close();
      return;
    }
    read();
  }

  /// A token a command; without one, work goes on when there is one.
  bool may_run() {
    const double rate = server_.shell.limits().commands_per_s;
    const auto now = SteadyClock::now();
    tokens_ = std::min(2 * rate, tokens_ + rate * std::chrono::duration<double>(now - refilled_).count());
    refilled_ = now;
    if (tokens_ >= 1) {
      tokens_ -= 1;
      return true;
    }
    later_.expires_after(
        std::chrono::duration_cast<SteadyClock::duration>(std::chrono::duration<double>((1 - tokens_) / rate)));
    later_.async_wait([self = shared_from_this()](error_code wrong) {
      if (!wrong && !self->closed_) self->work();
    });
    return false;
  }

  void answer(std::string_view text, std::size_t bytes) {
    if (!text.empty() && text.back() == '\r') text.remove_suffix(1);
    const auto blank = std::min(text.find(' '), text.size());
    const std::string_view verb = text.substr(0, blank), rest = text.substr(std::min(blank + 1, text.size()));
    if (verb == "suggest" && bytes <= text.size() + 1) {
      const Suggestions s = session_->suggest(rest);
      json choices = json::array();
      for (const Choice& c : s.choices) choices.push_back({{"word", c.word}, {"help", c.help}});
      return send(
          {{"type", "choices"}, {"from", s.from}, {"choices", choices}, {"complete", s.complete}, {"text", s.mistake}});
    }
    // Anything else that is not of the protocol is a command that is not known, and audited as one. What was cut off a
    // long line only counts: the session says that it was too long.
    const std::string line =
        verb == "run" && bytes <= text.size() + 1
            ? std::string(rest)
            : std::string(text) + std::string(bytes > text.size() + 1 ? bytes - text.size() : 0, '.');
    const Answer a = session_->run(line);
    const json data = json::parse(a.json, nullptr, false);
    live_ = a.leave ? nullptr : a.live;
    verdict_ = a.verdict;
    send({{"type", "answer"},
          {"status", name_of(a.status)},
          {"text", a.text},
          {"data", data.is_discarded() ? json(nullptr) : data},
          {"prompt", session_->prompt()},
          {"live", live_ != nullptr},
          {"leave", a.leave}});
    if (a.leave) return leave_after_writing();
    if (live_) next_live();
  }

  void next_live() {
    later_.expires_after(kLivePeriod);
    later_.async_wait([self = shared_from_this()](error_code wrong) {
      if (wrong || self->closed_ || !self->live_) return;
      if (!self->queue_.empty()) return self->next_live();  // it has not read the last one
      const auto a = self->live_();
      if (!a) return self->end_live();
      if (!a->text.empty()) {
        const json data = json::parse(a->json, nullptr, false);
        self->send({{"type", "live"}, {"text", a->text}, {"data", data.is_discarded() ? json(nullptr) : data}});
        self->keep_awake();
      }
      self->next_live();
    });
  }

  void end_live() {
    if (!live_) return;
    live_ = nullptr;
    later_.cancel();
    const auto status = verdict_ ? verdict_() : Answer::Status::ok;
    send({{"type", "end"}, {"status", name_of(status)}, {"prompt", session_->prompt()}});
  }

  void keep_awake() {
    idle_.expires_after(std::chrono::seconds(server_.shell.limits().idle_s));
    idle_.async_wait([self = shared_from_this()](error_code wrong) {
      if (!wrong && !self->closed_) self->notice("nothing was typed for a while: the session is ended", true);
    });
  }

  void send(const json& object) {
    if (closed_) return;
    std::string text = dump(object);
    queued_ += text.size();
    if (queued_ > kMostQueued) return close();
    queue_.push_back(std::move(text));
    if (queue_.size() == 1) write();
  }

  void write() {
    write_limit_.expires_after(std::chrono::seconds(server_.shell.limits().write_s));
    write_limit_.async_wait([self = shared_from_this()](error_code wrong) {
      if (!wrong) self->close();  // it does not read
    });
    asio::async_write(socket_, asio::buffer(queue_.front()),
                      [self = shared_from_this()](error_code wrong, std::size_t) {
                        if (self->closed_) return;
                        self->write_limit_.cancel();
                        if (wrong) return self->close();
                        self->queued_ -= self->queue_.front().size();
                        self->queue_.pop_front();
                        if (!self->queue_.empty()) return self->write();
                        if (self->leaving_) return self->close();
                        self->work();
                      });
  }

  struct Line {
    std::string text;
    std::size_t bytes;  // as it came; more than the text has: it was cut
  };
  State& server_;
  Local::socket socket_;
  std::unique_ptr<Session> session_;
  asio::steady_timer later_, write_limit_, idle_;
  std::array<char, 16384> block_;
  std::deque<Line> lines_;
  std::string part_;
  std::size_t skipped_ = 0, queued_ = 0;
  std::deque<std::string> queue_;
  std::function<std::optional<Answer>()> live_;
  std::function<Answer::Status()> verdict_;
  double tokens_;
  SteadyClock::time_point refilled_;
  bool reading_ = false, ended_ = false, leaving_ = false, closed_ = false;
};

void Server::State::drop(const std::shared_ptr<Connection>& connection) {
  // Later: whoever closes it is still at work in it.
  asio::post(io, [this, connection] { std::erase(connections, connection); });
}

void Server::State::accept() {
  acceptor.async_accept([this](error_code wrong, Local::socket socket) {
    if (wrong == asio::error::operation_aborted) return;
    if (wrong) return accept_after(kTick);  // no descriptor left: those who are in go on, the others wait
    bool refused = false;
    try {
      const auto peer = who(socket.native_handle());
      auto session = peer ? shell.admit(*peer) : Result<std::unique_ptr<Session>>(unexpected(peer.error()));
      if (session) {
        socket.non_blocking(true);
        connections.push_back(std::make_shared<Connection>(*this, std::move(socket), std::move(*session)));
        connections.back()->begin();
      } else {
        // One try: nobody waits for an outsider to read.
        refused = true;
        const std::string text = dump({{"type", "refused"}, {"text", session.error().message}});
        (void)::send(socket.native_handle(), text.data(), text.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
      }
    } catch (const boost::system::system_error&) {
      // It went away in between.
    }
    refused ? accept_after(kAfterRefusal) : accept();
  });
}

void Server::State::accept_after(SteadyClock::duration pause) {
  retry.expires_after(pause);
  retry.async_wait([this](error_code stopped) {
    if (!stopped) accept();
  });
}

void Server::State::tick() {
  ticker.expires_after(kTick);
  ticker.async_wait([this](error_code wrong) {
    if (wrong) return;
    shell.tick();
    for (const auto& notice : shell.take_notices()) {
      const auto all = connections;
      for (const auto& connection : all)
        if (const Session* session = connection->session();
            session && (notice.session == 0 ? session->number() != notice.except : session->number() == notice.session))
          connection->notice(notice.text, notice.leave);
    }
    tick();
  });
}

Server::Server(std::unique_ptr<State> state) : state_(std::move(state)) {}

Server::~Server() {
  for (const auto& connection : std::vector(state_->connections)) connection->close();
  // Handlers hold connections, which hold sessions: let them go while the shell is there.
  state_->io.restart();
  error_code ignored;
  state_->acceptor.close(ignored);
  state_->ticker.cancel();
  state_->retry.cancel();
  state_->io.poll();
  state_->connections.clear();
  ::unlink(state_->path.c_str());
}

Result<void> Server::check(const fs::path& socket) {
  const std::string name = socket.string();
  if (name.size() >= sizeof(sockaddr_un::sun_path))
    return usage_error(name + ": the socket's path is too long, must have at most " +
                       std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes: choose a shorter one");
  asio::io_context io{1};
  Local::socket probe(io);
  error_code failed;
  probe.connect(Local::endpoint(name), failed);
  if (!failed) return usage_error(name + ": another ligature listens there already: stop it, or name another --socket");
  struct stat about {};
  if (::lstat(name.c_str(), &about) == 0 && !S_ISSOCK(about.st_mode))
    return usage_error(name + ": is there and no socket: name another --socket");
  return {};
}

Result<std::unique_ptr<Server>> Server::create(Shell& shell, const fs::path& socket, Who who) {
  if (auto good = check(socket); !good) return unexpected(good.error());
  const std::string name = socket.string();
  std::error_code wrong;
  if (socket.has_parent_path()) fs::create_directories(socket.parent_path(), wrong);
  auto state = std::make_unique<State>(shell, std::move(who));
  state->path = socket;
  error_code failed;
  ::unlink(name.c_str());  // one that nobody listens at, of a killed process
  state->acceptor.open(Local(), failed);
  if (!failed) state->acceptor.bind(Local::endpoint(name), failed);
  if (!failed && ::chmod(name.c_str(), 0666) != 0) failed = error_code(errno, boost::system::system_category());
  if (!failed) state->acceptor.listen(64, failed);
  if (failed)
    return unavailable(name + ": the socket cannot be made, " + failed.message() +
                       ": name one in a folder that can be written with --socket");
  return std::unique_ptr<Server>(new Server(std::move(state)));
}

void Server::run() {
  state_->accept();
  state_->tick();
  state_->io.run();
}

void Server::stop() {
  state_->io.stop();
}

fs::path default_socket(bool client) {
  const fs::path machine = "/run/ligature/shell.sock";
  std::error_code wrong;
  if (::geteuid() == 0 || (client && fs::exists(machine, wrong))) return machine;
  const char* runtime = std::getenv("XDG_RUNTIME_DIR");
  if (runtime != nullptr && runtime[0] == '/') return fs::path(runtime) / "ligature/shell.sock";
  return "/tmp/ligature-" + std::to_string(::geteuid()) + "-shell.sock";
}

}  // namespace ligature::shell
