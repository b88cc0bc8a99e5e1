#include "appliance/doctor/doctor.hpp"

#include <sys/statvfs.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <sstream>

#include "appliance/doctor/instance_lock.hpp"

namespace ligature::doctor {
namespace {

namespace fs = std::filesystem;

/// The files of a machine, this one's or a picture of another's.
class Machine {
 public:
  explicit Machine(std::string root) : root_(std::move(root)) {}
  std::string path(const std::string& file) const { return root_ + file; }
  bool exists(const std::string& file) const {
    std::error_code error;
    return fs::exists(path(file), error);
  }
  bool writable(const std::string& file) const { return access(path(file).c_str(), R_OK | W_OK) == 0; }
  /// Whole file without trailing white space; nothing when it cannot be read.
  std::optional<std::string> read(const std::string& file) const {
    std::ifstream stream(path(file));
    if (!stream) return std::nullopt;
    std::ostringstream text;
    text << stream.rdbuf();
    std::string content = text.str();
    content.erase(content.find_last_not_of(" \t\n") + 1);
    return content;
  }
  std::optional<long long> number(const std::string& file) const {
    const auto text = read(file);
    if (!text || text->empty()) return std::nullopt;
    char* end = nullptr;
    const long long value = std::strtoll(text->c_str(), &end, 10);
    return end == text->c_str() ? std::nullopt : std::optional(value);
  }
  /// Names in a folder that begin with the prefix, in natural order (cpu2 before cpu10).
  std::vector<std::string> list(const std::string& folder, const std::string& prefix = "") const {
    std::vector<std::string> names;
    std::error_code error;
    for (fs::directory_iterator at(path(folder), error), end; !error && at != end; at.increment(error)) {
      std::string name = at->path().filename().string();
      if (name.rfind(prefix, 0) == 0) names.push_back(std::move(name));
    }
    std::sort(names.begin(), names.end(), [](const std::string& a, const std::string& b) {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    });
    return names;
  }
  /// cpu0, cpu1, ... without cpufreq, cpuidle.
  std::vector<std::string> cores() const {
    std::vector<std::string> names = list("/sys/devices/system/cpu", "cpu");
    std::erase_if(names, [](const std::string& name) {
      return name.size() < 4 || name.find_first_not_of("0123456789", 3) != std::string::npos;
    });
    return names;
  }

