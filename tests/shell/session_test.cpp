/// What commands do, for whom, and what the audit says of it.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/shell/bench.hpp"

namespace ligature::shell {
namespace {

using nlohmann::json;
using test::Bench;
using test::peer;
using Status = Answer::Status;

class ShellSession : public ::testing::Test {
 protected:
  Answer run(Session& session, const std::string& line) { return session.run(line); }
  void expect(Session& session, const std::string& line, Status status, const std::string& part = "") {
    const Answer a = session.run(line);
    EXPECT_EQ(a.status, status) << line << ": " << a.text;
    EXPECT_NE(a.text.find(part), std::string::npos) << line << ": " << a.text;
    EXPECT_FALSE(json::parse(a.json, nullptr, false).is_discarded()) << line;
  }
  std::vector<json> audit() {
    std::vector<json> out;
    std::istringstream lines(bench_.audit());
    for (std::string line; std::getline(lines, line);) out.push_back(json::parse(line));
    return out;
  }
  Bench bench_;
};

TEST_F(ShellSession, SetCompareCommitRollback) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile tracking prediction_ms 200", Status::ok);
  expect(*tom, "set rig world motion_scale 0.5", Status::ok);
  expect(
      *tom, "compare", Status::ok,
      "[profile tracking]\n-  prediction_ms = 150.0\n+  prediction_ms = 200.0\n[rig world]\n-  motion_scale = 1.0\n+  "
      "motion_scale = 0.5\n");
  EXPECT_NE(tom->prompt().find("[changed]"), std::string::npos);
  expect(*tom, "commit comment steadier hands", Status::ok,
         "commit 2 runs\nin effect now: profile tracking.prediction_ms\nneeds `restart`: rig world.motion_scale");
  EXPECT_EQ(bench_.machine.prediction_ms, 200);
  expect(*tom, "show history", Status::ok, "steadier hands");
  expect(*tom, "rollback 1", Status::ok);
  expect(*tom, "commit", Status::ok, "in effect now: profile tracking.prediction_ms");
  EXPECT_EQ(bench_.machine.prediction_ms, 150);
  expect(*tom, "compare 1", Status::ok, "+  prediction_ms = 150.0");
  expect(*tom, "commit", Status::error, "nothing differs");
}

TEST_F(ShellSession, WhatIsOutOfRangeIsRefusedWithLineRangeAndRemedy) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile tracking prediction_ms 5000", Status::error,
         "key 'tracking.prediction_ms' is 5000, must be 0..2000: give such a value");
  expect(*tom, "set profile tracking prediction_ms often", Status::error);
  expect(*tom, "set profile render device quantum", Status::error, "must be auto | cpu | gpu");
  expect(*tom, "set rig camera C0 q_RC 1 1 1 1", Status::error, "quaternion of norm 1");
  expect(*tom, "set rig world p_RW_mm 1 2", Status::error, "an array of 3 numbers");
  expect(*tom, "set profile rig /etc/passwd", Status::error);
  EXPECT_FALSE(bench_.store->changed());
}

TEST_F(ShellSession, WhatIsNotWholeYetIsKeptButNotCommitted) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile cameras source recorded", Status::ok, "a commit would be refused so far:\nprofile:");
  expect(*tom, "commit", Status::error, "nothing is committed");
  EXPECT_EQ(bench_.store->history().size(), 1u);
  expect(*tom, "set profile cameras directory " + (config::test::kSourceDir / "deploy/demo").string(), Status::ok);
  expect(*tom, "commit check", Status::ok, "would be accepted");
  expect(*tom, "commit", Status::ok);
}

TEST_F(ShellSession, TheCamerasOfARealRigAreNamedFromAnyConfiguration) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile cameras ?", Status::ok, "exposure_ms");
  expect(*tom, "set profile cameras device ?", Status::ok, "C3");
  expect(*tom, "set profile cameras source v4l2", Status::ok);
  for (const char* line : {"device C0 path 1-1", "device C1 path 1-2", "device C2 serial SN4711", "device C3 path 2-2",
                           "device C3 gain 40", "exposure_ms 5", "format yuyv", "max_skew_ms 2"})
    expect(*tom, std::string("set profile cameras ") + line, Status::ok);
  expect(*tom, "set profile cameras device C1 path /dev/video0", Status::error, "must be a USB port");
  expect(*tom, "set profile cameras device C4 path 1-3", Status::error);
  expect(*tom, "set profile cameras exposure_ms 5000", Status::error, "must be 0.1..1000");
  expect(*tom, "set profile cameras device C2 shutter slow", Status::error, "must be global | rolling");
  expect(*tom, "show candidate profile cameras device C2", Status::ok, "profile cameras device C2 serial \"SN4711\"");
  expect(*tom, "commit", Status::ok);
  expect(*tom, "delete profile cameras device C3 gain", Status::ok);
  expect(*tom, "load profile demo", Status::ok);
}

