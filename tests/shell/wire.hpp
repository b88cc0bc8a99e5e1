#pragma once
/// A server on a thread, and clients on sockets.
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <chrono>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "config/shell/server.hpp"
#include "tests/shell/bench.hpp"

namespace ligature::shell::test {

class Wire {
 public:
  explicit Wire(const std::filesystem::path& socket) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, socket.c_str(), sizeof address.sun_path - 1);
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) close();
  }
  Wire(Wire&& other) noexcept : fd_(std::exchange(other.fd_, -1)), buffer_(std::move(other.buffer_)) {}
  Wire& operator=(Wire&&) = delete;
  ~Wire() { close(); }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }
  bool connected() const { return fd_ >= 0; }
  /// False: the other side is gone, or does not read for `patience`.
  bool send(const std::string& bytes, int patience_ms = 10000) {
    std::size_t done = 0;
    while (done < bytes.size()) {
      pollfd ready{fd_, POLLOUT, 0};
      if (::poll(&ready, 1, patience_ms) <= 0) return false;
      const ssize_t n = ::send(fd_, bytes.data() + done, bytes.size() - done, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n < 0 && errno == EAGAIN) continue;
      if (n <= 0) return false;
      done += static_cast<std::size_t>(n);
    }
    return true;
  }
  void end_sending() { ::shutdown(fd_, SHUT_WR); }
  /// The next frame; null when the connection ended or nothing came in time.
  nlohmann::json frame(int patience_ms = 20000) {
    for (;;) {
      if (const auto newline = buffer_.find('\n'); newline != std::string::npos) {
        auto f = nlohmann::json::parse(buffer_.substr(0, newline), nullptr, false);
        buffer_.erase(0, newline + 1);
        return f;
      }
      pollfd ready{fd_, POLLIN, 0};
      if (::poll(&ready, 1, patience_ms) <= 0) return nullptr;
      char block[65536];
      const ssize_t n = ::read(fd_, block, sizeof block);
      if (n <= 0) {
        ended_ = true;
        return nullptr;
      }
      buffer_.append(block, static_cast<std::size_t>(n));
    }
  }
  /// The next frame of this type.
  nlohmann::json frame_of(const std::string& type) {
    for (;;) {
      auto f = frame();
      if (!f.is_object() || f["type"] == type) return f;
    }
  }
  nlohmann::json run(const std::string& line) {
    if (!send("run " + line + "\n")) return nullptr;
    return frame_of("answer");
  }
  bool ended() const { return ended_; }

 private:
  int fd_ = -1;
  std::string buffer_;
  bool ended_ = false;
};

/// Everybody who connects is who the test says.
class Service {
 public:
  explicit Service(Bench& bench, std::string user = "ada") : bench_(bench), user_(std::move(user)) {
    socket_ = bench.path() / "shell.sock";
    auto made = Server::create(*bench.shell, socket_, [this](int) -> Result<Peer> { return peer(user_); });
    if (!made) throw std::runtime_error(made.error().message);
    server_ = std::move(*made);
    thread_ = std::thread([this] { server_->run(); });
  }
  ~Service() { stop(); }
  void stop() {
    if (!server_) return;
    server_->stop();
    thread_.join();
    server_.reset();
  }
  Wire connect() const { return Wire(socket_); }
  Wire login() const {
    Wire wire(socket_);
    if (wire.frame_of("hello").is_null()) wire.close();
    return wire;
  }
  const std::filesystem::path& socket() const { return socket_; }

 private:
  Bench& bench_;
  std::string user_;
  std::filesystem::path socket_;
  std::unique_ptr<Server> server_;
  std::thread thread_;
};

}  // namespace ligature::shell::test
