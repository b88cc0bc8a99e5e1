#include "appliance/doctor/doctor.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "appliance/doctor/instance_lock.hpp"

namespace ligature::doctor {
namespace {

namespace fs = std::filesystem;

/// A picture of a machine in a folder, gone with the test.
class Doctor : public testing::Test {
 protected:
  void SetUp() override {
    root_ = fs::path(testing::TempDir()) / ("ligature-doctor-" + std::to_string(getpid()));
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  void TearDown() override { fs::remove_all(root_); }

  void put(const std::string& file, const std::string& text) {
    const fs::path path = root_.string() + file;
    fs::create_directories(path.parent_path());
    std::ofstream(path) << text << "\n";
  }

  void put_limits(const std::string& priority, const std::string& memory, const std::string& capabilities) {
    put("/proc/self/limits",
        "Limit                     Soft Limit           Hard Limit           Units     \n"
        "Max cpu time              unlimited            unlimited            seconds   \n"
        "Max locked memory         " +
            memory + "              " + memory +
            "              bytes     \n"
            "Max realtime priority     " +
            priority + "                    " + priority + "                    ");
    put("/proc/self/status", "Name:\tx\nCapEff:\t" + capabilities);
  }

  void put_good_machine() {
    put("/sys/kernel/realtime", "1");
    put("/proc/sys/kernel/osrelease", "6.1.0-rt");
    put("/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu avx avx2 bmi2 fma sse\nbogomips\t: 5");
    put_limits("99", "unlimited", "0000000000000000");
    put("/proc/sys/kernel/sched_rt_runtime_us", "-1");
    put("/proc/sys/kernel/sched_rt_period_us", "1000000");
    for (int i = 0; i < 12; ++i) {
      const std::string core = "/sys/devices/system/cpu/cpu" + std::to_string(i);
      put(core + "/cpufreq/scaling_governor", "performance");
      put(core + "/cpufreq/scaling_max_freq", "4000000");
      put(core + "/cpufreq/cpuinfo_max_freq", "4000000");
      put(core + "/cpuidle/state0/name", "POLL");
      put(core + "/cpuidle/state0/latency", "0");
      put(core + "/cpuidle/state1/name", "C6");
      put(core + "/cpuidle/state1/latency", "133");
      put(core + "/cpuidle/state1/disable", "1");
      put(core + "/thermal_throttle/core_throttle_count", "0");
    }
    put("/sys/devices/system/cpu/isolated", "2-11");
    put("/sys/devices/system/cpu/nohz_full", "2-11");
    put("/sys/devices/system/cpu/smt/active", "0");
    put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    put("/proc/swaps", "Filename\t\t\t\tType");
    put("/sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never");
    put("/usr/share/vulkan/icd.d/radeon_icd.x86_64.json", "{}");
    put("/dev/dri/renderD128", "");
    for (int i = 0; i < 4; ++i) {
      put("/dev/video" + std::to_string(2 * i), "");
      put("/dev/video" + std::to_string(2 * i + 1), "");
      put("/sys/class/video4linux/video" + std::to_string(2 * i) + "/name", "Cam " + std::to_string(i));
      put("/sys/class/video4linux/video" + std::to_string(2 * i) + "/index", "0");
      put("/sys/class/video4linux/video" + std::to_string(2 * i + 1) + "/index", "1");
    }
    fs::create_directories(root_.string() + "/run/systemd/system");
  }

  std::vector<Finding> findings() {
    return examine({.root = root_.string(), .out_dir = root_.string(), .lock_file = root_.string() + "/none.lock"});
  }
  Finding finding(const std::string& name) {
    for (const Finding& one : findings())
      if (one.name == name) return one;
    ADD_FAILURE() << "no finding " << name;
    return {};
  }
  void expect(const std::string& name, Status status, const std::string& found, const std::string& remedy) {
    const Finding one = finding(name);
    EXPECT_EQ(one.status, status) << name << ": " << one.found;
    EXPECT_NE(one.found.find(found), std::string::npos) << name << ": " << one.found;
    EXPECT_NE(one.remedy.find(remedy), std::string::npos) << name << ": " << one.remedy;
  }

  fs::path root_;
};

TEST_F(Doctor, GoodMachineHasNothingToMend) {
  put_good_machine();
  for (const Finding& one : findings()) {
    if (one.name == "disk") continue;  // of the machine that runs the test
    EXPECT_EQ(one.status, Status::ok) << one.name << ": " << one.found;
    EXPECT_TRUE(one.remedy.empty()) << one.name;
  }
  EXPECT_EQ(finding("cameras").found, "/dev/video0 Cam 0, /dev/video2 Cam 1, /dev/video4 Cam 2, /dev/video6 Cam 3");
}

TEST_F(Doctor, EachFaultIsNamedWithItsRemedy) {
  put_good_machine();
  put("/sys/kernel/realtime", "0");
  expect("kernel", Status::warn, "6.1.0-rt, not PREEMPT_RT", "linux-image-rt-amd64");
  put("/proc/cpuinfo", "flags\t\t: x\nflags\t\t: fpu avx sse fma bmi2");
  expect("cpu", Status::fail, "avx2", "LIGATURE_ARCH=x86-64");
  put("/sys/devices/system/cpu/cpu10/cpufreq/scaling_governor", "powersave");
  expect("governor", Status::warn, "cpu10 powersave", "scaling_governor");
  put("/sys/devices/system/cpu/isolated", "");
  expect("isolated cores", Status::warn, "none", "isolcpus=managed_irq,domain,1-11");
  put("/sys/devices/system/cpu/nohz_full", "(null)");
  expect("tickless cores", Status::note, "none", "nohz_full");
  put("/sys/devices/system/cpu/smt/active", "1");
  expect("smt", Status::warn, "on", "smt/control");
  put("/proc/sys/kernel/sched_rt_runtime_us", "950000");
  expect("real-time share", Status::warn, "950000 us of every 1000000 us", "kernel.sched_rt_runtime_us=-1");
  put("/sys/devices/system/cpu/cpu3/cpuidle/state1/disable", "0");
  expect("idle states", Status::warn, "C6 (133 us)", "/dev/cpu_dma_latency");
  put("/dev/cpu_dma_latency", "");
  expect("idle states", Status::note, "C6 (133 us)", "");
  put("/sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "17");
  expect("throttling", Status::warn, "17 times", "fan");
  put("/sys/devices/system/cpu/cpu4/cpufreq/scaling_max_freq", "2000000");
  expect("throttling", Status::warn, "cpu4 at 2000 of 4000 MHz", "scaling_max_freq");
  put("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
  expect("clock source", Status::warn, "hpet", "clocksource=tsc");
  put("/proc/swaps", "Filename\tType\n/dev/sda2   partition 100 0 -2");
  expect("swap", Status::warn, "/dev/sda2", "swapoff -a");
  put("/sys/kernel/mm/transparent_hugepage/enabled", "[always] madvise never");
  expect("huge pages", Status::warn, "always", "echo madvise");
  fs::remove_all(root_.string() + "/run/systemd");
  expect("systemd", Status::note, "not running", "systemd-sysv");
  EXPECT_FALSE(fit(findings()));
}

TEST_F(Doctor, LimitsCountUnlessThereIsPrivilege) {
  put_good_machine();
  put_limits("0", "8388608", "0000000000000000");
  expect("real-time priority", Status::fail, "up to 0", "LimitRTPRIO=99");
  expect("locked memory", Status::fail, "8 MiB", "LimitMEMLOCK=infinity");
  put_limits("0", "8388608", "0000000000804000");  // CAP_SYS_NICE, CAP_IPC_LOCK
  expect("real-time priority", Status::ok, "privilege", "");
  expect("locked memory", Status::ok, "privilege", "");
}

TEST_F(Doctor, GraphicsFromBestToNone) {
  put_good_machine();
  fs::remove_all(root_.string() + "/dev/dri");
  expect("graphics", Status::fail, "no GPU", "mesa-vulkan-drivers");
  put("/usr/share/vulkan/icd.d/lvp_icd.x86_64.json", "{}");
  expect("graphics", Status::warn, "no GPU", "profile");
  fs::remove_all(root_.string() + "/usr/share/vulkan");
  expect("graphics", Status::fail, "no Vulkan driver", "mesa-vulkan-drivers");
  put("/etc/vulkan/icd.d/nvidia_icd.json", "{}");
  put("/dev/nvidiactl", "");
  expect("graphics", Status::ok, "nvidia", "");
}

TEST_F(Doctor, TooFewCamerasAreListed) {
  put_good_machine();
  fs::remove(root_.string() + "/dev/video0");
  expect("cameras", Status::warn, "3 of 4: /dev/video2 Cam 1", "plug");
  for (const char* node : {"2", "4", "6"}) fs::remove(root_.string() + "/dev/video" + node);
  expect("cameras", Status::note, "none", "plug");
}

TEST_F(Doctor, EmptyMachineIsSaidNotCrashedOver) {
  for (const Finding& one : findings()) {
    EXPECT_FALSE(one.name.empty());
    EXPECT_FALSE(one.found.empty()) << one.name;
    EXPECT_EQ(one.found.find('\n'), std::string::npos) << one.name;
  }
}

TEST_F(Doctor, GarbageFilesAreSaidNotCrashedOver) {
  put_good_machine();
  for (const auto& entry : fs::recursive_directory_iterator(root_))
    if (entry.is_regular_file()) std::ofstream(entry.path()) << "\xff\xfe ][ 99999999999999999999999 \n\n\0x";
  EXPECT_EQ(findings().size(), 20u);
  EXPECT_FALSE(table(findings()).empty());
}

TEST_F(Doctor, ThisMachineCanBeExamined) {
  const std::vector<Finding> here = examine();
  EXPECT_EQ(here.size(), 20u);
  const nlohmann::json json = report(here);
  EXPECT_EQ(json.at("findings").size(), here.size());
  EXPECT_EQ(json.at("fit").get<bool>(), fit(here));
  int sum = 0;
  for (const auto& count : json.at("counts")) sum += count.get<int>();
  EXPECT_EQ(sum, 20);
  for (const Finding& one : here) EXPECT_TRUE(one.status != Status::fail || !one.remedy.empty()) << one.name;
}

TEST_F(Doctor, ThrottlingInMidSessionIsNoticedOnce) {
  put_good_machine();
  ThrottleWatch watch(root_.string());
  EXPECT_EQ(watch.look(), 0);
  put("/sys/devices/system/cpu/cpu3/thermal_throttle/core_throttle_count", "4");
  EXPECT_EQ(watch.look(), 4);
  EXPECT_EQ(watch.look(), 0);
  EXPECT_EQ(ThrottleWatch(root_.string() + "/nowhere").look(), 0);
}

TEST_F(Doctor, FolderOnAFullOrMissingPathIsJudgedByItsParent) {
  const std::vector<Finding> deep = examine({.root = root_.string(), .out_dir = root_.string() + "/not/yet/there"});
  for (const Finding& one : deep) {
    EXPECT_TRUE(one.name != "disk" || one.found.find("GB free") != std::string::npos) << one.found;
  }
}

class InstanceLockTest : public testing::Test {
 protected:
  void SetUp() override { path_ = testing::TempDir() + "ligature-instance-" + std::to_string(getpid()); }
  void TearDown() override { fs::remove(path_); }
  std::string path_;
};

TEST_F(InstanceLockTest, SecondInstanceIsRefusedAndNamesTheFirst) {
  const Result<InstanceLock> first = InstanceLock::acquire(path_);
  ASSERT_TRUE(first) << first.error().message;
  const Result<InstanceLock> second = InstanceLock::acquire(path_);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.error().kind, Error::Kind::usage);
  EXPECT_NE(second.error().message.find("pid " + std::to_string(getpid())), std::string::npos)
      << second.error().message;
  EXPECT_EQ(InstanceLock::holder(path_), getpid());
}

TEST_F(InstanceLockTest, AnotherProcessIsRefusedToo) {
  const Result<InstanceLock> first = InstanceLock::acquire(path_);
  ASSERT_TRUE(first);
  const pid_t child = fork();
  if (child == 0) _exit(InstanceLock::acquire(path_) ? 0 : 3);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), 3);
}

TEST_F(InstanceLockTest, LockEndsWithItsOwnerAndAStaleFileLocksNobodyOut) {
  { ASSERT_TRUE(InstanceLock::acquire(path_)); }
  EXPECT_TRUE(fs::exists(path_));
  EXPECT_EQ(InstanceLock::holder(path_), 0);
  const pid_t child = fork();
  if (child == 0) {
    const Result<InstanceLock> lock = InstanceLock::acquire(path_);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(InstanceLock::acquire(path_));
}

TEST_F(InstanceLockTest, MovedLockHoldsOnceAndFileThatCannotBeMadeIsSaid) {
  Result<InstanceLock> lock = InstanceLock::acquire(path_);
  ASSERT_TRUE(lock);
  {
    const InstanceLock moved = std::move(*lock);
    EXPECT_FALSE(InstanceLock::acquire(path_));
  }
  EXPECT_TRUE(InstanceLock::acquire(path_));
  const Result<InstanceLock> nowhere = InstanceLock::acquire("/nonexistent/folder/lock");
  ASSERT_FALSE(nowhere);
  EXPECT_EQ(nowhere.error().kind, Error::Kind::unavailable);
}

}  // namespace
}  // namespace ligature::doctor
