#include "config/shell/client.hpp"

#include <histedit.h>
#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <termios.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>

#include "config/shell/table.hpp"

namespace ligature::shell {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

constexpr std::size_t kMostFrame = 64u << 20;

volatile sig_atomic_t interrupted = 0;
extern "C" void on_interrupt(int) {
  interrupted = 1;
}

/// The connection: frames in, lines out.
class Link {
 public:
  ~Link() {
    if (fd_ >= 0) ::close(fd_);
  }
  Result<void> connect(const fs::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const std::string name = socket.string();
    if (name.size() >= sizeof address.sun_path) return usage_error(name + ": the socket's path is too long");
    std::memcpy(address.sun_path, name.c_str(), name.size() + 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd_ < 0 || ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
      return unavailable(name + ": no ligature listens there (" + std::strerror(errno) +
                         "): start `ligature run --config` or `ligature shell --serve`, or name its --socket");
    return {};
  }
  int fd() const { return fd_; }

  bool send(const std::string& line) {
    std::string text = line + "\n";
    std::size_t done = 0;
    while (done < text.size()) {
      const ssize_t n = ::send(fd_, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }

  /// A frame that is here already, without waiting.
  std::optional<json> take() {
    const auto newline = buffer_.find('\n', looked_);
    if (newline == std::string::npos) {
      looked_ = buffer_.size();
      return std::nullopt;
    }
    json frame = json::parse(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(newline), nullptr, false);
    buffer_.erase(0, newline + 1);
    looked_ = 0;
    return frame.is_object() ? frame : json::object();
  }
  /// Reads what there is. False: the end.
  bool fill() {
    std::array<char, 65536> block;
    const ssize_t n = ::read(fd_, block.data(), block.size());
    if (n < 0 && errno == EINTR) return true;
    if (n <= 0) return false;
    buffer_.append(block.data(), static_cast<std::size_t>(n));
    return buffer_.size() < kMostFrame;
  }
  /// The next frame; nothing: the server is gone. Interrupted: an empty object.
  std::optional<json> wait() {
    for (;;) {
      if (auto frame = take()) return frame;
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, -1) < 0) {
        if (errno == EINTR && interrupted) return json::object();
        continue;
      }
      if (!fill()) return std::nullopt;
    }
  }

 private:
  int fd_ = -1;
  std::string buffer_;
  std::size_t looked_ = 0;
};

std::string text_in(const json& frame, const char* key) {
  const auto at = frame.find(key);
  return at != frame.end() && at->is_string() ? at->get<std::string>() : std::string();
}
bool flag_in(const json& frame, const char* key) {
  const auto at = frame.find(key);
  return at != frame.end() && at->is_boolean() && at->get<bool>();
}

/// What others wrote must not move the cursor or colour the terminal.
std::string tame(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    out += (u < 0x20 && c != '\n' && c != '\t') || u == 0x7f ? '?' : c;
  }
  return out;
}

void print(const std::string& text) {
  const std::string safe = tame(text);
  std::fwrite(safe.data(), 1, safe.size(), stdout);
  if (!safe.empty() && safe.back() != '\n') std::fputc('\n', stdout);
  std::fflush(stdout);
}

/// A terminal's worth at a time; space goes on, q ends. Our own, since a pager with a shell escape would let a user of
/// the forced command out.
void page(const std::string& text) {
  winsize size{};
  const bool known = ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_row > 2 && size.ws_col > 10;
  const std::string safe = tame(text);
  const std::size_t rows = known ? size.ws_row - 1u : 23, columns = known ? size.ws_col : 80;
  std::size_t at = 0, used = 0;
  termios before{};
  const bool terminal = ::isatty(STDIN_FILENO) && ::tcgetattr(STDIN_FILENO, &before) == 0;
  while (at < safe.size()) {
    const auto newline = std::min(safe.find('\n', at), safe.size());
    const std::size_t height = std::max<std::size_t>(1, (newline - at + columns - 1) / columns);
    if (terminal && used + height > rows && used > 0) {
      std::fputs("--More-- (space, Enter, q)", stdout);
      std::fflush(stdout);
      termios raw = before;
      raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
      char key = 'q';
      const ssize_t n = ::read(STDIN_FILENO, &key, 1);
      ::tcsetattr(STDIN_FILENO, TCSANOW, &before);
      std::fputs("\r\033[K", stdout);
      if (n <= 0 || key == 'q' || key == 'Q' || interrupted) break;
      used = key == '\n' ? rows - 1 : 0;
    }
    used += height;
    std::fwrite(safe.data() + at, 1, newline - at, stdout);
    std::fputc('\n', stdout);
    at = newline + 1;
  }
  interrupted = 0;
  std::fflush(stdout);
}

/// The error of a script in one line: without the caret, several problems by their first.
std::string one_line(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  std::vector<std::string> lines;
  for (std::size_t at = 0; at <= text.size();) {
    const auto newline = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, newline - at));
    at = newline + 1;
  }
  if (lines.size() == 3 && lines[1].find_first_not_of(' ') != std::string::npos &&
      lines[1].substr(lines[1].find_first_not_of(' ')) == "^")
    return lines[2];
  std::string out = lines[0];
  if (lines.size() > 1) out += " " + lines[1];
  if (lines.size() > 2) out += " (and " + std::to_string(lines.size() - 2) + " more)";
  return out;
}