TEST_F(ShellSession, AQuestionMarkIsAnsweredInScriptsToo) {
  auto vera = bench_.login("vera");
  expect(*vera, "?", Status::ok, "show");
  EXPECT_EQ(vera->run("?").text.find("rollback "), std::string::npos) << "not hers";
  expect(*vera, "show ?", Status::ok, "cameras");
  expect(*vera, "show nonsense ?", Status::error, "is unknown here");
  auto tom = bench_.login("tom");
  expect(*tom, "set profile tracking prediction_ms ?", Status::ok, "0..2000");
  expect(*tom, "set profile title what ?", Status::ok);
  expect(*tom, "commit comment really ?", Status::ok, "commit 2 runs");
}

TEST_F(ShellSession, NamedTablesAreMadeAndDeleted) {
  auto ada = bench_.login("ada");
  expect(*ada, "delete profile thread physics", Status::ok);
  expect(*ada, "set profile thread physics core 0", Status::ok);
  expect(*ada, "show candidate profile thread physics", Status::ok, "profile thread physics core 0");
  expect(*ada, "set profile thread service core 0", Status::ok);
  expect(*ada, "set profile fault 0 kind blob", Status::ok);
  expect(*ada, "set profile fault 0 diameter_mm 5", Status::ok);
  expect(*ada, "set profile fault 2 kind blob", Status::error, "the next is 1");
  expect(*ada, "commit", Status::ok);
  expect(*ada, "delete rig camera C3", Status::ok, "a commit would be refused");
  expect(*ada, "commit", Status::error, "4 tables [[camera]]");
  expect(*ada, "discard", Status::ok);
  expect(*ada, "delete profile thread nobody", Status::error, "unknown here");
}

TEST_F(ShellSession, AViewerChangesNothingAndThatIsAudited) {
  auto vera = bench_.login("vera");
  for (const char* line : {"commit", "set profile title x", "delete profile title", "rollback 0", "restart", "discard",
                           "calibrate rig board b frames /tmp", "export session monday", "commit confirmed 5",
                           "load profile demo", "show audit", "disconnect 1", "exercise reset"}) {
    expect(*vera, line, Status::refused, "yours is viewer");
    const json last = audit().back();
    EXPECT_EQ(last["user"], "vera");
    EXPECT_EQ(last["role"], "viewer");
    EXPECT_EQ(last["command"], line);
    EXPECT_EQ(last["status"], "refused");
  }
  EXPECT_EQ(bench_.store->history().size(), 1u);
  EXPECT_FALSE(bench_.store->changed());
  for (const char* line :
       {"show cameras", "show markers", "show tracking", "show watchdog", "show threads", "show version",
        "show configuration", "show exercise", "show differences", "show history", "show log", "show status", "help"})
    expect(*vera, line, Status::ok);
}

TEST_F(ShellSession, ATeacherPausesAndResetsTheExercise) {
  auto tom = bench_.login("tom");
  expect(*tom, "show exercise", Status::ok, "2/7 Pierce");
  for (const char* line : {"exercise pause", "exercise start", "exercise cut", "exer res", "exercise next"}) {
    expect(*tom, line, Status::ok, "asked for");
    EXPECT_EQ(audit().back()["command"], line);
  }
  EXPECT_EQ(bench_.machine.controlled, (std::vector<std::string>{"pause", "start", "cut", "reset", "next"}));
  expect(*tom, "exercise jump", Status::error);
  expect(*tom, "exercise", Status::error);
  bench_.machine.started = 0;
  expect(*tom, "exercise reset", Status::failed, "no session runs");
  EXPECT_EQ(bench_.machine.controlled.size(), 5U);
}

