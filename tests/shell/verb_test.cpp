/// `ligature shell` as a technician and a script meet it: the program, at a prompt and without one.
#include <fcntl.h>
#include <grp.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <pty.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/config/temp_dir.hpp"

namespace ligature::shell {
namespace {

using nlohmann::json;
using Words = std::vector<std::string>;

struct Said {
  int code = -1;
  std::string out, err;
};

pid_t start(const Words& words, int in, int out, int err, const std::function<void()>& before = {}) {
  const pid_t pid = ::fork();
  if (pid != 0) return pid;
  ::dup2(in, 0), ::dup2(out, 1), ::dup2(err, 2);
  if (before) before();
  std::vector<char*> argv{const_cast<char*>(LIGATURE_PROGRAM)};
  for (const auto& word : words) argv.push_back(const_cast<char*>(word.c_str()));
  argv.push_back(nullptr);
  ::execv(LIGATURE_PROGRAM, argv.data());
  ::_exit(127);
}

int wait_for(pid_t pid) {
  int status = -1;
  ::waitpid(pid, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

long lines(const std::string& text) {
  return std::count(text.begin(), text.end(), '\n');
}

/// A server on a configuration of its own, and clients of it.
class ShellVerb : public ::testing::Test {
 protected:
  void SetUp() override {
    ::chmod(folder_.path().c_str(), 0755);  // others may come as far as the socket
    // Groups that every Debian has.
    folder_.write("state/shell.toml", "[groups]\nviewer = \"games\"\nservice = \"tape\"\nadmin = \"sudo\"\n");
    server_ = serve({"shell", "--serve", "--config", state(), "--socket", socket(), "--profile", "virtual"});
  }
  void TearDown() override { end_server(); }

  pid_t serve(const Words& words) {
    const int log = ::open((folder_ / "server.log").c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    const pid_t pid = start(words, log, log, log);
    ::close(log);
    for (int i = 0; i < 600 && shell({"-c", "show version"}).code != 0; ++i) ::usleep(50000);
    return pid;
  }
  void end_server() {
    if (server_ <= 0) return;
    ::kill(server_, SIGTERM);
    (void)wait_for(std::exchange(server_, -1));
  }

  Said shell(Words words, const std::function<void()>& before = {}, const std::string& input = "") {
    words.insert(words.begin(), {"shell", "--socket", socket()});
    const auto in = folder_.write("in", input);
    const auto out = folder_.write("out", ""), err = folder_.write("err", "");
    const std::array<int, 3> files{::open(in.c_str(), O_RDONLY | O_CLOEXEC), ::open(out.c_str(), O_RDWR | O_CLOEXEC),
                                   ::open(err.c_str(), O_RDWR | O_CLOEXEC)};
    Said said;
    said.code = wait_for(start(words, files[0], files[1], files[2], before));
    for (const int file : files) ::close(file);
    said.out = config::test::slurp(out), said.err = config::test::slurp(err);
    return said;
  }
  std::string state() const { return folder_ / "state"; }
  std::string socket() const { return folder_ / "sock"; }

  config::test::TempDir folder_;
  pid_t server_ = -1;
};

/// The same of a session that runs.
class ShellVerbRun : public ShellVerb {
 protected:
  void SetUp() override {
    server_ = serve({"run", "--config", state(), "--socket", socket(), "--profile", "virtual", "--presenter", "none",
                     "--duration", "3000"});
    EXPECT_TRUE(answers("show tracking", "tracked "));
  }
  /// Asks until the answer holds these words.
  testing::AssertionResult answers(const std::string& command, const std::string& words) {
    Said said;
    for (int i = 0; i < 600; ++i, ::usleep(50000))
      if (said = shell({"-c", command}); said.code == 0 && said.out.find(words) != std::string::npos)
        return testing::AssertionSuccess();
    return testing::AssertionFailure() << command << ": " << said.out << said.err
                                       << config::test::slurp(folder_ / "server.log");
  }
  std::vector<std::string> sessions() const {
    std::vector<std::string> out;
    for (const auto& entry : std::filesystem::directory_iterator(state() + "/sessions"))
      out.push_back(entry.path().filename());
    std::sort(out.begin(), out.end());
    return out;
  }
};

TEST_F(ShellVerbRun, ARunningSessionIsLookedAtChangedExportedAndStartedAgain) {
  const json answers_of =
      json::parse(shell({"--json", "-c", "show cameras", "-c", "show tracking", "-c", "show watchdog"}).out);
  EXPECT_EQ(answers_of["answers"][0]["data"].size(), 4u);
  EXPECT_EQ(answers_of["answers"][0]["data"][0]["state"], "images");
  EXPECT_EQ(answers_of["answers"][0]["data"][0]["device"], nullptr) << "the virtual rig is none";
  EXPECT_EQ(answers_of["answers"][1]["data"].size(), 2u);
  EXPECT_EQ(answers_of["answers"][2]["data"]["threads"].size(), 7u);

  EXPECT_NE(shell({"-c", "show exercise"}).out.find("the scene has no exercise"), std::string::npos);
  EXPECT_EQ(shell({"-c", "exercise pause"}).code, 0);
  EXPECT_TRUE(answers("show log", "control: pause"));
  EXPECT_EQ(shell({"-c", "exercise start"}).code, 0);
  EXPECT_TRUE(answers("show log", "control: start"));

  const Said live = shell(
      {"-c", "set profile microscope field_of_view_mm 30", "-c", "set profile title \"of a test\"", "-c", "commit"});
  EXPECT_EQ(live.code, 0) << live.err;
  EXPECT_NE(live.out.find("in effect now: profile title, profile microscope.field_of_view_mm"), std::string::npos)
      << live.out;
  EXPECT_TRUE(answers("show log", "settings changed by a commit"));

  const std::string first = sessions().at(0);
  EXPECT_EQ(shell({"-c", "export session"}).code, 0);
  EXPECT_TRUE(answers("show job 1", "done")) << "though its files grow meanwhile";
  EXPECT_TRUE(answers("show exports", first + ".tar.gz"));
  const std::string list = "tar tzf " + state() + "/exports/" + first + ".tar.gz | grep -q samples.csv";
  EXPECT_EQ(std::system(list.c_str()), 0);

  // A camera source without cameras is refused before it can end the session.
  const Said source = shell({"-c", "set profile cameras source v4l2", "-c", "commit"});
  EXPECT_EQ(source.code, 2);
  EXPECT_NE(source.err.find("key 'cameras.device' is missing for C0"), std::string::npos) << source.err;
  EXPECT_EQ(shell({"-c", "discard", "-c", "set profile output keep_sessions 2", "-c", "commit"}).code, 0);
  for (int i = 0; i < 3; ++i) {
    const Said said = shell({"-c", "restart"});
    EXPECT_EQ(said.code, 0) << said.err;
    EXPECT_NE(said.out.find("a session runs for "), std::string::npos) << said.out;
    EXPECT_NE(said.out.find(" s, from commit 3"), std::string::npos) << said.out;
  }
  EXPECT_EQ(sessions().size(), 2u);
  EXPECT_EQ(json::parse(config::test::slurp(state() + "/sessions/" + sessions().front() + "/report.json"))["title"],
            "of a test");
  EXPECT_NE(sessions().front(), first) << "the oldest went";
  EXPECT_TRUE(answers("show log 200", "1 old session removed"));
  ::kill(server_, SIGTERM);
  EXPECT_EQ(wait_for(std::exchange(server_, -1)), 0);
  EXPECT_NE(
      config::test::slurp(state() + "/sessions/" + sessions().back() + "/report.json").find("old session removed"),
      std::string::npos);
}

TEST_F(ShellVerb, CommandsAreAnsweredOnStandardOutput) {
  const Said version = shell({"-c", "show version"});
  EXPECT_EQ(version.code, 0);
  EXPECT_NE(version.out.find("commit"), std::string::npos);
  EXPECT_EQ(version.err, "");
  const Said two =
      shell({"-c", "set profile title \"of a test\"", "-c", "commit comment from a script", "-c", "sh hist"});
  EXPECT_EQ(two.code, 0) << two.err;
  EXPECT_NE(two.out.find("from a script"), std::string::npos) << two.out;
  EXPECT_EQ(shell({"-c", "show cameras"}).out.substr(0, 15), "no session runs");
}

TEST_F(ShellVerb, AFileStopsAtItsFirstMistakeAndNamesTheLine) {
  const auto file = folder_.write("changes",
                                  "# a comment\n\nset profile title one\nset profile title two\nset profile "
                                  "tracking prediction_ms 5000\ncommit\n");
  const Said said = shell({"-f", file.string()});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(lines(said.err), 1) << said.err;
  EXPECT_TRUE(said.err.starts_with(file.string() + ":5: ")) << said.err;
  EXPECT_NE(said.err.find("must be 0..2000"), std::string::npos) << said.err;
  const json status = json::parse(shell({"--json", "-c", "show status"}).out);
  EXPECT_EQ(status["answers"][0]["data"]["commit"], 1) << "nothing was committed";
  EXPECT_EQ(shell({"-f", "/nowhere"}).code, 2);
  EXPECT_EQ(shell({}, {}, "show version\n").code, 0) << "from standard input";
  const Said piped = shell({}, {}, "show version\nnonsense\n");
  EXPECT_EQ(piped.code, 2);
  EXPECT_TRUE(piped.err.starts_with("standard input:2: ")) << piped.err;
}

TEST_F(ShellVerb, JsonIsOneObjectWithAllAnswers) {
  const Said said = shell({"--json", "-c", "show configuration profile tracking", "-c", "show tracking live", "-c",
                           "nonsense", "-c", "show version"});
  EXPECT_EQ(said.code, 2);
  const json object = json::parse(said.out, nullptr, false);
  ASSERT_TRUE(object.is_object()) << said.out;
  ASSERT_EQ(object["answers"].size(), 3u) << "up to the first that is not ok";
  EXPECT_EQ(object["answers"][0]["data"]["tracking prediction_ms"], "150.0") << object["answers"][0];
  EXPECT_EQ(object["answers"][1]["status"], "ok");
  EXPECT_EQ(object["answers"][2]["status"], "error");
  EXPECT_EQ(lines(said.err), 1) << said.err;
}

TEST_F(ShellVerb, RefusalsAreExitOneMistakesExitTwo) {
  EXPECT_EQ(shell({"-c", "restart"}).code, 1) << "right, but no session is ever started here";
  EXPECT_EQ(shell({"-c", "commit"}).code, 2) << "nothing differs";
  EXPECT_EQ(shell({"-c", "set profile nonsense 1"}).code, 2);
  EXPECT_EQ(shell({"-c", "job watch 7"}).code, 2);
  EXPECT_EQ(shell({"-c", "export session"}).code, 2);
  EXPECT_EQ(shell({"--bogus"}).code, 2);
}

TEST_F(ShellVerb, WhereNobodyListensOneLineSaysSo) {
  end_server();
  const Said said = shell({"-c", "show version"});
  EXPECT_EQ(said.code, 2);
  EXPECT_EQ(said.out, "");
  EXPECT_EQ(lines(said.err), 1) << said.err;
  EXPECT_NE(said.err.find("no ligature listens there"), std::string::npos) << said.err;
  EXPECT_NE(said.err.find("ligature run --config"), std::string::npos) << said.err;
}

TEST_F(ShellVerb, TheKernelSaysWhoAsks) {
  if (::geteuid() != 0) GTEST_SKIP() << "only root can be somebody else";
  const auto as = [](const char* group) {
    return [group] {
      const ::group* entry = group != nullptr ? ::getgrnam(group) : nullptr;
      const gid_t extra = entry != nullptr ? entry->gr_gid : 65534;
      if (::setgroups(1, &extra) != 0 || ::setgid(65534) != 0 || ::setuid(65534) != 0) ::_exit(126);
    };
  };
  const Said outsider = shell({"-c", "show version"}, as(nullptr));
  EXPECT_EQ(outsider.code, 2);
  EXPECT_EQ(lines(outsider.err), 1) << outsider.err;
  EXPECT_NE(outsider.err.find("in none of the groups"), std::string::npos) << outsider.err;
  EXPECT_EQ(shell({"-c", "show version"}, as("games")).code, 0);
  const Said viewer = shell({"-c", "set profile title mine"}, as("games"));
  EXPECT_EQ(viewer.code, 1);
  EXPECT_NE(viewer.err.find("needs the role service, yours is viewer"), std::string::npos) << viewer.err;
  EXPECT_EQ(shell({"-c", "set profile title ours"}, as("tape")).code, 0);
  const Said service = shell({"-c", "set profile memory lock false"}, as("tape"));
  EXPECT_EQ(service.code, 1) << service.out;
  EXPECT_NE(service.err.find("needs the role admin, yours is service"), std::string::npos) << service.err;
  const std::string audit = config::test::slurp(state() + "/audit.jsonl");
  for (const char* part :
       {"\"user\":\"nobody\",\"uid\":65534", "in none of the groups", "yours is viewer", "yours is service"})
    EXPECT_NE(audit.find(part), std::string::npos) << part;
}

TEST_F(ShellVerb, SshsForcedCommandRunsWhatWasAskedForAndNothingElse) {
  const auto asked = [](const char* command) { return [command] { ::setenv("SSH_ORIGINAL_COMMAND", command, 1); }; };
  EXPECT_EQ(shell({"--ssh"}, asked("show version")).code, 0);
  for (const char* command : {"scp -t /etc", "/bin/sh", "show version; id", "$(id)"}) {
    const Said said = shell({"--ssh"}, asked(command));
    EXPECT_EQ(said.code, 2) << command;
    EXPECT_EQ(said.out, "") << command;
  }
}

/// The program on a terminal of its own.
class Terminal {
 public:
  Terminal(const std::string& socket, const std::string& home, unsigned short rows = 40) {
    winsize size{rows, 100, 0, 0};
    pid_ = ::forkpty(&fd_, nullptr, nullptr, &size);
    if (pid_ == 0) {
      ::setenv("HOME", home.c_str(), 1);
      ::setenv("TERM", "vt100", 1);
      ::execl(LIGATURE_PROGRAM, "ligature", "shell", "--socket", socket.c_str(), nullptr);
      ::_exit(127);
    }
  }
  ~Terminal() {
    if (pid_ > 0) ::kill(pid_, SIGKILL), (void)wait_for(pid_);
    if (fd_ >= 0) ::close(fd_);
  }
  void type(const std::string& keys) { (void)!::write(fd_, keys.data(), keys.size()); }
  /// All that came until this did; everything before it is done with.
  testing::AssertionResult shows(const std::string& part) {
    for (;;) {
      if (const auto at = seen_.find(part); at != std::string::npos) {
        seen_.erase(0, at + part.size());
        return testing::AssertionSuccess();
      }
      pollfd ready{fd_, POLLIN, 0};
      char block[4096];
      const ssize_t n = ::poll(&ready, 1, 30000) > 0 ? ::read(fd_, block, sizeof block) : -1;
      if (n <= 0) return testing::AssertionFailure() << "'" << part << "' did not come, but:\n" << seen_;
      seen_.append(block, static_cast<std::size_t>(n));
    }
  }
  int end() { return wait_for(std::exchange(pid_, -1)); }

 private:
  int fd_ = -1;
  pid_t pid_ = -1;
  std::string seen_;
};

TEST_F(ShellVerb, ThePromptHelpsCompletesPagesAndRemembers) {
  const std::string home = folder_.path();
  {
    Terminal terminal(socket(), home, 12);
    EXPECT_TRUE(terminal.shows("Type ? for help, Tab to complete"));
    EXPECT_TRUE(terminal.shows("# "));
    terminal.type("show ?");
    EXPECT_TRUE(terminal.shows("cameras"));
    EXPECT_TRUE(terminal.shows("--More--")) << "more than twelve rows";
    terminal.type("q");
    EXPECT_TRUE(terminal.shows("show ")) << "the line is there again";
    terminal.type("ver\t");
    EXPECT_TRUE(terminal.shows("sion "));
    terminal.type("\n");
    EXPECT_TRUE(terminal.shows("ligature "));
    terminal.type("set profile tracking prediction_ms ?");
    EXPECT_TRUE(terminal.shows("0..2000")) << "the range";
    EXPECT_TRUE(terminal.shows("now 150"));
    terminal.type("5000\n");
    EXPECT_TRUE(terminal.shows("must be 0..2000"));
    terminal.type("show configuration profile\n");
    EXPECT_TRUE(terminal.shows("--More--"));
    terminal.type(" ");
    EXPECT_TRUE(terminal.shows("--More--"));
    terminal.type("q");
    EXPECT_TRUE(terminal.shows("# "));
    terminal.type("show log live\n");
    ::usleep(300000);
    terminal.type("\x03");
    EXPECT_TRUE(terminal.shows("# ")) << "Ctrl-C ends what goes on";
    terminal.type("nonsense\n");
    EXPECT_TRUE(terminal.shows("^")) << "a caret below the mistake";
    EXPECT_TRUE(terminal.shows("is unknown here"));
    terminal.type("exit\n");
    EXPECT_EQ(terminal.end(), 0);
  }
  EXPECT_NE(config::test::slurp(home + "/.ligature_history").find("nonsense"), std::string::npos);
  Terminal terminal(socket(), home);
  EXPECT_TRUE(terminal.shows("# "));
  terminal.type("\x10\x10");  // twice up: before `exit`
  EXPECT_TRUE(terminal.shows("nonsense"));
  terminal.type("\x15");
  end_server();
  EXPECT_TRUE(terminal.shows("the connection to ligature is over"));
  EXPECT_EQ(terminal.end(), 0);
}

TEST_F(ShellVerb, AnUnconfirmedCommitGoesBackBeforeTheEyesOfWhoeverIsThere) {
  // A minute is the least that can be asked for.
  EXPECT_EQ(shell({"-c", "set profile title tried", "-c", "commit confirmed 1"}).code, 0);
  Terminal terminal(socket(), folder_.path());
  EXPECT_TRUE(terminal.shows("goes back in"));
  EXPECT_TRUE(terminal.shows("[confirm 2: "));
  EXPECT_TRUE(terminal.shows("goes back in 30 s unless confirmed"));
  EXPECT_TRUE(terminal.shows("goes back in 10 s unless confirmed"));
  EXPECT_TRUE(terminal.shows("ROLLED BACK: commit 2 by"));
  EXPECT_NE(shell({"-c", "show history"}).out.find("[not confirmed]"), std::string::npos);
}

}  // namespace
}  // namespace ligature::shell
