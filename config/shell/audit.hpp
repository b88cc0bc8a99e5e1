#pragma once
/// Who asked for what and what the answer was: one JSON object a line, only ever appended, in files of bounded size.
#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "config/shell/roles.hpp"
#include "config/store/clock.hpp"

namespace ligature::shell {

struct AuditEntry {
  std::uint64_t session = 0;  ///< 0: none
  std::string user;
  long uid = -1, pid = 0;
  std::string role;     ///< empty: an outsider
  std::string command;  ///< or what happened: "connect", "disconnect"
  std::string status;   ///< ok | error | refused | failed
  std::string answer;   ///< its first line, shortened
  bool flush = false;   ///< on the disk before the answer goes out
};

/// audit.jsonl, then audit.1.jsonl and so on, older ones removed. One thread.
class Audit {
 public:
  Audit(std::filesystem::path folder, std::size_t most_bytes, std::size_t most_files, const store::Clock& clock);
  ~Audit();
  Audit(const Audit&) = delete;
  Audit& operator=(const Audit&) = delete;

  /// False: it could not be written; what changes something must then be refused.
  bool write(const AuditEntry& entry);
  /// The same for refused connections, of which each user gets a few a minute and a count of the rest, so that nobody
  /// pushes others' lines out.
  void write_refusal(const AuditEntry& entry);
  bool good() const { return good_; }
  /// The last lines, oldest first.
  std::vector<std::string> tail(std::size_t lines) const;
  std::filesystem::path file() const { return folder_ / "audit.jsonl"; }

 private:
  struct Refused {
    std::int64_t minute = 0;
    int written = 0;
    std::uint64_t silent = 0;
  };
  bool open();
  void rotate();
  std::filesystem::path older(std::size_t i) const;

  std::filesystem::path folder_;
  std::size_t most_bytes_, most_files_;
  const store::Clock& clock_;
  int fd_ = -1;
  std::size_t bytes_ = 0;
  bool good_ = true;
  std::map<long, Refused> refused_;
};

}  // namespace ligature::shell