 private:
  std::string root_;
};

constexpr const char* kCpu = "/sys/devices/system/cpu/";
constexpr const char* kBootLine = "add to GRUB_CMDLINE_LINUX in /etc/default/grub, then update-grub and reboot: ";

std::string join(const std::vector<std::string>& items, const char* between = ", ") {
  std::string text;
  for (const std::string& item : items) text += (text.empty() ? "" : between) + item;
  return text;
}

std::string boot(const std::string& words) {
  return kBootLine + words;
}

/// Value of a limit in /proc/self/limits; -1 = unlimited, nothing = not there.
std::optional<long long> soft_limit(const Machine& machine, const std::string& name) {
  std::istringstream limits(machine.read("/proc/self/limits").value_or(""));
  for (std::string line; std::getline(limits, line);) {
    if (line.rfind(name, 0) != 0) continue;
    std::istringstream fields(line.substr(name.size()));
    std::string soft;
    fields >> soft;
    return soft == "unlimited" ? -1 : std::strtoll(soft.c_str(), nullptr, 10);
  }
  return std::nullopt;
}

bool capability(const Machine& machine, unsigned bit) {
  std::istringstream status(machine.read("/proc/self/status").value_or(""));
  for (std::string line; std::getline(status, line);)
    if (line.rfind("CapEff:", 0) == 0) return ((std::strtoull(line.c_str() + 7, nullptr, 16) >> bit) & 1u) != 0;
  return false;
}

Finding examine_kernel(const Machine& machine) {
  const std::string release = machine.read("/proc/sys/kernel/osrelease").value_or("unknown");
  const std::string version = machine.read("/proc/version").value_or("");
  if (machine.number("/sys/kernel/realtime") == 1 || version.find("PREEMPT_RT") != std::string::npos)
    return {"kernel", Status::ok, release + ", PREEMPT_RT", "", ""};
  return {"kernel", Status::warn, release + ", not PREEMPT_RT",
          "the kernel may hold a real-time thread up for milliseconds",
          "apt-get install linux-image-rt-amd64, then reboot"};
}

Finding examine_cpu(const Machine& machine) {
  const std::string info = machine.read("/proc/cpuinfo").value_or("");
  const auto flags = info.find("\nflags");
  const std::string line =
      flags == std::string::npos ? "" : info.substr(flags, info.find('\n', flags + 1) - flags) + " ";
  std::vector<std::string> missing;
  for (const char* flag : {"avx2", "fma", "bmi2"})
    if (line.find(std::string(" ") + flag + " ") == std::string::npos) missing.push_back(flag);
  if (line.empty())
    return {"cpu", Status::note, "instruction set not visible", "the build needs AVX2, FMA and BMI2 (x86-64-v3)",
            "grep -m1 flags /proc/cpuinfo"};
  if (missing.empty()) return {"cpu", Status::ok, "x86-64-v3 (AVX2, FMA, BMI2)", "", ""};
  return {"cpu", Status::fail, "lacks " + join(missing),
          "the build is for x86-64-v3 and stops at its first such instruction", "build with -DLIGATURE_ARCH=x86-64"};
}

Finding examine_cores(const Machine& machine) {
  const std::size_t cores = machine.cores().size();
  const std::string found = std::to_string(cores) + (cores == 1 ? " core" : " cores");
  if (cores >= 4) return {"cores", Status::ok, found, "", ""};
  return {"cores", cores == 0 ? Status::note : Status::warn, found,
          "physics, render and four cameras share them: expect missed deadlines",
          "use a machine with four cores or more, or fewer cameras in the profile"};
}

Finding examine_governor(const Machine& machine) {
  std::vector<std::string> slow;
  std::size_t seen = 0;
  for (const std::string& core : machine.cores()) {
    const auto governor = machine.read(kCpu + core + "/cpufreq/scaling_governor");
    if (!governor) continue;
    ++seen;
    if (*governor != "performance") slow.push_back(core + " " + *governor);
  }
  if (seen == 0)
    return {"governor", Status::note, "no frequency control visible", "a virtual machine's host decides", ""};
  if (slow.empty()) return {"governor", Status::ok, "performance on all cores", "", ""};
  return {"governor", Status::warn, join(slow), "a core that was idle computes slowly at first",
          "for f in /sys/devices/system/cpu/cpu*/cpufreq/scaling_governor; do echo performance > $f; done"};
}

Finding examine_isolated(const Machine& machine) {
  const auto isolated = machine.read(std::string(kCpu) + "isolated");
  if (isolated && !isolated->empty()) return {"isolated cores", Status::ok, *isolated, "", ""};
  const std::size_t cores = machine.cores().size();
  const std::string list = cores > 2 ? "1-" + std::to_string(cores - 1) : "1";
  return {"isolated cores", cores > 1 ? Status::warn : Status::note, "none",
          "other programs run on the cores of physics and render",
          boot("isolcpus=managed_irq,domain," + list + " nohz_full=" + list + " rcu_nocbs=" + list)};
}

Finding examine_tick(const Machine& machine) {
  const auto tickless = machine.read(std::string(kCpu) + "nohz_full");
  if (tickless && !tickless->empty() && *tickless != "(null)") return {"tickless cores", Status::ok, *tickless, "", ""};
  return {"tickless cores", Status::note, "none", "the timer tick interrupts physics up to 1000 times a second",
          boot("nohz_full=<the isolated cores>")};
}

Finding examine_smt(const Machine& machine) {
  const auto active = machine.number(std::string(kCpu) + "smt/active");
  if (!active) return {"smt", Status::note, "not visible", "", ""};
  if (*active == 0) return {"smt", Status::ok, "off", "", ""};
  return {"smt", Status::warn, "on", "the sibling of a core takes half of it at any time",
          "echo off > /sys/devices/system/cpu/smt/control, for good: " + boot("nosmt")};
}

Finding examine_idle(const Machine& machine) {
  constexpr long long kTooLongUs = 50;
  std::vector<std::string> deep;
  bool seen = false;
  for (const std::string& core : machine.cores()) {
    const std::string folder = kCpu + core + "/cpuidle";
    for (const std::string& state : machine.list(folder, "state")) {
      seen = true;
      const auto latency = machine.number(folder + "/" + state + "/latency");
      if (latency.value_or(0) <= kTooLongUs || machine.number(folder + "/" + state + "/disable").value_or(0) != 0)
        continue;
      const std::string name =
          machine.read(folder + "/" + state + "/name").value_or(state) + " (" + std::to_string(*latency) + " us)";
      if (std::find(deep.begin(), deep.end(), name) == deep.end()) deep.push_back(name);
    }
  }
  if (!seen) return {"idle states", Status::note, "none visible", "a virtual machine's host decides", ""};
  if (deep.empty()) return {"idle states", Status::ok, "none slower to leave than 50 us", "", ""};
  if (machine.writable("/dev/cpu_dma_latency"))
    return {"idle states", Status::note, join(deep),
            "a sleeping core wakes that late; while it runs, ligature holds them off through /dev/cpu_dma_latency", ""};
  return {"idle states", Status::warn, join(deep),
          "a sleeping core wakes that late, and /dev/cpu_dma_latency is not ours to hold",
          "chgrp ligature /dev/cpu_dma_latency && chmod g+rw /dev/cpu_dma_latency (a udev rule makes it last)"};
}

Finding examine_throttling(const Machine& machine) {
  long long events = 0;
  std::vector<std::string> capped;
  bool seen = false;
  for (const std::string& core : machine.cores()) {
    const std::string folder = kCpu + core;
    for (const char* counter : {"/thermal_throttle/core_throttle_count", "/thermal_throttle/package_throttle_count"})
      if (const auto count = machine.number(folder + counter)) {
        seen = true;
        events = std::max(events, *count);
      }
    const auto now = machine.number(folder + "/cpufreq/scaling_max_freq"),
               able = machine.number(folder + "/cpufreq/cpuinfo_max_freq");
    if (now && able) {
      seen = true;
      if (*now < *able)
        capped.push_back(core + " at " + std::to_string(*now / 1000) + " of " + std::to_string(*able / 1000) + " MHz");
    }
  }
  if (!seen) return {"throttling", Status::note, "not visible", "a virtual machine's host decides", ""};
  if (!capped.empty())
    return {"throttling", Status::warn, "capped: " + join(capped), "the processor is not allowed its full speed",
            "for c in /sys/devices/system/cpu/cpu*/cpufreq; do cat $c/cpuinfo_max_freq > $c/scaling_max_freq; done"};
  if (events > 0)
    return {"throttling", Status::warn, std::to_string(events) + " times since boot, for heat",
            "a hot processor halves its speed in mid session", "clean the fan and the air inlets of the rig"};
  return {"throttling", Status::ok, "never since boot", "", ""};
}

Finding examine_clock(const Machine& machine) {
  const auto source = machine.read("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  if (!source) return {"clock source", Status::note, "not visible", "", ""};
  if (*source == "tsc" || *source == "kvm-clock" || *source == "hyperv_clocksource_tsc_page" ||
      *source == "arch_sys_counter")
    return {"clock source", Status::ok, *source, "", ""};
  return {"clock source", Status::warn, *source,
          "reading the time costs a microsecond and more, on every stage of every frame",
          boot("clocksource=tsc tsc=reliable")};
}

Finding examine_priority(const Machine& machine) {
  constexpr unsigned kCapSysNice = 23;
  const auto limit = soft_limit(machine, "Max realtime priority");
  if (capability(machine, kCapSysNice)) return {"real-time priority", Status::ok, "allowed by privilege", "", ""};
  if (limit && (*limit < 0 || *limit >= 90))
    return {"real-time priority", Status::ok, *limit < 0 ? "unlimited" : "up to " + std::to_string(*limit), "", ""};
  return {"real-time priority", Status::fail, limit ? "up to " + std::to_string(*limit) : "limit not visible",
          "SCHED_FIFO is refused with EPERM: threads run, but anything may hold them up",
          "LimitRTPRIO=99 in the unit, or '@ligature - rtprio 99' in /etc/security/limits.d/ligature.conf"};
}

Finding examine_memory_lock(const Machine& machine) {
  constexpr unsigned kCapIpcLock = 14;
  const auto limit = soft_limit(machine, "Max locked memory");
  if (capability(machine, kCapIpcLock)) return {"locked memory", Status::ok, "allowed by privilege", "", ""};
  if (limit && *limit < 0) return {"locked memory", Status::ok, "unlimited", "", ""};
  return {
      "locked memory", Status::fail, limit ? std::to_string(*limit >> 20) + " MiB" : "limit not visible",
      "memory cannot be locked: a page fault may stop any thread for milliseconds",
      "LimitMEMLOCK=infinity in the unit, or '@ligature - memlock unlimited' in /etc/security/limits.d/ligature.conf"};
}

Finding examine_rt_throttling(const Machine& machine) {
  const auto runtime = machine.number("/proc/sys/kernel/sched_rt_runtime_us");
  const auto period = machine.number("/proc/sys/kernel/sched_rt_period_us");
  if (!runtime) return {"real-time share", Status::note, "not visible", "", ""};
  if (*runtime < 0) return {"real-time share", Status::ok, "not limited", "", ""};
  return {"real-time share", Status::warn,
          std::to_string(*runtime) + " us of every " + std::to_string(period.value_or(1'000'000)) + " us",
          "a busy real-time thread is stopped for the rest of the period, whatever its priority",
          "sysctl -w kernel.sched_rt_runtime_us=-1 (in /etc/sysctl.d/ligature.conf to last)"};
}

Finding examine_swap(const Machine& machine) {
  std::istringstream swaps(machine.read("/proc/swaps").value_or(""));
  std::vector<std::string> areas;
  std::string line;
  std::getline(swaps, line);
  while (std::getline(swaps, line))
    if (const std::string area = line.substr(0, line.find_first_of(" \t")); !area.empty()) areas.push_back(area);
  if (areas.empty()) return {"swap", Status::ok, "off", "", ""};
  return {"swap", Status::warn, join(areas), "whatever is not locked may have to come back from the disk",
          "swapoff -a, and take the line out of /etc/fstab"};
}

Finding examine_huge_pages(const Machine& machine) {
  const auto mode = machine.read("/sys/kernel/mm/transparent_hugepage/enabled");
  if (!mode) return {"huge pages", Status::note, "not visible", "", ""};
  const auto open = mode->find('['), close = mode->find(']');
  const std::string chosen = open != std::string::npos && close != std::string::npos && open < close
                                 ? mode->substr(open + 1, close - open - 1)
                                 : *mode;
  if (chosen != "always") return {"huge pages", Status::ok, chosen, "", ""};
  return {"huge pages", Status::warn, "always", "the kernel may stop a thread to put its pages together",
          "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled"};
}

Finding examine_gpu(const Machine& machine) {
  std::vector<std::string> drivers;
  bool software = false;
  for (const char* folder : {"/usr/share/vulkan/icd.d", "/etc/vulkan/icd.d"})
    for (const std::string& file : machine.list(folder)) {
      if (!file.ends_with(".json")) continue;
      drivers.push_back(file.substr(0, file.find("_icd")));
      software = software || file.rfind("lvp", 0) == 0;
    }
  const std::vector<std::string> devices = machine.list("/dev/dri", "renderD");
  const bool nvidia = machine.exists("/dev/nvidiactl");
  std::vector<std::string> nodes = devices;
  if (nvidia) nodes.push_back("nvidiactl");
  if (drivers.empty())
    return {"graphics", Status::fail, "no Vulkan driver", "the picture cannot be drawn",
            "apt-get install mesa-vulkan-drivers"};
  if (nodes.empty())
    return {"graphics", software ? Status::warn : Status::fail, std::string("no GPU, Vulkan drivers: ") + join(drivers),
            software ? "the picture is drawn by the processor: about 60 ms a frame"
                     : "no driver fits: there is no GPU and no software driver",
            software ? "fit a GPU, or choose a smaller picture in the profile" : "apt-get install mesa-vulkan-drivers"};
  for (const std::string& device : devices)
    if (!machine.writable("/dev/dri/" + device))
      return {"graphics", Status::warn, "/dev/dri/" + device + " may not be opened",
              "the picture is drawn by the processor", "usermod -aG render,video ligature"};
  return {"graphics", Status::ok, join(nodes) + ", Vulkan drivers: " + join(drivers), "", ""};
}

Finding examine_cameras(const Machine& machine, int wanted) {
  std::vector<std::string> cameras, locked;
  for (const std::string& node : machine.list("/dev", "video")) {
    if (node.find_first_not_of("0123456789", 5) != std::string::npos) continue;
    // A camera has several nodes; index 0 is the one that gives images.
    if (machine.number("/sys/class/video4linux/" + node + "/index").value_or(0) != 0) continue;
    cameras.push_back("/dev/" + node + " " +
                      machine.read("/sys/class/video4linux/" + node + "/name").value_or("(no name)"));
    if (!machine.writable("/dev/" + node)) locked.push_back("/dev/" + node);
  }
  if (!locked.empty())
    return {"cameras", Status::warn, join(cameras), join(locked) + " may not be opened", "usermod -aG video ligature"};
  if (static_cast<int>(cameras.size()) >= wanted) return {"cameras", Status::ok, join(cameras), "", ""};
  if (cameras.empty())
    return {"cameras", Status::note, "none",
            "recordings and the virtual rig play without; the rig itself wants " + std::to_string(wanted),
            "plug the cameras in and look at 'dmesg | grep -i video'"};
  return {"cameras", Status::warn,
          std::to_string(cameras.size()) + " of " + std::to_string(wanted) + ": " + join(cameras),
          "tracking goes on with two, less exactly", "plug the missing cameras in and look at 'dmesg | grep -i video'"};
}

Finding examine_systemd(const Machine& machine) {
  if (machine.exists("/run/systemd/system")) return {"systemd", Status::ok, "running", "", ""};
  return {"systemd", Status::note, "not running", "nobody starts the appliance at power-on or again after a fault",
          "install systemd-sysv, or run under a supervisor of your own"};
}

Finding examine_disk(const std::string& folder) {
  std::error_code error;
  // The folder may not be there yet: its nearest parent says on which disk it will be.
  fs::path at = fs::absolute(folder, error);
  while (!error && !fs::exists(at, error) && at.has_relative_path()) at = at.parent_path();
  struct statvfs disk {};
  if (statvfs(at.c_str(), &disk) != 0)
    return {"disk", Status::fail, folder + " cannot be looked at", "sessions cannot be written", "mkdir -p " + folder};
  const double gb = static_cast<double>(disk.f_bavail) * static_cast<double>(disk.f_frsize) / 1e9;
  char found[256];
  std::snprintf(found, sizeof found, "%.1f GB free for %s", gb, folder.c_str());
  if (access(at.c_str(), W_OK) != 0)
    return {"disk", Status::fail, folder + " is not writable", "sessions cannot be written",
            "chown ligature " + at.string()};
  if (gb < 0.2)
    return {"disk", Status::fail, found, "a session does not fit", "delete old sessions or choose another --out"};
  if (gb < 5)
    return {"disk", Status::warn, found, "recording stops when it is full",
            "delete old sessions or choose another --out"};
  return {"disk", Status::ok, found, "", ""};
}

Finding examine_instance(const std::string& lock_file) {
  const long pid = InstanceLock::holder(lock_file);
  if (pid == 0) return {"instance", Status::ok, "no other ligature runs", "", ""};
  return {"instance", Status::note, pid > 0 ? "ligature runs, pid " + std::to_string(pid) : "ligature runs",
          "a second one refuses to start", "systemctl stop ligature"};
}

}  // namespace

const char* name_of(Status status) {
  constexpr std::array names = {"ok", "note", "warn", "fail"};
  return names[static_cast<std::size_t>(status)];
}

std::vector<Finding> examine(const ExamineSettings& settings) {
  const Machine machine(settings.root);
  return {
      examine_cpu(machine),
      examine_cores(machine),
      examine_kernel(machine),
      examine_priority(machine),
      examine_memory_lock(machine),
      examine_rt_throttling(machine),
      examine_governor(machine),
      examine_isolated(machine),
      examine_tick(machine),
      examine_smt(machine),
      examine_idle(machine),
      examine_throttling(machine),
      examine_clock(machine),
      examine_swap(machine),
      examine_huge_pages(machine),
      examine_gpu(machine),
      examine_cameras(machine, settings.cameras_wanted),
      examine_systemd(machine),
      examine_disk(settings.out_dir),
      examine_instance(settings.lock_file.empty() ? InstanceLock::default_path() : settings.lock_file),
  };
}

bool fit(const std::vector<Finding>& findings) {
  return std::none_of(findings.begin(), findings.end(), [](const Finding& f) { return f.status == Status::fail; });
}

std::string table(const std::vector<Finding>& findings) {
  std::size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  std::string text;
  for (const Finding& finding : findings) {
    const std::string status = name_of(finding.status);
    text += status + std::string(6 - status.size(), ' ') + finding.name +
            std::string(width + 2 - finding.name.size(), ' ') + finding.found + "\n";
    const std::string indent(width + 8, ' ');
    if (finding.status == Status::ok) continue;
    if (!finding.why.empty()) text += indent + finding.why + "\n";
    if (!finding.remedy.empty()) text += indent + "-> " + finding.remedy + "\n";
  }
  return text;
}

nlohmann::json report(const std::vector<Finding>& findings) {
  nlohmann::json counts = {{"ok", 0}, {"note", 0}, {"warn", 0}, {"fail", 0}};
  nlohmann::json list = nlohmann::json::array();
  for (const Finding& finding : findings) {
    counts[name_of(finding.status)] = counts[name_of(finding.status)].get<int>() + 1;
    list.push_back({{"name", finding.name},
                    {"status", name_of(finding.status)},
                    {"found", finding.found},
                    {"why", finding.why},
                    {"remedy", finding.remedy}});
  }
  return {{"fit", fit(findings)}, {"counts", std::move(counts)}, {"findings", std::move(list)}};
}

long long ThrottleWatch::look() {
  const Machine machine(root_);
  long long total = 0;
  for (const std::string& core : machine.cores())
    total += machine.number(kCpu + core + "/thermal_throttle/core_throttle_count").value_or(0);
  const long long before = std::exchange(seen_, total);
  return before < 0 || total < before ? 0 : total - before;
}

}  // namespace ligature::doctor
