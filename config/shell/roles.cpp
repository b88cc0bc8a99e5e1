#include "config/shell/roles.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "config/document.hpp"

namespace ligature::shell {

std::string user_name(uid_t uid) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->pw_name;
  return "uid " + std::to_string(uid);
}

namespace {

std::optional<gid_t> group_id(const std::string& name) {
  if (name.empty()) return std::nullopt;
  std::vector<char> buffer(65536);
  group entry{};
  group* found = nullptr;
  if (getgrnam_r(name.c_str(), &entry, buffer.data(), buffer.size(), &found) == 0 && found) return found->gr_gid;
  return std::nullopt;
}

}  // namespace

const char* name_of(Role role) {
  return role == Role::viewer ? "viewer" : role == Role::service ? "service" : "admin";
}

Result<Peer> peer_of(int socket) {
  ucred who{};
  socklen_t size = sizeof who;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &size) != 0)
    return unavailable(std::string("the kernel does not say who connected: ") + std::strerror(errno));
  Peer peer;
  peer.uid = who.uid;
  peer.pid = who.pid;
  peer.groups.resize(256);
  for (int round = 0; round < 3; ++round) {
    size = static_cast<socklen_t>(peer.groups.size() * sizeof(gid_t));
    if (getsockopt(socket, SOL_SOCKET, SO_PEERGROUPS, peer.groups.data(), &size) == 0) {
      peer.groups.resize(size / sizeof(gid_t));
      break;
    }
    if (errno != ERANGE) {
      peer.groups.clear();
      break;
    }
    peer.groups.resize(size / sizeof(gid_t) + 1);
  }
  peer.groups.push_back(who.gid);
  return peer;
}

std::optional<Role> GroupRoles::role_of(const Peer& peer) const {
  if (peer.uid == 0 || peer.uid == geteuid()) return Role::admin;
  const auto in = [&](const std::string& name) {
    const auto id = group_id(name);
    return id && std::find(peer.groups.begin(), peer.groups.end(), *id) != peer.groups.end();
  };
  if (in(groups_.admin)) return Role::admin;
  if (in(groups_.service)) return Role::service;
  if (in(groups_.viewer)) return Role::viewer;
  return std::nullopt;
}

Result<ShellSettings> load_shell_settings(const std::filesystem::path& path) {
  ShellSettings s;
  std::error_code wrong;
  if (!std::filesystem::exists(path, wrong)) return s;
  auto document = config::Document::read(path);
  if (!document) return unexpected(document.error());
  config::Table root = document->root();
  config::Table groups = root.get_table("groups");
  s.groups.viewer = groups.get_string("viewer", s.groups.viewer);
  s.groups.service = groups.get_string("service", s.groups.service);
  s.groups.admin = groups.get_string("admin", s.groups.admin);
  config::Table limits = root.get_table("limits");
  const auto size = [&](const char* key, std::size_t fallback, std::int64_t low, std::int64_t high) {
    return static_cast<std::size_t>(limits.get_integer(key, static_cast<std::int64_t>(fallback), low, high));
  };
  Limits& l = s.limits;
  l.line_bytes = size("line_bytes", l.line_bytes, 256, 65536);
  l.sessions = size("sessions", l.sessions, 3, 200);
  l.sessions_per_user = size("sessions_per_user", l.sessions_per_user, 1, 200);
  l.commands_per_s = limits.get_number("commands_per_s", l.commands_per_s, config::between(1, 1e6));
  l.connections_per_s = limits.get_number("connections_per_s", l.connections_per_s, config::between(1, 1e6));
  l.idle_s = static_cast<int>(limits.get_integer("idle_s", l.idle_s, 1, 86400));
  l.write_s = static_cast<int>(limits.get_integer("write_s", l.write_s, 1, 600));
  l.audit_bytes = size("audit_bytes", l.audit_bytes, 4096, std::int64_t{1} << 30);
  l.audit_files = size("audit_files", l.audit_files, 2, 100);
  if (auto done = document->finish(); !done) return unexpected(done.error());
  return s;
}

}  // namespace ligature::shell