class Client {
 public:
  explicit Client(const ClientOptions& options) : options_(options) {}

  Result<int> run() {
    if (auto connected = link_.connect(options_.socket); !connected) return unexpected(connected.error());
    struct sigaction action {};
    action.sa_handler = on_interrupt;  // without SA_RESTART: waits end
    ::sigaction(SIGINT, &action, nullptr);
    const auto hello = link_.wait();
    if (!hello || text_in(*hello, "type") != "hello")
      return unavailable(hello && !text_in(*hello, "text").empty() ? text_in(*hello, "text")
                                                                   : "the server ended the connection");
    prompt_ = text_in(*hello, "prompt");
    if (options_.interactive) {
      print(text_in(*hello, "text"));
      return prompt();
    }
    return script();
  }

 private:
  /// One command; its texts go where they belong. Nothing: the connection is over.
  std::optional<std::string> command(const std::string& line, const std::string& place) {
    interrupted = 0;
    if (line.find('\n') != std::string::npos || !link_.send("run " + line)) return gone();
    bool stopped = false;
    std::string status;
    json record{{"command", line}};
    for (;;) {
      const auto frame = link_.wait();
      if (!frame) return gone();
      if (interrupted && !stopped) {
        interrupted = 0;
        stopped = true;
        if (!status.empty() && !link_.send("stop")) return gone();
        if (status.empty()) stopped = false;
      }
      const std::string type = text_in(*frame, "type"), text = text_in(*frame, "text");
      if (frame->contains("prompt")) prompt_ = text_in(*frame, "prompt");
      if (type == "notice") {
        if (!options_.json) std::fprintf(stderr, "%s\n", tame(text).c_str());
        if (flag_in(*frame, "leave")) left_ = true;
      } else if (type == "answer") {
        status = text_in(*frame, "status");
        record["status"] = status;
        record["text"] = text;
        record["data"] = frame->value("data", json(nullptr));
        show(text, status, place);
        if (flag_in(*frame, "leave")) left_ = true;
        if (!flag_in(*frame, "live")) break;
        // Programs want an answer: one look, but the whole of a job.
        if (options_.json && !line.starts_with("j") && !link_.send("stop")) return gone();
      } else if (type == "live") {
        if (options_.json)
          record["text"] = record["text"].get<std::string>() + text;
        else
          print(text);
      } else if (type == "end") {
        if (const std::string ended = text_in(*frame, "status"); status == "ok" && !ended.empty() && !stopped)
          record["status"] = status = ended;
        break;
      }
    }
    if (options_.json) answers_.push_back(std::move(record));
    return status;
  }

  std::optional<std::string> gone() {
    if (!left_) std::fprintf(stderr, "the connection to ligature is over\n");
    left_ = true;
    return std::nullopt;
  }

  void show(const std::string& text, const std::string& status, const std::string& place) {
    if (text.empty()) return;
    if (options_.interactive) return page(text);
    if (status != "ok") {
      std::fprintf(stderr, "%s%s%s\n", place.c_str(), place.empty() ? "" : ": ", tame(one_line(text)).c_str());
    } else if (!options_.json) {
      print(text);
    }
  }

