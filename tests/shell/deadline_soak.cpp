/// Real-time threads' deadline misses in peace and while two hundred clients storm the shell of the same process, in
/// windows that take turns, so that whatever else the machine does falls on both.
///
/// LIGATURE_STORM_PAIRS and LIGATURE_STORM_WINDOW_S look longer; results in docs/soak.md.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "tests/shell/storm.hpp"

extern char** environ;

namespace ligature::shell {
namespace {

using nlohmann::json;
using std::chrono::steady_clock;
using test::Wire;

double asked(const char* name, double otherwise) {
  const char* text = std::getenv(name);
  return text != nullptr ? std::atof(text) : otherwise;
}

/// `ligature run --config` in a folder of its own.
class Appliance {
 public:
  Appliance(const std::string& shell_toml, bool fifo) {
    std::filesystem::create_directories(folder_ / "state");
    const std::string profile = fifo ? "virtual" : ordinary_profile();
    if (!shell_toml.empty()) folder_.write("state/shell.toml", shell_toml);
    std::vector<std::string> words{LIGATURE_PROGRAM, "run",       "--config",   folder_ / "state", "--socket",
                                   socket(),         "--profile", profile,      "--presenter",     "none",
                                   "--pace",         "realtime",  "--duration", "100000",          "--json"};
    std::vector<char*> argv;
    for (auto& word : words) argv.push_back(word.data());
    argv.push_back(nullptr);
    posix_spawn_file_actions_t files;
    posix_spawn_file_actions_init(&files);
    posix_spawn_file_actions_addopen(&files, 1, report().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    posix_spawn_file_actions_addopen(&files, 2, log().c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (::posix_spawn(&pid_, LIGATURE_PROGRAM, &files, nullptr, argv.data(), environ) != 0) pid_ = -1;
    posix_spawn_file_actions_destroy(&files);
  }
  ~Appliance() {
    if (pid_ > 0) (void)end();
  }
  std::string socket() const { return folder_ / "sock"; }
  std::string report() const { return folder_ / "report.json"; }
  std::string log() const { return folder_ / "log"; }
  int end() {
    ::kill(pid_, SIGTERM);
    int status = -1;
    ::waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  /// Processor time that the shell's thread has used [s]; 0 when there is none.
  double shell_s() const {
    std::error_code gone;
    for (const auto& task : std::filesystem::directory_iterator("/proc/" + std::to_string(pid_) + "/task", gone)) {
      std::string name;
      std::ifstream(task.path() / "comm") >> name;
      if (name != "shell") continue;
      double ns = 0;
      std::ifstream(task.path() / "schedstat") >> ns;
      return 1e-9 * ns;
    }
    return 0;
  }

 private:
  /// The same without a wish for real-time priorities, as a machine runs it that grants none.
  std::string ordinary_profile() const {
    std::istringstream in(config::test::slurp(config::test::kSourceDir / "config/profiles/virtual.toml"));
    std::string out;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with("priority")) continue;
      if (line.starts_with("policy")) line = "policy = \"other\"";
      if (const auto up = line.find("\"../"); up != std::string::npos)  // relative to the profile's own place
        line.replace(up + 1, 0, (config::test::kSourceDir / "config/profiles").string() + "/");
      out += line + "\n";
    }
    return folder_.write("ordinary.toml", out);
  }
  config::test::TempDir folder_;
  pid_t pid_ = -1;
};

struct Count {
  double passes = 0, misses = 0;
};
/// By thread; the four cameras as one.
using Counts = std::map<std::string, Count>;

Counts count(Wire& wire) {
  Counts counts;
  const json answer = wire.run("show watchdog");
  if (!answer.is_object() || !answer["data"].is_object()) return counts;
  for (const json& thread : answer["data"]["threads"]) {
    std::string name = thread["name"];
    if (name.starts_with("camera")) name = "cameras";
    for (Count* c : {&counts[name], &counts["all"]}) {
      c->passes += thread["passes"].get<double>();
      c->misses += thread["deadline_misses"].get<double>();
    }
  }
  return counts;
}

struct Series {
  std::vector<double> peace, storm;  ///< share of passes that missed, a window each
};
double mean(const std::vector<double>& v) {
  double sum = 0;
  for (const double x : v) sum += x;
  return v.empty() ? 0 : sum / static_cast<double>(v.size());
}

/// `restart` and `disconnect`, also shortened: they are an admin's right, and no storm.
bool ends_it(const std::string& line) {
  const auto word = line.find_first_not_of("\" \t");
  return word != std::string::npos && (line.compare(word, 2, "re") == 0 || line.compare(word, 2, "di") == 0);
}

struct Case {
  const char* name;
  const char* shell_toml;
  bool fifo;
};
void PrintTo(const Case& c, std::ostream* out) {
  *out << c.name;
}
class ShellStorm : public ::testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Limits, ShellStorm,
                         ::testing::Values(Case{"AsShipped", "", true}, Case{"AsShippedWithoutPriorities", "", false},
                                           Case{"Wide",
                                                "[limits]\nsessions = 200\nsessions_per_user = 200\n"
                                                "commands_per_s = 1e6\nconnections_per_s = 1e6\n",
                                                true}),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_P(ShellStorm, RaisesNoDeadlineMisses) {
  const int pairs = static_cast<int>(asked("LIGATURE_STORM_PAIRS", 12));
  const double window_s = asked("LIGATURE_STORM_WINDOW_S", 8);
  Appliance appliance(GetParam().shell_toml, GetParam().fifo);
  std::optional<Wire> control;
  for (int i = 0; i < 600; ++i, ::usleep(100000)) {
    control.emplace(appliance.socket());
    if (control->connected() && control->frame_of("hello").is_object() && !count(*control).empty()) break;
  }
  const auto slurp = [](const std::string& file) {
    std::stringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  ASSERT_FALSE(count(*control).empty()) << slurp(appliance.log());

  std::map<std::string, Series> series;
  double shell_peace_s = 0, shell_storm_s = 0;
  std::uint64_t connections = 0;
  for (int w = 0; w < 2 * pairs; ++w) {
    const bool stormy = w % 4 == 1 || w % 4 == 2;  // peace, storm, storm, peace: a drift falls on both
    std::atomic<bool> over{false};
    std::thread clients;
    if (stormy)
      clients = std::thread([&] {
        connections += test::storm(
            appliance.socket(), static_cast<std::uint64_t>(w), 200, [&](int) { return !over; }, ends_it);
      });
    ::usleep(stormy ? 500000 : 1500000);  // they are all there; those of the window before are all gone
    const Counts before = count(*control);
    const double shell_before_s = appliance.shell_s();
    std::this_thread::sleep_for(std::chrono::duration<double>(window_s));
    const Counts after = count(*control);
    (stormy ? shell_storm_s : shell_peace_s) += appliance.shell_s() - shell_before_s;
    over = true;
    if (clients.joinable()) clients.join();
    ASSERT_FALSE(before.empty() || after.empty()) << slurp(appliance.log());
    for (const auto& [name, last] : after) {
      const Count first = before.at(name);
      const double share = (last.misses - first.misses) / std::max(1.0, last.passes - first.passes);
      (stormy ? series[name].storm : series[name].peace).push_back(share);
    }
  }
  std::printf(
      "%d windows of %g s each, %llu connections; the shell's thread used %.1f %% of a core in peace, %.1f %% in the "
      "storm\n",
      pairs, window_s, static_cast<unsigned long long>(connections), 100 * shell_peace_s / (pairs * window_s),
      100 * shell_storm_s / (pairs * window_s));
  std::printf("%-9s %12s %12s %8s %20s\n", "thread", "missed peace", "missed storm", "ratio", "difference, +- error");
  for (const auto& [name, s] : series) {
    std::vector<double> differences;
    for (std::size_t i = 0; i < s.peace.size() && i < s.storm.size(); ++i)
      differences.push_back(s.storm[i] - s.peace[i]);
    const double peace = mean(s.peace), storm = mean(s.storm), difference = mean(differences);
    double variance = 0;
    for (const double d : differences) variance += (d - difference) * (d - difference);
    const auto n = static_cast<double>(differences.size());
    const double error = n > 1 ? std::sqrt(variance / (n - 1) / n) : 0;
    std::printf("%-9s %10.3f %% %10.3f %% %8.2f %9.3f +- %.3f %%\n", name.c_str(), 100 * peace, 100 * storm,
                peace > 0 ? storm / peace : 1.0, 100 * difference, 100 * error);
    // A tenth more, and surely so, would be the shell's doing; less is what the machine does beside.
    EXPECT_LT(difference - 3 * error, 0.1 * peace + 1e-3) << name;
  }
  control.reset();
  const int code = appliance.end();
  EXPECT_TRUE(code == 0 || code == 1) << slurp(appliance.log());
  const json report = json::parse(slurp(appliance.report()), nullptr, false);
  ASSERT_TRUE(report.is_object()) << slurp(appliance.log());
  EXPECT_EQ(report["records_lost"], 0) << "the service thread did not come to its rings";
  for (const json& thread : report["threads"])
    if (!thread["granted"].get<bool>()) {
      std::printf("%s was not granted: %s\n", thread["name"].get<std::string>().c_str(),
                  thread.value("not_granted", "").c_str());
      break;
    }
}

}  // namespace
}  // namespace ligature::shell
