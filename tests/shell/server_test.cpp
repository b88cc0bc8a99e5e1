/// The door: frames, limits, and clients that behave badly.
#include "config/shell/server.hpp"

#include <grp.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "tests/shell/wire.hpp"

namespace ligature::shell {
namespace {

using nlohmann::json;
using test::Bench;
using test::Service;
using test::Wire;

TEST(ShellServer, GreetsAnswersAndSuggests) {
  Bench bench;
  Service service(bench);
  Wire wire = service.connect();
  const json hello = wire.frame();
  EXPECT_EQ(hello["type"], "hello");
  EXPECT_EQ(hello["role"], "admin");
  EXPECT_EQ(wire.run("show version")["text"], "ligature 0");
  const json wrong = wire.run("show nothing");
  EXPECT_EQ(wrong["status"], "error");
  ASSERT_TRUE(wire.send("suggest show ver\n"));
  const json choices = wire.frame_of("choices");
  EXPECT_EQ(choices["choices"][0]["word"], "version");
  EXPECT_EQ(choices["from"], 5);
  EXPECT_EQ(wire.run("exit")["leave"], true);
  EXPECT_TRUE(wire.frame().is_null());
  EXPECT_TRUE(wire.ended());
}

TEST(ShellServer, ManyLinesAtOnceAreAllAnsweredInOrderAlsoAfterTheEnd) {
  Bench bench;
  Service service(bench);
  Wire wire = service.login();
  std::string lines;
  for (int i = 0; i < 500; ++i) lines += "run rollback " + std::to_string(100 + i) + "\n";
  ASSERT_TRUE(wire.send(lines));
  wire.end_sending();
  for (int i = 0; i < 500; ++i) {
    const json answer = wire.frame_of("answer");
    ASSERT_TRUE(answer.is_object()) << i;
    EXPECT_NE(answer["text"].get<std::string>().find("'" + std::to_string(100 + i) + "'"), std::string::npos);
  }
  EXPECT_TRUE(wire.frame().is_null());
}

TEST(ShellServer, ALongLineIsRefusedAndTheNextOneIsHeard) {
  Bench bench;
  Service service(bench);
  Wire wire = service.login();
  ASSERT_TRUE(wire.send("run show " + std::string(1 << 20, 'x') + "\n"));
  const json answer = wire.frame_of("answer");
  EXPECT_EQ(answer["status"], "error");
  EXPECT_NE(answer["text"].get<std::string>().find("must be at most 4096"), std::string::npos);
  EXPECT_EQ(wire.run("show version")["status"], "ok");
}

TEST(ShellServer, ALineWithoutEndEndsTheSession) {
  Bench bench;
  Service service(bench);
  Wire wire = service.login();
  const std::string block(1 << 20, 'x');
  bool gone = false;
  for (int i = 0; i < 16 && !gone; ++i) gone = !wire.send(block);
  EXPECT_TRUE(gone);
  EXPECT_EQ(service.login().run("show version")["status"], "ok");
}

TEST(ShellServer, WhatGoesOnStopsWhenAsked) {
  Bench bench;
  Service service(bench);
  Wire wire = service.login();
  const json first = wire.run("show markers live");
  EXPECT_EQ(first["live"], true);
  EXPECT_EQ(wire.frame()["type"], "live");
  ASSERT_TRUE(wire.send("stop\n"));
  EXPECT_EQ(wire.frame_of("end")["type"], "end");
  EXPECT_EQ(wire.run("show tracking live")["live"], true);
  EXPECT_EQ(wire.run("show version")["status"], "ok") << "another command stops it too";
}

TEST(ShellServer, WhoDoesNotReadIsDroppedAndNobodyElseWaits) {
  Limits limits = Bench::generous();
  limits.write_s = 1;
  Bench bench(limits);
  Service service(bench);
  Wire deaf = service.login();
  std::string lines;
  for (int i = 0; i < 2000; ++i) lines += "run show configuration\n";
  (void)deaf.send(lines, 100);
  Wire other = service.login();
  EXPECT_EQ(other.run("show version")["status"], "ok");
  for (int i = 0; i < 100; ++i) {  // until it is dropped
    const json sessions = other.run("show sessions")["data"];
    if (sessions.size() == 1) return;
    ::usleep(100000);
  }
  FAIL() << "it was never dropped";
}

TEST(ShellServer, WhoTypesNothingIsSentAway) {
  Limits limits = Bench::generous();
  limits.idle_s = 1;
  Bench bench(limits);
  Service service(bench);
  Wire wire = service.login();
  const json notice = wire.frame_of("notice");
  EXPECT_EQ(notice["leave"], true);
  EXPECT_TRUE(wire.frame().is_null());
}

TEST(ShellServer, FasterThanAllowedIsSlowerNotLost) {
  Limits limits = Bench::generous();
  limits.commands_per_s = 50;
  Bench bench(limits);
  Service service(bench);
  Wire wire = service.login();
  std::string lines;
  for (int i = 0; i < 150; ++i) lines += "run show version\n";
  const auto begin = std::chrono::steady_clock::now();
  ASSERT_TRUE(wire.send(lines));
  for (int i = 0; i < 150; ++i) ASSERT_TRUE(wire.frame_of("answer").is_object()) << i;
  // A hundred at once, the rest at fifty a second.
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(900));
}

TEST(ShellServer, AnAdminEndsSomebodysSession) {
  Bench bench;
  Service service(bench);
  Wire one = service.login(), two = service.login();
  const json sessions = two.run("show sessions")["data"];
  ASSERT_EQ(sessions.size(), 2u);
  const auto first = std::min(sessions[0]["session"].get<int>(), sessions[1]["session"].get<int>());
  EXPECT_EQ(two.run("disconnect " + std::to_string(first))["status"], "ok");
  EXPECT_EQ(one.frame_of("notice")["leave"], true);
  EXPECT_TRUE(one.frame().is_null());
}

TEST(ShellServer, OutsidersAreToldAndLeftStanding) {
  Bench bench;
  Service service(bench, "mallory");
  Wire wire = service.connect();
  EXPECT_EQ(wire.frame()["type"], "refused");
  EXPECT_TRUE(wire.frame().is_null());
  service.stop();
  EXPECT_NE(bench.audit().find("\"mallory\""), std::string::npos);
}

TEST(ShellServer, ASecondOneRefusesToListenThereAndADeadOnesSocketIsTaken) {
  Bench bench;
  Service service(bench);
  const auto second = Server::create(*bench.shell, service.socket());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("another ligature listens there"), std::string::npos);
  const auto path = bench.path() / "dead.sock";
  {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    const int fd = ::socket(AF_UNIX, SOCK_STREAM, 0);
    ASSERT_EQ(::bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ::close(fd);
  }
  EXPECT_TRUE(Server::create(*bench.shell, path));
  std::ofstream(bench.path() / "file.sock") << "text";
  EXPECT_FALSE(Server::create(*bench.shell, bench.path() / "file.sock"));
  EXPECT_FALSE(Server::create(*bench.shell, bench.path() / std::string(200, 'x')));
}

TEST(ShellPeer, TheKernelSaysWhoConnects) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
  const auto peer = peer_of(ends[0]);
  ASSERT_TRUE(peer) << peer.error().message;
  EXPECT_EQ(peer->uid, ::getuid());
  EXPECT_EQ(peer->pid, ::getpid());
  EXPECT_EQ(peer->groups.back(), ::getgid());
  EXPECT_EQ(GroupRoles({}).role_of(*peer), Role::admin) << "who runs the server";
  Peer other = *peer;
  other.uid = ::getuid() + 12345;
  other.groups = {65533};
  EXPECT_FALSE(GroupRoles({}).role_of(other));
  EXPECT_FALSE(GroupRoles({"", "", ""}).role_of(other));
  ::close(ends[0]);
  ::close(ends[1]);
}