  int script() {
    int code = 0;
    for (std::size_t i = 0; i < options_.commands.size() && !left_; ++i) {
      if (options_.echo) print(prompt_ + options_.commands[i]);
      const auto status = command(options_.commands[i], i < options_.places.size() ? options_.places[i] : "");
      code = !status ? 1 : *status == "ok" ? 0 : *status == "error" ? 2 : 1;
      if (code != 0) break;
    }
    if (options_.json) {
      const std::string text = json{{"answers", answers_}}.dump(1, ' ', false, json::error_handler_t::replace);
      std::printf("%s\n", text.c_str());
    }
    return code;
  }

  // ---- the prompt

  int prompt() {
    EditLine* edit = ::el_init("ligature", stdin, stdout, stderr);
    History* history = ::history_init();
    HistEvent event;
    ::history(history, &event, H_SETSIZE, 500);
    ::history(history, &event, H_SETUNIQUE, 1);
    const char* home = std::getenv("HOME");
    const std::string file = options_.history && home ? std::string(home) + "/.ligature_history" : "";
    if (!file.empty()) ::history(history, &event, H_LOAD, file.c_str());
    ::el_set(edit, EL_CLIENTDATA, this);
    ::el_set(edit, EL_PROMPT, &Client::prompt_of);
    ::el_set(edit, EL_EDITOR, "emacs");
    ::el_set(edit, EL_HIST, ::history, history);
    ::el_set(edit, EL_GETCFN, &Client::next_key);
    ::el_set(edit, EL_ADDFN, "ligature-complete", "complete", &Client::on_tab);
    ::el_set(edit, EL_ADDFN, "ligature-help", "help", &Client::on_question);
    ::el_set(edit, EL_BIND, "\t", "ligature-complete", nullptr);
    ::el_set(edit, EL_BIND, "?", "ligature-help", nullptr);
    edit_ = edit;
    while (!left_) {
      int length = 0;
      interrupted = 0;
      const char* line = ::el_gets(edit, &length);
      if (!line) {
        if (left_) break;
        if (interrupted) {  // Ctrl-C: a new line
          std::fputs("^C\n", stdout);
          ::el_reset(edit);
          continue;
        }
        std::fputc('\n', stdout);
        break;
      }
      std::string text(line, static_cast<std::size_t>(std::max(length, 0)));
      while (!text.empty() && (text.back() == '\n' || text.back() == '\r')) text.pop_back();
      if (text.find_first_not_of(" \t") == std::string::npos) continue;
      ::history(history, &event, H_ENTER, text.c_str());
      (void)command(text, "");
    }
    if (!file.empty()) {
      const mode_t mask = ::umask(077);
      ::history(history, &event, H_SAVE, file.c_str());
      ::umask(mask);
    }
    ::history_end(history);
    ::el_end(edit);
    return 0;
  }

  static Client* of(EditLine* edit) {
    void* client = nullptr;
    ::el_get(edit, EL_CLIENTDATA, &client);
    return static_cast<Client*>(client);
  }
  static char* prompt_of(EditLine* edit) { return of(edit)->prompt_.data(); }

  /// The next key; what the server has to say meanwhile is shown above the line.
  static int next_key(EditLine* edit, wchar_t* key) {
    Client& self = *of(edit);
    for (;;) {
      std::array<pollfd, 2> ready{{{STDIN_FILENO, POLLIN, 0}, {self.link_.fd(), POLLIN, 0}}};
      if (::poll(ready.data(), ready.size(), -1) < 0) {
        if (errno == EINTR && !interrupted) {
          ::el_resize(edit);
          continue;
        }
        return -1;
      }
      if (ready[1].revents != 0) {
        if (!self.link_.fill()) {
          std::fputc('\n', stdout);
          self.gone();
          return 0;
        }
        bool said = false;
        while (const auto frame = self.link_.take()) {
          if (frame->contains("prompt")) self.prompt_ = text_in(*frame, "prompt");
          if (text_in(*frame, "type") != "notice") continue;
          std::fputs("\r\033[K", stdout);
          print(text_in(*frame, "text"));
          said = true;
          if (flag_in(*frame, "leave")) self.left_ = true;
        }
        if (self.left_) return 0;
        if (said) ::el_set(edit, EL_REFRESH);
        continue;
      }
      // Bytes of one UTF-8 character.
      unsigned char byte = 0;
      if (::read(STDIN_FILENO, &byte, 1) != 1) return interrupted ? -1 : 0;
      const int more = byte < 0x80 ? 0 : byte >= 0xf0 ? 3 : byte >= 0xe0 ? 2 : byte >= 0xc0 ? 1 : 0;
      wchar_t value = static_cast<wchar_t>(more == 0 ? byte : byte & (0x3f >> more));
      for (int i = 0; i < more; ++i) {
        if (::read(STDIN_FILENO, &byte, 1) != 1) return 0;
        value = static_cast<wchar_t>((value << 6) | (byte & 0x3f));
      }
      *key = value;
      return 1;
    }
  }