TEST_F(ShellSession, AnOutsiderIsRefusedAndAuditedButCannotFloodTheAudit) {
  for (int i = 0; i < 1000; ++i) {
    const auto session = bench_.shell->admit(peer("mallory"));
    ASSERT_FALSE(session);
    EXPECT_NE(session.error().message.find("in none of the groups"), std::string::npos);
  }
  std::size_t lines = 0;
  for (const json& entry : audit())
    if (entry["user"] == "mallory") {
      ++lines;
      EXPECT_EQ(entry["command"], "connect");
      EXPECT_EQ(entry["status"], "refused");
    }
  EXPECT_EQ(lines, 5u);
  bench_.clock.pass(120);
  EXPECT_FALSE(bench_.shell->admit(peer("mallory")));
  EXPECT_NE(bench_.audit().find("995 more refusals"), std::string::npos);
}

TEST_F(ShellSession, OnlyAnAdminChangesWhatCanMakeTheMachineMisbehave) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile thread physics priority 98", Status::refused, "needs the role admin");
  expect(*tom, "delete profile memory lock", Status::refused, "needs the role admin");
  expect(*tom, "load profile demo", Status::ok);
  expect(*tom, "commit", Status::refused, "needs the role admin");
  expect(*tom, "discard", Status::ok);
  auto ada = bench_.login("ada");
  expect(*ada, "set profile thread physics priority 81", Status::ok);
  expect(*ada, "commit", Status::ok);
}

TEST_F(ShellSession, OneSessionChangesTheCandidateAtATime) {
  auto tom = bench_.login("tom"), tina = bench_.login("tina");
  expect(*tom, "set profile title one", Status::ok);
  expect(*tina, "set profile title two", Status::refused, "(tom) changes the candidate");
  expect(*tina, "commit", Status::refused, "(tom) changes the candidate");
  expect(*tina, "discard", Status::refused);
  tom.reset();
  EXPECT_NE(tina->greeting().find("holds changes by tom"), std::string::npos);
  expect(*tina, "set profile title two", Status::ok, "the candidate holds changes by tom");
  expect(*tina, "set profile title three", Status::ok);
  EXPECT_EQ(tina->run("set profile title four").text, "") << "said once";
  expect(*tina, "commit", Status::ok);
}

TEST_F(ShellSession, AnUnconfirmedCommitGoesBackVisiblyAndIsPutToWork) {
  auto tom = bench_.login("tom"), vera = bench_.login("vera");
  expect(*tom, "set profile tracking prediction_ms 50", Status::ok);
  expect(*tom, "commit confirmed 2", Status::ok, "goes back in 2 min unless confirmed");
  EXPECT_EQ(bench_.machine.prediction_ms, 50);
  EXPECT_NE(vera->prompt().find("[confirm 2: 2:00]"), std::string::npos) << vera->prompt();
  bench_.clock.pass(60);
  (void)bench_.shell->take_notices();
  bench_.shell->tick();
  ASSERT_EQ(bench_.shell->take_notices().size(), 1u) << "a minute before";
  bench_.clock.pass(60);
  bench_.shell->tick();
  const auto notices = bench_.shell->take_notices();
  ASSERT_EQ(notices.size(), 1u);
  EXPECT_NE(notices[0].text.find("ROLLED BACK: commit 2 by tom was not confirmed within 2 min"), std::string::npos);
  EXPECT_EQ(notices[0].session, 0u);
  EXPECT_EQ(bench_.machine.prediction_ms, 150);
  EXPECT_EQ(bench_.machine.restarts, 0) << "a live key needs none";
  EXPECT_NE(bench_.login("vera")->greeting().find("ROLLED BACK"), std::string::npos);
  EXPECT_NE(bench_.audit().find("was not confirmed"), std::string::npos);
}

TEST_F(ShellSession, ASessionStartedFromWhatWasNotConfirmedIsStartedAgain) {
  auto tom = bench_.login("tom");
  expect(*tom, "set rig world motion_scale 0.1", Status::ok);
  expect(*tom, "commit confirmed 1", Status::ok, "needs `restart`");
  expect(*tom, "restart", Status::ok);
  bench_.machine.started = 2;
  bench_.clock.pass(61);
  bench_.shell->tick();
  EXPECT_EQ(bench_.machine.restarts, 2);
}