/// With root's help: real processes of other users and groups at the real socket.
class ShellPeerAsRoot : public ::testing::Test {
 protected:
  /// What a process of this user and these groups is told at the door.
  static json knock(const std::filesystem::path& socket, uid_t uid, const std::vector<gid_t>& groups) {
    int ends[2];
    if (::pipe(ends) != 0) return nullptr;
    const pid_t child = ::fork();
    if (child == 0) {
      ::close(ends[0]);
      if (::setgroups(groups.size(), groups.data()) != 0 || ::setgid(54321) != 0 || ::setuid(uid) != 0) ::_exit(3);
      Wire wire(socket);
      const std::string text = wire.connected() ? wire.frame().dump() : "\"no door\"";
      (void)!::write(ends[1], text.data(), text.size());
      ::_exit(0);
    }
    ::close(ends[1]);
    std::string text;
    char block[4096];
    for (ssize_t n; (n = ::read(ends[0], block, sizeof block)) > 0;) text.append(block, static_cast<std::size_t>(n));
    ::close(ends[0]);
    ::waitpid(child, nullptr, 0);
    return json::parse(text, nullptr, false);
  }
};

TEST_F(ShellPeerAsRoot, SupplementaryGroupsGiveTheRoleAndOutsidersAreRefusedAndAudited) {
  if (::geteuid() != 0) GTEST_SKIP() << "needs root, to become other users";
  std::vector<std::pair<std::string, gid_t>> groups;  // three that the machine has
  while (const group* g = ::getgrent())
    if (g->gr_gid != 0 && groups.size() < 3) groups.emplace_back(g->gr_name, g->gr_gid);
  ::endgrent();
  if (groups.size() < 3) GTEST_SKIP() << "needs three groups";
  Bench bench;
  ::chmod(bench.path().c_str(), 0755);
  const GroupRoles roles({groups[0].first, groups[1].first, groups[2].first});
  ShellSettings settings;
  settings.limits = Bench::generous();
  Shell shell(Shell::Parts{*bench.store,
                           bench.machine,
                           const_cast<GroupRoles&>(roles),
                           bench.clock,
                           settings,
                           bench.path(),
                           "/bin/echo",
                           nullptr,
                           {},
                           "rig"});
  const auto socket = bench.path() / "real.sock";
  auto server = Server::create(shell, socket);
  ASSERT_TRUE(server) << server.error().message;
  std::thread thread([&] { (*server)->run(); });
  const json outsider = knock(socket, 54321, {54322});
  const json viewer = knock(socket, 54321, {54322, groups[0].second});
  const json service = knock(socket, 54321, {groups[0].second, groups[1].second});
  const json admin = knock(socket, 54321, {groups[2].second});
  (*server)->stop();
  thread.join();
  EXPECT_EQ(outsider["type"], "refused") << outsider;
  EXPECT_EQ(viewer["role"], "viewer") << viewer;
  EXPECT_EQ(service["role"], "service") << service;
  EXPECT_EQ(admin["role"], "admin") << admin;
  EXPECT_EQ(admin["user"], "uid 54321");
  EXPECT_NE(bench.audit().find("\"uid\":54321,\"pid\":"), std::string::npos);
  EXPECT_NE(bench.audit().find("\"status\":\"refused\""), std::string::npos);
}

}  // namespace
}  // namespace ligature::shell