  std::optional<json> ask(const std::string& line) {
    if (!link_.send("suggest " + line)) return std::nullopt;
    for (;;) {
      auto frame = link_.wait();
      if (!frame) return std::nullopt;
      if (text_in(*frame, "type") == "choices") return frame;
      if (text_in(*frame, "type") == "notice") {
        std::fputc('\n', stdout);
        print(text_in(*frame, "text"));
      }
    }
  }

  static std::string before_cursor(EditLine* edit) {
    const LineInfo* info = ::el_line(edit);
    return {info->buffer, static_cast<std::size_t>(info->cursor - info->buffer)};
  }

  void list(const json& choices, bool complete, const std::string& mistake) {
    std::fputc('\n', stdout);
    std::vector<std::vector<std::string>> rows;
    for (const json& c : choices) rows.push_back({"  " + text_in(c, "word"), text_in(c, "help")});
    if (complete) rows.push_back({"  <Enter>", "the command as it stands"});
    if (rows.empty()) rows.push_back({"  " + (mistake.empty() ? std::string("nothing fits here") : mistake)});
    page(aligned(rows));
  }

  static unsigned char on_question(EditLine* edit, int) {
    Client& self = *of(edit);
    const std::string line = before_cursor(edit);
    if (std::count(line.begin(), line.end(), '"') % 2 == 1) {  // in a quote it is a character
      return ::el_insertstr(edit, "?") == 0 ? CC_REFRESH : CC_ERROR;
    }
    const auto answer = self.ask(line);
    if (!answer) return CC_EOF;
    self.list(answer->value("choices", json::array()), flag_in(*answer, "complete"), text_in(*answer, "text"));
    return CC_REDISPLAY;
  }

  static unsigned char on_tab(EditLine* edit, int) {
    Client& self = *of(edit);
    const std::string line = before_cursor(edit);
    const auto answer = self.ask(line);
    if (!answer) return CC_EOF;
    std::vector<std::string> words;
    for (const json& c : answer->value("choices", json::array()))
      if (const std::string word = text_in(c, "word"); !word.empty() && word.front() != '<') words.push_back(word);
    const std::size_t from = std::min(answer->value("from", line.size()), line.size());
    const std::string part = line.substr(from);
    if (words.empty()) {
      self.list(answer->value("choices", json::array()), flag_in(*answer, "complete"), text_in(*answer, "text"));
      return CC_REDISPLAY;
    }
    std::string common = words.front();
    for (const auto& word : words) {
      std::size_t same = 0;
      while (same < common.size() && same < word.size() && common[same] == word[same]) ++same;
      common.resize(same);
    }
    std::string more = common.size() > part.size() ? common.substr(part.size()) : "";
    if (words.size() == 1) more += " ";
    if (more.empty()) {
      self.list(answer->value("choices", json::array()), false, "");
      return CC_REDISPLAY;
    }
    return ::el_insertstr(edit, more.c_str()) == 0 ? CC_REFRESH : CC_ERROR;
  }

  const ClientOptions& options_;
  Link link_;
  EditLine* edit_ = nullptr;
  std::string prompt_ = "> ";
  bool left_ = false;
  json answers_ = json::array();
};

}  // namespace

Result<int> run_client(const ClientOptions& options) {
  return Client(options).run();
}

}  // namespace ligature::shell
