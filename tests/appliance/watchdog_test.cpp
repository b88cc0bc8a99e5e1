#include "appliance/watchdog/watchdog.hpp"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <nlohmann/json.hpp>
#include <thread>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "appliance/watchdog/frame_record.hpp"
#include "sim/base/random.hpp"

namespace ligature::watchdog {
namespace {

constexpr std::int64_t kMs = 1'000'000, kS = 1'000'000'000;

TEST(Histogram, EveryBucketsMiddleIsInItself) {
  for (std::size_t i = 0; i < Histogram::kBuckets; ++i)
    ASSERT_EQ(LogBuckets::bucket_of(static_cast<std::uint64_t>(LogBuckets::middle_of(i))), i);
}

TEST(Histogram, BucketsAreWithinOnePercentOfWhatTheyHold) {
  for (double value = 1; value < 1e10; value *= 1.0007) {
    const auto ns = static_cast<std::uint64_t>(value);
    const double middle = static_cast<double>(LogBuckets::middle_of(LogBuckets::bucket_of(ns)));
    ASSERT_LE(std::abs(middle - static_cast<double>(ns)), 0.01 * static_cast<double>(ns));
  }
}

TEST(Histogram, PercentilesAgreeWithSortingWithinOnePercent) {
  Random random(7);
  Histogram histogram;
  std::vector<std::int64_t> all;
  for (int i = 0; i < 20'000; ++i) {
    const auto ns = static_cast<std::int64_t>(1e5 * std::exp(2 * random.normal()));
    all.push_back(ns);
    histogram.record(ns);
  }
  std::sort(all.begin(), all.end());
  for (const double fraction : {0.01, 0.5, 0.9, 0.99, 0.999}) {
    const auto rank = static_cast<std::size_t>(std::ceil(fraction * static_cast<double>(all.size()))) - 1;
    const auto exact = static_cast<double>(all[rank]);
    EXPECT_NEAR(static_cast<double>(histogram.percentile_ns(fraction)), exact, 0.01 * exact) << fraction;
  }
  EXPECT_EQ(histogram.max_ns(), all.back());
  EXPECT_EQ(histogram.count(), all.size());
}

TEST(Histogram, ExtremesStayInBounds) {
  Histogram histogram;
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
  histogram.record(-5);
  EXPECT_EQ(histogram.percentile_ns(1), 0);
  histogram.record(INT64_MAX);
  EXPECT_EQ(histogram.max_ns(), INT64_MAX);
  EXPECT_EQ(histogram.percentile_ns(1), INT64_MAX);
  EXPECT_EQ(histogram.percentile_ns(0.5), 0);
}

MonitorSettings physics_settings() {
  return {"physics", 5 * kMs, 5 * kMs, 500 * kMs};
}

std::string only_cause(const ThreadMonitor& monitor) {
  return monitor.cause_count() == 1 ? monitor.cause(0).name : std::to_string(monitor.cause_count()) + " causes";
}

TEST(ThreadMonitor, LatenessAndExecutionTogetherMakeTheMiss) {
  ThreadMonitor monitor(physics_settings());
  monitor.begin(100 * kMs, 102 * kMs);
  EXPECT_TRUE(monitor.end(105 * kMs)) << "2 + 3 ms is within 5 ms";
  monitor.begin(100 * kMs, 102 * kMs);
  EXPECT_FALSE(monitor.end(105 * kMs + 1));
  EXPECT_EQ(monitor.misses(), 1u);
  EXPECT_EQ(monitor.passes(), 2u);
  EXPECT_EQ(monitor.lateness().max_ns(), 2 * kMs);
  EXPECT_EQ(monitor.execution().max_ns(), 3 * kMs + 1);
}

TEST(ThreadMonitor, LargestPartIsTheCause) {
  {
    ThreadMonitor monitor(physics_settings());
    monitor.begin(0, 4 * kMs);
    monitor.stage("solve", 6 * kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(only_cause(monitor), "late wake");
  }
  {
    ThreadMonitor monitor(physics_settings());
    monitor.begin(0, kMs);
    monitor.stage("detect", 2 * kMs);
    monitor.stage("solve", 6 * kMs);
    monitor.stage("finish", 7 * kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(only_cause(monitor), "stage solve");
  }
  {
    ThreadMonitor monitor(physics_settings());
    monitor.begin(0, kMs);
    monitor.waited("tracking", 5 * kMs);
    monitor.stage("solve", 7 * kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(only_cause(monitor), "waited for tracking");
  }
  {
    ThreadMonitor monitor(physics_settings());
    monitor.begin(0, 0);
    monitor.stage("solve", kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(only_cause(monitor), "stage unnamed");
  }
  {
    ThreadMonitor monitor(physics_settings());
    monitor.begin(0, 0);
    monitor.note_injected("overrun", kMs);
    monitor.stage("solve", 7 * kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(only_cause(monitor), "injected overrun");
    MissRecord miss;
    ASSERT_TRUE(monitor.pop_miss(miss));
    EXPECT_EQ(miss.part_ns, kMs);
    monitor.begin(0, 0);
    monitor.stage("solve", 7 * kMs);
    monitor.end(7 * kMs);
    EXPECT_EQ(monitor.cause_count(), 2u) << "an injection is over with its pass";
  }
}

TEST(ThreadMonitor, PassesBehindALongOneSayWhatMadeThemLate) {
  ThreadMonitor monitor(physics_settings());
  monitor.begin(0, 0);
  monitor.note_injected("overrun", 1000 * kMs);
  monitor.end(1001 * kMs);
  std::int64_t now = 1001 * kMs;
  for (int k = 1; k < 100; ++k) {
    monitor.begin(5 * k * kMs, now);
    monitor.stage("solve", now + kMs);
    monitor.end(now += kMs);
  }
  // Woken late on top of it, and then behind by what a stage takes.
  monitor.begin(now - 5 * kMs, now + 20 * kMs);
  monitor.end(now + 21 * kMs);
  monitor.begin(now + 30 * kMs, now + 30 * kMs);
  monitor.stage("solve", now + 50 * kMs);
  monitor.end(now + 50 * kMs);
  monitor.begin(now + 35 * kMs, now + 50 * kMs);
  monitor.end(now + 51 * kMs);
  std::map<std::string, std::uint64_t> causes;
  for (std::size_t i = 0; i < monitor.cause_count(); ++i) causes[monitor.cause(i).name] = monitor.cause(i).count;
  const std::map<std::string, std::uint64_t> wanted{{"injected overrun", 1},
                                                    {"behind after overrun", 99},
                                                    {"late wake", 1},
                                                    {"stage solve", 1},
                                                    {"behind after solve", 1}};
  EXPECT_EQ(causes, wanted);
}

TEST(ThreadMonitor, StagesMeasuredElsewhereCountOnce) {
  ThreadMonitor monitor(physics_settings());
  monitor.begin(0, 0);
  monitor.stage_of("detect", 2 * kMs);
  monitor.stage_of("solve", 3 * kMs);
  monitor.mark(5 * kMs);
  monitor.stage("snapshot", 6 * kMs);
  monitor.end(6 * kMs);
  EXPECT_EQ(only_cause(monitor), "stage solve");
  ASSERT_EQ(monitor.stage_count(), 3u);
  EXPECT_STREQ(monitor.stage_name(1), "solve");
  EXPECT_EQ(monitor.stage_histogram(1).max_ns(), 3 * kMs);
  EXPECT_EQ(monitor.stage_histogram(2).max_ns(), kMs);
}

TEST(ThreadMonitor, MissRecordSaysWhatThePassHadToDo) {
  ThreadMonitor monitor(physics_settings());
  monitor.begin(kMs, 2 * kMs);
  monitor.note_work(34, 50);
  monitor.stage("solve", 8 * kMs);
  monitor.end(8 * kMs);
  MissRecord miss;
  ASSERT_TRUE(monitor.pop_miss(miss));
  EXPECT_EQ(cause_name(miss), "stage solve");
  EXPECT_EQ(miss.contacts, 34u);
  EXPECT_EQ(miss.iterations, 50u);
  EXPECT_EQ(miss.lateness_ns, kMs);
  EXPECT_EQ(miss.execution_ns, 6 * kMs);
  EXPECT_EQ(miss.part_ns, 6 * kMs);
  EXPECT_FALSE(monitor.pop_miss(miss));
}

TEST(ThreadMonitor, CausesBeyondTheTableAreStillCounted) {
  static const char* const kNames[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l", "m", "n", "o", "p",
                                       "q", "r", "s", "t", "u", "v", "w", "x", "y", "z", "A", "B", "C", "D", "E", "F"};
  ThreadMonitor monitor(physics_settings());
  for (const char* name : kNames)
    for (int i = 0; i < 2; ++i) {
      monitor.begin(0, 0);
      monitor.stage(name, 9 * kMs);
      monitor.end(9 * kMs);
    }
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < monitor.cause_count(); ++i) sum += monitor.cause(i).count;
  EXPECT_EQ(monitor.cause_count(), ThreadMonitor::kMaxCauses);
  EXPECT_EQ(sum, monitor.misses());
  EXPECT_EQ(monitor.cause(ThreadMonitor::kMaxCauses - 1).name, "other");
  EXPECT_EQ(monitor.stage_count(), ThreadMonitor::kMaxStages);
}

TEST(ThreadMonitor, WithoutADeadlineNothingIsAMiss) {
  ThreadMonitor monitor({"service", 0, 0});
  monitor.begin(0, 5 * kS);
  EXPECT_TRUE(monitor.end(20 * kS));
  EXPECT_EQ(monitor.misses(), 0u);
}

TEST(Watchdog, NamesTheThreadThatStallsAndWhenItMovesAgain) {
  ThreadMonitor physics(physics_settings()), render({"render", 0, 0, 500 * kMs});
  Watchdog watchdog;
  watchdog.add(physics);
  watchdog.add(render);
  EXPECT_FALSE(watchdog.poll(1 * kS).started);
  physics.beat(1 * kS + 1);
  EXPECT_FALSE(watchdog.poll(1 * kS + 2).started) << "render has not begun";
  render.beat(1 * kS + 3);
  Watchdog::Verdict verdict = watchdog.poll(1 * kS + 400 * kMs);
  EXPECT_TRUE(verdict.started);
  EXPECT_TRUE(verdict.alive);
  EXPECT_TRUE(verdict.lines.empty());

  render.beat(1 * kS + 500 * kMs);
  verdict = watchdog.poll(1 * kS + 800 * kMs);
  EXPECT_FALSE(verdict.alive);
  EXPECT_EQ(verdict.stalled, std::vector<std::string>{"physics"});
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_NE(verdict.lines[0].find("physics makes no progress"), std::string::npos) << verdict.lines[0];

  EXPECT_TRUE(watchdog.poll(1 * kS + 900 * kMs).lines.empty()) << "said once";
  physics.beat(2 * kS);
  render.beat(2 * kS);
  verdict = watchdog.poll(2 * kS + 1);
  EXPECT_TRUE(verdict.alive);
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_NE(verdict.lines[0].find("physics moves again"), std::string::npos) << verdict.lines[0];

  render.finish();
  physics.beat(9 * kS);
  EXPECT_TRUE(watchdog.poll(9 * kS).alive) << "a thread that has left its loop is not stalled";
}

TEST(Watchdog, NamesAThreadThatNeverBegan) {
  ThreadMonitor physics(physics_settings());
  Watchdog watchdog;
  watchdog.add(physics);
  watchdog.poll(100 * kS);
  const Watchdog::Verdict verdict = watchdog.poll(102 * kS);
  ASSERT_EQ(verdict.lines.size(), 1u);
  EXPECT_NE(verdict.lines[0].find("physics has not begun"), std::string::npos) << verdict.lines[0];
}

TEST(Watchdog, WritesOneLineEveryTenSecondsAndFewMissesBetween) {
  ThreadMonitor physics(physics_settings());
  Watchdog watchdog;
  watchdog.add(physics);
  std::size_t regular = 0, misses = 0, other = 0;
  for (std::int64_t now = 0; now <= 30 * kS; now += 100 * kMs) {
    physics.begin(now, now);
    physics.stage("solve", now + (now % kS == 0 ? 9 * kMs : kMs));
    physics.end(now + (now % kS == 0 ? 9 * kMs : kMs));
    for (const std::string& line : watchdog.poll(now).lines) {
      const bool is_regular = line.rfind("watchdog ", 0) == 0, is_miss = line.find("missed its deadline") < line.size();
      regular += is_regular;
      misses += is_miss;
      other += !is_regular && !is_miss;
    }
  }
  EXPECT_EQ(regular, 3u);
  EXPECT_EQ(other, 0u);
  EXPECT_EQ(physics.misses(), 31u);
  EXPECT_GE(misses, 9u);
  EXPECT_LE(misses, 12u);
}

TEST(Watchdog, ReportHasTheContractsShape) {
  ThreadMonitor physics(physics_settings());
  rt::GrantReport grant;
  grant.granted_policy = rt::Policy::fifo;
  grant.granted_core = 1;
  grant.granted_priority = 80;
  grant.granted = true;
  physics.set_grant(grant);
  physics.begin(0, kMs / 10);
  physics.stage("solve", 9 * kMs);
  physics.end(9 * kMs);
  Watchdog watchdog;
  watchdog.add(physics);
  const nlohmann::json report = watchdog.report();
  ASSERT_EQ(report.size(), 1u);
  EXPECT_EQ(report[0].at("name"), "physics");
  EXPECT_EQ(report[0].at("policy"), "fifo");
  EXPECT_EQ(report[0].at("core"), 1);
  EXPECT_EQ(report[0].at("granted"), true);
  EXPECT_EQ(report[0].at("period_ms").dump(), "5");
  EXPECT_EQ(report[0].at("deadline_misses"), 1);
  EXPECT_EQ(report[0].at("causes").dump(), R"({"stage solve":1})");
  for (const char* key : {"lateness_us", "execution_us"})
    for (const char* percentile : {"p50", "p99", "p999", "max"})
      EXPECT_TRUE(report[0].at(key).at(percentile).is_number()) << key << percentile;
  EXPECT_DOUBLE_EQ(report[0]["execution_us"]["max"].get<double>(), 8900.0);
}

TEST(Watchdog, TableHasEveryThreadItsCausesAndWhatWasRefused) {
  ThreadMonitor physics(physics_settings()), render({"render", 0, 16 * kMs});
  rt::GrantReport refused;
  refused.why = "fifo priority 80 refused, EPERM";
  physics.set_grant(refused);
  physics.begin(0, 0);
  physics.stage("solve", 9 * kMs);
  physics.end(9 * kMs);
  Watchdog watchdog;
  watchdog.add(physics);
  watchdog.add(render);
  const std::string table = watchdog.table();
  EXPECT_NE(table.find("missed 1 x: stage solve"), std::string::npos) << table;
  EXPECT_NE(table.find("render"), std::string::npos) << table;
  EXPECT_NE(table.find("not granted: fifo priority 80 refused, EPERM"), std::string::npos) << table;
}

TEST(Watchdog, ReadsMonitorsWhileTheirThreadsRun) {
  ThreadMonitor monitor(physics_settings());
  Watchdog watchdog;
  watchdog.add(monitor);
  std::atomic<bool> stop{false};
  std::thread worker([&] {
    for (std::int64_t t = 0; !stop.load(); t += 5 * kMs) {
      monitor.begin(t, t + kMs);
      monitor.stage("solve", t + 3 * kMs);
      monitor.end(t + (t % (35 * kMs) == 0 ? 8 * kMs : 4 * kMs));
    }
    monitor.finish();
  });
  while (monitor.passes() < 20'000) {
    watchdog.poll(rt::monotonic_now_ns());
    const nlohmann::json report = watchdog.report();
    ASSERT_EQ(report.size(), 1u);
  }
  stop = true;
  worker.join();
  EXPECT_EQ(monitor.cause(0).count, monitor.misses());
}

/// Systemd's end of the notify socket.
class FakeSystemd {
 public:
  explicit FakeSystemd(const std::string& tag) : name_("@ligature-test-" + tag + "-" + std::to_string(getpid())) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_.copy(address.sun_path, sizeof address.sun_path - 1);
    address.sun_path[0] = '\0';
    bound_ = bind(fd_, reinterpret_cast<sockaddr*>(&address),
                  static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size())) == 0;
  }
  ~FakeSystemd() { close(fd_); }
  const std::string& name() const { return name_; }
  bool bound() const { return bound_; }
  std::vector<std::string> read_all() {
    std::vector<std::string> messages;
    char text[256];
    for (ssize_t n; (n = recv(fd_, text, sizeof text, 0)) >= 0;)
      messages.emplace_back(text, static_cast<std::size_t>(n));
    return messages;
  }

 private:
  std::string name_;
  int fd_;
  bool bound_;
};

using Messages = std::vector<std::string>;

TEST(SdNotifier, ReadyComesOnceAndWatchdogOnlyWhileEveryThreadMoves) {
  FakeSystemd systemd("alive");
  ASSERT_TRUE(systemd.bound());
  SdNotifier notifier(systemd.name(), 1 * kS);
  ThreadMonitor physics(physics_settings()), render({"render", 0, 0, 500 * kMs});
  Watchdog watchdog;
  watchdog.add(physics);
  watchdog.add(render);
  std::int64_t now = 100 * kS;
  watchdog.poll(now, notifier);
  EXPECT_EQ(systemd.read_all(), Messages{}) << "nothing has begun";
  physics.beat(now), render.beat(now);
  watchdog.poll(now, notifier);
  EXPECT_EQ(systemd.read_all(), (Messages{"READY=1\n", "WATCHDOG=1\n"}));
  watchdog.poll(now + 100 * kMs, notifier);
  EXPECT_EQ(systemd.read_all(), Messages{}) << "twice per time-out is enough";
  physics.beat(now + 500 * kMs), render.beat(now + 500 * kMs);
  watchdog.poll(now + 500 * kMs, notifier);
  EXPECT_EQ(systemd.read_all(), Messages{"WATCHDOG=1\n"});
  for (std::int64_t t = 600; t < 3000; t += 100) {
    physics.beat(now + t * kMs);  // render is stuck
    watchdog.poll(now + t * kMs, notifier);
  }
  EXPECT_EQ(systemd.read_all(), Messages{"WATCHDOG=1\n"}) << "only the one before render counts as stalled";
  notifier.stopping();
  notifier.stopping();
  EXPECT_EQ(systemd.read_all(), Messages{"STOPPING=1\n"});
}

TEST(SdNotifier, ReceiverThatNeverReadsHoldsNobodyUp) {
  FakeSystemd systemd("deaf");
  ASSERT_TRUE(systemd.bound());
  SdNotifier notifier(systemd.name(), 2);
  for (std::int64_t i = 1; i <= 2000; ++i) notifier.watchdog(i * kS);
  EXPECT_GT(notifier.sent(), 0u);
  EXPECT_GT(notifier.dropped(), 0u);
  EXPECT_EQ(notifier.sent() + notifier.dropped(), 2000u);
}

TEST(SdNotifier, ReadyIsTriedAgainUntilItArrives) {
  const std::string path = testing::TempDir() + "ligature-notify-" + std::to_string(getpid());
  SdNotifier notifier(path, 0);
  notifier.ready();
  EXPECT_EQ(notifier.dropped(), 1u) << "nobody listens yet";
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK, 0);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
  notifier.ready();
  notifier.ready();
  char text[64];
  const ssize_t n = recv(fd, text, sizeof text, 0);
  EXPECT_EQ(std::string(text, static_cast<std::size_t>(std::max<ssize_t>(n, 0))), "READY=1\n");
  EXPECT_LT(recv(fd, text, sizeof text, 0), 0);
  close(fd);
  unlink(path.c_str());
}

TEST(SdNotifier, NoSocketAndNonsenseSocketAreHarmless) {
  for (const std::string& name : {std::string(), std::string("relative"), std::string(500, '/')}) {
    SdNotifier notifier(name, kS);
    EXPECT_FALSE(notifier.connected());
    notifier.ready();
    notifier.watchdog(kS);
    notifier.status("two\nlines");
    notifier.stopping();
    EXPECT_EQ(notifier.sent(), 0u);
  }
}

TEST(FrameRecord, LatencyNeedsBothEnds) {
  FrameRecord record;
  EXPECT_EQ(record.latency_ns(), -1);
  record.mid_exposure_ns = 10;
  EXPECT_EQ(record.latency_ns(), -1);
  record.presented_ns = 60;
  EXPECT_EQ(record.latency_ns(), 50);
}

}  // namespace
}  // namespace ligature::watchdog