TEST_F(ShellSession, ACommitThatWasUnderWayWhenTheProcessWasKilledStillGoesBack) {
  {
    auto tom = bench_.login("tom");
    expect(*tom, "set profile tracking prediction_ms 50", Status::ok);
    expect(*tom, "commit confirmed 2", Status::ok);
  }
  bench_.clock.pass(500);
  bench_.restart();
  auto tom = bench_.login("tom");
  EXPECT_NE(tom->greeting().find("ROLLED BACK: commit 2 by tom"), std::string::npos) << tom->greeting();
  expect(*tom, "show configuration profile tracking prediction_ms", Status::ok, "150.0");
}

TEST_F(ShellSession, ACommitConfirms) {
  auto tom = bench_.login("tom");
  expect(*tom, "set profile tracking prediction_ms 50", Status::ok);
  expect(*tom, "commit confirmed 2", Status::ok);
  expect(*tom, "commit", Status::ok, "commit 2 is confirmed");
  bench_.clock.pass(500);
  bench_.shell->tick();
  EXPECT_EQ(bench_.machine.prediction_ms, 50);
  expect(*tom, "show history", Status::ok, "[confirmed]");
}

TEST_F(ShellSession, LiveAnswersGoOn) {
  auto vera = bench_.login("vera");
  Answer a = vera->run("show tracking live");
  ASSERT_TRUE(a.live);
  const auto one = a.live(), two = a.live();
  ASSERT_TRUE(one && two);
  EXPECT_NE(one->text, two->text);
  Answer log = vera->run("show log live");
  ASSERT_TRUE(log.live);
  EXPECT_EQ(log.text, "one\ntwo\n");
  EXPECT_EQ(log.live()->text, "");
}

TEST_F(ShellSession, EveryCommandIsAuditedWithUserAndAnswer) {
  auto ada = bench_.login("ada");
  expect(*ada, "show version", Status::ok);
  expect(*ada, "nonsense", Status::error);
  const auto all = audit();
  ASSERT_GE(all.size(), 3u);
  EXPECT_EQ(all[all.size() - 2]["command"], "show version");
  EXPECT_EQ(all[all.size() - 2]["status"], "ok");
  EXPECT_EQ(all[all.size() - 2]["answer"], "ligature 0");
  EXPECT_EQ(all[all.size() - 2]["user"], "ada");
  EXPECT_EQ(all.back()["command"], "nonsense");
  EXPECT_EQ(all.back()["status"], "error");
  EXPECT_NE(all.back()["answer"].get<std::string>().find("is unknown here"), std::string::npos);
  EXPECT_TRUE(all.back().contains("time"));
  expect(*ada, "show audit 2", Status::ok, "nonsense");
}

TEST(ShellAudit, FilesAreBoundedAndNothingInThemIsMoreThanALine) {
  Limits limits = Bench::generous();
  limits.audit_bytes = 4096;
  limits.audit_files = 3;
  Bench bench(limits);
  auto ada = bench.login("ada");
  for (int i = 0; i < 400; ++i)
    (void)ada->run("show \"" + std::string(static_cast<std::size_t>(i), '\xff') + "\x01\n\r");
  std::size_t files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(bench.path()))
    if (entry.path().extension() == ".jsonl") {
      ++files;
      EXPECT_LE(entry.file_size(), 4096u);
      std::istringstream lines(test::slurp(entry.path()));
      for (std::string line; std::getline(lines, line);)
        EXPECT_FALSE(json::parse(line, nullptr, false).is_discarded()) << line;
    }
  EXPECT_EQ(files, 3u);
}

TEST(ShellAudit, WhereItCannotBeWrittenNothingIsChanged) {
  Bench bench;
  auto ada = bench.login("ada");
  // A full disk cannot be made here without privilege; a folder in place of the file will do.
  std::filesystem::remove(bench.path() / "audit.jsonl");
  std::filesystem::create_directory(bench.path() / "audit.jsonl");
  ada.reset();
  bench.restart();
  auto again = bench.login("ada");
  EXPECT_EQ(again->run("set profile title x").status, Status::failed);
  EXPECT_EQ(again->run("show version").status, Status::ok);
  EXPECT_FALSE(bench.store->changed());
}

