#include "appliance/rt/thread.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <thread>

namespace ligature::rt {
namespace {

int first_allowed_core() {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  sched_getaffinity(0, sizeof mask, &mask);
  for (int core = 0; core < CPU_SETSIZE; ++core)
    if (CPU_ISSET(core, &mask)) return core;
  return -1;
}

TEST(RtThread, ReportsWhatTheKernelSaysNotWhatWasAskedFor) {
  RtThread thread;
  int policy = -1, priority = -1;
  const int core = first_allowed_core();
  ASSERT_TRUE(thread.start({"probe", Policy::fifo, 30, core}, [&] {
    policy = sched_getscheduler(0);
    sched_param parameter{};
    sched_getparam(0, &parameter);
    priority = parameter.sched_priority;
  }));
  const GrantReport grant = thread.grant();
  thread.join();
  EXPECT_EQ(grant.granted_policy == Policy::fifo, policy == SCHED_FIFO);
  EXPECT_EQ(grant.granted_priority, priority);
  EXPECT_EQ(grant.granted_core, core);
  EXPECT_EQ(grant.granted, grant.why.empty());
}

TEST(RtThread, AsksForNothingAndIsGrantedIt) {
  RtThread thread;
  bool ran = false;
  ASSERT_TRUE(thread.start({.name = "plain"}, [&] { ran = true; }));
  thread.join();
  EXPECT_TRUE(ran);
  EXPECT_TRUE(thread.grant().granted) << thread.grant().why;
}

TEST(RtThread, CoreThatIsNotThereIsSaidWithTheOnesThatAre) {
  for (const int core : {CPU_SETSIZE - 1, CPU_SETSIZE + 5}) {
    RtThread thread;
    bool ran = false;
    ASSERT_TRUE(thread.start({"far", Policy::other, 0, core}, [&] { ran = true; }));
    thread.join();
    EXPECT_TRUE(ran) << "it runs all the same";
    EXPECT_FALSE(thread.grant().granted);
    EXPECT_NE(thread.grant().why.find("EINVAL"), std::string::npos) << thread.grant().why;
    EXPECT_NE(thread.grant().why.find(std::to_string(first_allowed_core())), std::string::npos) << thread.grant().why;
  }
}

TEST(RtThread, PriorityOutOfRangeIsSaid) {
  RtThread thread;
  ASSERT_TRUE(thread.start({"high", Policy::fifo, 150, -1}, [] {}));
  thread.join();
  EXPECT_FALSE(thread.grant().granted);
  EXPECT_NE(thread.grant().why.find("1..99"), std::string::npos) << thread.grant().why;
}

TEST(RtThread, StartTwiceIsRefused) {
  RtThread thread;
  ASSERT_TRUE(thread.start({.name = "once"}, [] {}));
  EXPECT_FALSE(thread.start({.name = "twice"}, [] {}));
}

TEST(RtThread, WholeStackMayBeUsed) {
  RtThread thread;
  unsigned sum = 1;
  ASSERT_TRUE(thread.start({.name = "deep", .stack_bytes = 1u << 20}, [&] {
    volatile char big[900'000];
    for (std::size_t i = 0; i < sizeof big; i += 1000) big[i] = 1;
    sum = static_cast<unsigned>(big[0]) + static_cast<unsigned>(big[899'000]);
  }));
  thread.join();
  EXPECT_EQ(sum, 2u);
}

/// A machine that grants nothing: a child without privilege and with low limits tells its report through its exit code.
template <class Function>
int exit_code_without_privilege(Function&& function) {
  const pid_t child = fork();
  if (child == 0) {
    const rlimit none{0, 0};
    setrlimit(RLIMIT_RTPRIO, &none);
    const rlimit little{8u << 20, 8u << 20};
    setrlimit(RLIMIT_MEMLOCK, &little);
    if (getuid() == 0 && setresuid(65534, 65534, 65534) != 0) _exit(90);
    _exit(function());
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 91;
}

TEST(WakeLatencyHold, WritesZeroMicrosecondsAndHoldsTheFile) {
  const std::string file = testing::TempDir() + "ligature-latency-" + std::to_string(getpid());
  { std::ofstream make(file); }
  const WakeLatencyHold hold(file);
  EXPECT_TRUE(hold.held()) << hold.why();
  std::ifstream written(file, std::ios::binary);
  char bytes[5] = {1, 1, 1, 1, 1};
  written.read(bytes, sizeof bytes);
  EXPECT_EQ(written.gcount(), 4);
  EXPECT_EQ(std::string(bytes, 4), std::string(4, '\0'));
  unlink(file.c_str());
}

TEST(WakeLatencyHold, MachineWithoutItIsSaid) {
  const WakeLatencyHold hold("/nonexistent/latency");
  EXPECT_FALSE(hold.held());
  EXPECT_NE(hold.why().find("ENOENT"), std::string::npos) << hold.why();
}

#if !defined(__SANITIZE_THREAD__) && !defined(__SANITIZE_ADDRESS__)
TEST(RtThread, MachineThatGrantsNothingIsNamedWithItsRemedyAndRunsOn) {
  EXPECT_EQ(exit_code_without_privilege([] {
              RtThread thread;
              bool ran = false;
              if (!thread.start({"fifo", Policy::fifo, 50, -1}, [&] { ran = true; })) return 1;
              thread.join();
              if (!ran) return 2;
              if (thread.grant().granted || thread.grant().granted_policy != Policy::other) return 3;
              if (thread.grant().why.find("EPERM") == std::string::npos) return 4;
              return thread.grant().why.find("LimitRTPRIO=99") == std::string::npos ? 5 : 0;
            }),
            0);
}

TEST(Memory, LowLimitIsNamedAndAllocationGoesOnWorking) {
  EXPECT_EQ(exit_code_without_privilege([] {
              const MemoryReport report = lock_memory(1u << 20);
              if (report.locked) return 1;
              if (report.why.find("8 MiB") == std::string::npos) return 2;
              if (report.why.find("LimitMEMLOCK=infinity") == std::string::npos) return 3;
              void* block = std::malloc(32u << 20);
              const int code = block == nullptr ? 4 : 0;
              std::free(block);
              return code;
            }),
            0);
}

TEST(Memory, LockReportsEitherSuccessOrAReason) {
  // In a child, because locking is for the whole process and for good.
  const pid_t child = fork();
  if (child == 0) {
    const MemoryReport report = lock_memory(1u << 20);
    _exit(report.locked == report.why.empty() && report.heap_touched_bytes == (1u << 20) ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}
#endif

}  // namespace
}  // namespace ligature::rt
