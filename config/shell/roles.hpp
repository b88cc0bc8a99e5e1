#pragma once
/// Who may: the peer of a Unix socket as the kernel knows it, and the role that its groups give it.
#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::shell {

enum class Role : std::uint8_t {
  viewer,   ///< looks
  service,  ///< and calibrates, changes the configuration, starts the session again
  admin,    ///< and changes what can make the machine itself misbehave, reads the audit, ends others' sessions
};
const char* name_of(Role role);

struct Peer {
  uid_t uid = 0;
  pid_t pid = 0;
  std::vector<gid_t> groups;  ///< primary and supplementary, as they were when it connected
  std::string user;           ///< its name, or "uid 1234"; empty: not looked up yet
};
/// SO_PEERCRED and SO_PEERGROUPS, without the name: two calls, whoever knocks how often. Errors: unavailable.
Result<Peer> peer_of(int socket);
/// Its name, or "uid 1234". Reads the machine's files.
std::string user_name(uid_t uid);

/// Names of groups. Root, and the user that the server runs as, are admins: they could change the files anyway.
struct Groups {
  std::string viewer = "ligature-viewer", service = "ligature-service", admin = "ligature-admin";
};

class Roles {
 public:
  virtual ~Roles() = default;
  /// The highest role that one of the peer's groups gives; nothing: an outsider.
  virtual std::optional<Role> role_of(const Peer& peer) const = 0;
};

/// By the machine's groups, looked up anew each time, so that a group made later counts.
class GroupRoles : public Roles {
 public:
  explicit GroupRoles(Groups groups) : groups_(std::move(groups)) {}
  std::optional<Role> role_of(const Peer& peer) const override;

 private:
  Groups groups_;
};

struct Limits {
  std::size_t line_bytes = 4096;  ///< of one command
  std::size_t sessions = 16;      ///< connections at once; two of them are kept for admins
  std::size_t sessions_per_user = 6;
  double commands_per_s = 20;          ///< of one session; more are read later, none is lost
  double connections_per_s = 10;       ///< of one user; more are refused
  int idle_s = 900;                    ///< without a command the session ends
  int write_s = 10;                    ///< a client that does not read its answer for so long is dropped
  std::size_t audit_bytes = 8u << 20;  ///< of one audit file ...
  std::size_t audit_files = 8;         ///< ... and how many are kept
};

struct ShellSettings {
  Groups groups;
  Limits limits;
};
/// A TOML file of [groups] and [limits] (keys: config/README.md); the defaults where there is no such file.
Result<ShellSettings> load_shell_settings(const std::filesystem::path& path);

}  // namespace ligature::shell
