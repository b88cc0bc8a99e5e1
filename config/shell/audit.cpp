#include "config/shell/audit.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <nlohmann/json.hpp>

#include "config/document.hpp"

namespace ligature::shell {

namespace fs = std::filesystem;

namespace {
constexpr std::size_t kMostCommand = 512, kMostAnswer = 300;  // bytes
constexpr int kRefusalsPerMinute = 5;
constexpr std::size_t kUsersRemembered = 1024;

std::string cut(const std::string& text, std::size_t most) {
  return text.size() <= most ? text : text.substr(0, most) + "... (" + std::to_string(text.size()) + " bytes)";
}
}  // namespace

Audit::Audit(fs::path folder, std::size_t most_bytes, std::size_t most_files, const store::Clock& clock)
    : folder_(std::move(folder)), most_bytes_(most_bytes), most_files_(most_files), clock_(clock) {
  good_ = open();
}

Audit::~Audit() {
  if (fd_ >= 0) ::close(fd_);
}

fs::path Audit::older(std::size_t i) const {
  return folder_ / ("audit." + std::to_string(i) + ".jsonl");
}

bool Audit::open() {
  fd_ = ::open(file().c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW, 0640);
  if (fd_ < 0) return false;
  struct stat about {};
  bytes_ = ::fstat(fd_, &about) == 0 ? static_cast<std::size_t>(about.st_size) : 0;
  // A line that a power cut left half is ended, so that the next one is whole.
  const auto text = config::read_file(file(), most_bytes_ * 2 + 65536);
  if (text && !text->empty() && text->back() != '\n' && ::write(fd_, "\n", 1) == 1) ++bytes_;
  return true;
}

void Audit::rotate() {
  std::error_code ignored;
  fs::remove(older(most_files_ - 1), ignored);
  for (std::size_t i = most_files_ - 1; i > 1; --i) fs::rename(older(i - 1), older(i), ignored);
  fs::rename(file(), older(1), ignored);
  ::close(fd_);
  good_ = open();
}

bool Audit::write(const AuditEntry& e) {
  if (fd_ < 0 && !open()) return good_ = false;
  nlohmann::ordered_json line{
      {"time", store::utc(clock_.wall_s())}, {"session", e.session}, {"user", e.user}, {"uid", e.uid}, {"pid", e.pid}};
  if (!e.role.empty()) line["role"] = e.role;
  line["command"] = cut(e.command, kMostCommand);
  line["status"] = e.status;
  line["answer"] = cut(e.answer, kMostAnswer);
  const std::string text = line.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace) + "\n";
  if (bytes_ > 0 && bytes_ + text.size() > most_bytes_) rotate();
  if (fd_ < 0) return good_ = false;
  ssize_t n;
  do n = ::write(fd_, text.data(), text.size());
  while (n < 0 && errno == EINTR);
  good_ = n == static_cast<ssize_t>(text.size());
  if (n > 0) bytes_ += static_cast<std::size_t>(n);
  if (!good_ && n > 0 && ::ftruncate(fd_, static_cast<off_t>(bytes_ - static_cast<std::size_t>(n))) == 0)
    bytes_ -= static_cast<std::size_t>(n);
  if (e.flush && good_) good_ = ::fdatasync(fd_) == 0;
  return good_;
}

void Audit::write_refusal(const AuditEntry& e) {
  if (refused_.size() > kUsersRemembered) refused_.clear();
  Refused& r = refused_[e.uid];
  const std::int64_t minute = clock_.running_s() / 60;
  if (minute != r.minute) {
    if (r.silent > 0) {
      AuditEntry rest = e;
      rest.answer = std::to_string(r.silent) + " more refusals like this one";
      write(rest);
    }
    r = {minute, 0, 0};
  }
  if (r.written < kRefusalsPerMinute) {
    ++r.written;
    write(e);
  } else {
    ++r.silent;
  }
}

std::vector<std::string> Audit::tail(std::size_t lines) const {
  std::vector<std::string> out;
  for (std::size_t i = 0; i < most_files_ && out.size() < lines; ++i) {
    const auto text = config::read_file(i == 0 ? file() : older(i), most_bytes_ * 2 + 65536);
    if (!text) break;
    std::size_t end = text->size();
    while (end > 0 && out.size() < lines) {
      const std::size_t newline = end >= 2 ? text->rfind('\n', end - 2) : std::string::npos;
      const std::size_t begin = newline == std::string::npos ? 0 : newline + 1;
      std::string line = text->substr(begin, end - begin);
      if (!line.empty() && line.back() == '\n') line.pop_back();
      if (!line.empty()) out.push_back(std::move(line));
      end = begin;
    }
  }
  std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace ligature::shell