TEST(ShellDoor, SessionsAreLimitedAndTwoAreKeptForAdmins) {
  Limits limits = Bench::generous();
  limits.sessions = 6;
  limits.sessions_per_user = 3;
  Bench bench(limits);
  std::vector<std::unique_ptr<Session>> in;
  for (int i = 0; i < 3; ++i) in.push_back(bench.login("vera"));
  EXPECT_FALSE(bench.shell->admit(peer("vera")));
  in.push_back(bench.login("tom"));
  EXPECT_FALSE(bench.shell->admit(peer("tina")));
  in.push_back(bench.login("ada"));
  in.push_back(bench.login("ada"));
  EXPECT_FALSE(bench.shell->admit(peer("ada")));
  in.pop_back();
  EXPECT_TRUE(bench.shell->admit(peer("ada")));
}

TEST(ShellDoor, ConnectionsASecondAreLimited) {
  Limits limits;
  limits.connections_per_s = 2;
  Bench bench(limits);
  int in = 0;
  for (int i = 0; i < 10; ++i)
    if (bench.shell->admit(peer("vera"))) ++in;
  EXPECT_EQ(in, 4);
  bench.clock.pass(1);
  EXPECT_TRUE(bench.shell->admit(peer("vera")));
}

// Whoever comes in by `shell -c` sees no greeting: what an earlier session left must not run unsaid.
TEST_F(ShellSession, WhatASessionLeftInTheCandidateIsToldWhenItIsCommitted) {
  bench_.login("ada")->run("set profile microscope field_of_view_mm 12");
  auto ada = bench_.login("ada");
  expect(*ada, "set profile title Evening", Status::ok, "holds changes by ada");
  expect(*ada, "commit", Status::ok, "runs");
  bench_.login("ada")->run("set profile title Night");
  expect(*bench_.login("ada"), "commit", Status::ok, "the changes that ada left");
}

TEST_F(ShellSession, JobsAreFollowedAndTheirResultComesIntoTheCandidate) {
  // The bench's program is echo: the job ends at once, and makes no file.
  auto tom = bench_.login("tom");
  expect(*tom, "calibrate rig board checkerboard:9x6:25mm frames /tmp", Status::ok, "job 1 runs");
  Answer watch = tom->run("job watch 1");
  ASSERT_TRUE(watch.live);
  std::string said = watch.text;
  for (int i = 0; i < 500; ++i) {
    bench_.shell->tick();
    const auto more = watch.live();
    if (!more) break;
    said += more->text;
    ::usleep(10000);
  }
  EXPECT_NE(said.find("calibrate rig --board checkerboard:9x6:25mm --frames /tmp"), std::string::npos) << said;
  ASSERT_TRUE(watch.verdict);
  EXPECT_EQ(watch.verdict(), Status::ok);
  expect(*tom, "show jobs", Status::ok, "done");
  expect(*tom, "load calibration 7", Status::error);
  expect(*tom, "calibrate intrinsics C0 board b images /nowhere", Status::error, "is no folder");
  expect(*tom, "calibrate rig board --force frames /tmp", Status::error, "must not begin with -");
  expect(*tom, "set rig world motion_scale 2", Status::ok);
  expect(*tom, "load calibration 1", Status::ok, "is what runs");
}

TEST(ShellJobs, FoldersOfAProcessBeforeAreBounded) {
  test::TempDir folder;
  for (int i = 1; i <= 30; ++i) std::filesystem::create_directories(folder / "jobs" / std::to_string(i));
  Jobs jobs(folder / "jobs");
  EXPECT_FALSE(std::filesystem::exists(folder / "jobs/10"));
  EXPECT_TRUE(std::filesystem::exists(folder / "jobs/11"));
  const auto number = jobs.start("test", "echo", "ada", {"/bin/echo"}, "");
  ASSERT_TRUE(number);
  EXPECT_EQ(*number, 31) << "a number is not given twice";
}

TEST_F(ShellSession, AnExportIsAJob) {
  std::filesystem::create_directories(bench_.path() / "sessions/monday");
  auto tom = bench_.login("tom");
  expect(*tom, "export session monday", Status::ok, "job 1 packs monday");
  for (int i = 0; i < 500 && tom->run("show jobs").text.find("done") == std::string::npos; ++i) {
    bench_.shell->tick();
    ::usleep(10000);
  }
  expect(*tom, "show exports", Status::ok, "monday.tar.gz");
  EXPECT_EQ(tom->run("show exports").text.find(".part"), std::string::npos);
  expect(*tom, "export session ../../etc", Status::error);
}

}  // namespace
}  // namespace ligature::shell
