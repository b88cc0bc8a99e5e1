#pragma once
/// Lines that nobody should type, and clients that nobody should let in.
#include <sys/resource.h>
#include <sys/syscall.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <functional>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "config/shell/grammar.hpp"
#include "tests/shell/wire.hpp"

namespace ligature::shell::test {

/// Commands as the grammar has them, cut, crossed, spoilt, or noise; the same for the same seed.
class Lines {
 public:
  explicit Lines(std::uint64_t s) : random_(s) {}
  std::size_t below(std::size_t n) { return std::uniform_int_distribution<std::size_t>(0, n - 1)(random_); }
  template <class List>
  std::string any(const List& list) {
    return std::string(*(std::begin(list) + static_cast<std::ptrdiff_t>(below(std::size(list)))));
  }

  /// A command as the grammar has it, with words for its arguments.
  std::string good() {
    std::string line;
    const Rule& rule = rules()[below(rules().size())];
    std::string_view left = rule.pattern;
    while (!left.empty()) {
      const auto end = std::min(left.find(' '), left.size());
      std::string word(left.substr(0, end));
      left.remove_prefix(std::min(end + 1, left.size()));
      if (word == "<path>")
        word = any(kPaths);
      else if (word == "<value>")
        word = any(kValues);
      else if (word.front() == '<')
        word = any(kWords);
      else if (below(3) == 0)
        word = word.substr(0, 1 + below(word.size()));
      line += (line.empty() ? "" : " ") + word;
    }
    return line;
  }
  std::string any_line() {
    std::string line = good();
    switch (below(12)) {
      case 0:  // noise
        line.resize(below(300));
        for (char& c : line) c = static_cast<char>(below(256));
        break;
      case 1:  // longer than allowed
        line += std::string(4000 + below(3000), below(2) == 0 ? 'x' : ' ');
        break;
      case 2:  // deep
        line = "set profile title " + std::string(below(4000), below(2) == 0 ? '[' : '{');
        break;
      case 3:
      case 4:
      case 5: {
        const std::string other = good();
        line = line.substr(0, below(line.size() + 1)) + other.substr(below(other.size() + 1));
        break;
      }
      case 6:
      case 7:
        for (std::size_t n = 1 + below(4); n > 0 && !line.empty(); --n) {
          const std::size_t at = below(line.size());
          switch (below(4)) {
            case 0:
              line[at] = static_cast<char>(line[at] ^ (1 << below(8)));
              break;
            case 1:
              line.erase(at, 1 + below(3));
              break;
            case 2:
              line.insert(at, any(kSpice));
              break;
            default:
              line.insert(at, line.substr(0, below(line.size())));
          }
        }
        break;
      default:
        break;
    }
    return line;
  }
  std::mt19937_64& random() { return random_; }

 private:
  static constexpr std::array kPaths{
      "profile",
      "rig",
      "profile title",
      "profile tracking prediction_ms",
      "profile tracking timeout_ms",
      "profile microscope field_of_view_mm",
      "profile microscope target_mm",
      "profile render device",
      "profile render samples",
      "profile output picture_times_s",
      "profile thread physics core",
      "profile thread physics",
      "profile thread",
      "profile fault 0 kind",
      "profile fault 0 from_s",
      "profile fault 1",
      "profile memory lock",
      "profile rig",
      "profile scenario",
      "profile cameras source",
      "rig world motion_scale",
      "rig world q_RW",
      "rig camera C0 fx_px",
      "rig camera C4 fx_px",
      "rig camera",
      "rig camera C1 name",
      "rig instrument left marker tail colour_hue_deg",
      "rig instrument left marker",
      "rig rig created",
      "rig rig box_mm",
      "p",
      "profile t",
      "",
  };
  static constexpr std::array kValues{
      "1",         "0",           "-1",           "1e308",       "1e999",   "nan",
      "inf",       "0x10",        "true",         "\"text\"",    "text",    "1 2 3",
      "[1, 2, 3]", "[]",          "[[]]",         "{}",          "{a = 1}", "1979-05-27",
      "'x'",       "\"\\u0000\"", "\"\xc3\xa4\"", "virtual",     "auto",    "150.0",
      "30",        "/etc/passwd", "../../x",      "1\n[x]\ny=1", "\"\"\"",  "9223372036854775808",
  };
  static constexpr std::array kWords{
      "0",    "1",    "5",       "49",      "50",      "-1",       "99999999999999999999",
      "1.5",  "demo", "virtual", "C0",      "C9",      "monday",   "checkerboard:9x6:25mm",
      "/tmp", "show", "why so",  "\"why\"", "--force", "\xff\xfe", "comment"};
  static constexpr std::array kSpice{"\"",   "\\",    "?",    "|", "\t", "\x01", "\x7f", "\xff", "\xc3",
                                     "%s%n", "$(id)", "`id`", ";", "\r", "  ",   "#",    "<",    "\"\""};
  std::mt19937_64 random_;
};

/// One client of a storm: some of everything that a client should not do.
/// @param spare  true for a line that it shall not send; none: it sends all
/// @return connections that it made
inline std::uint64_t misbehave(const std::filesystem::path& socket, std::uint64_t s,
                               const std::function<bool(int)>& go_on,
                               const std::function<bool(const std::string&)>& spare) {
  Lines lines(s);
  std::uint64_t made = 0;
  for (int i = 0; go_on(i); ++i) {
    Wire wire(socket);
    if (!wire.connected()) continue;
    ++made;
    switch (lines.below(7)) {
      case 0:  // says nothing and goes
        break;
      case 1:  // half a line, and goes
        (void)wire.send("run set profile title", 1000);
        break;
      case 2: {  // does not read
        std::string all;
        for (int k = 0; k < 50; ++k) all += "run show configuration\n";
        (void)wire.send(all, 100);
        break;
      }
      case 3:  // stops sending, reads to the end
        (void)wire.send("run show version\nrun show history\n", 1000);
        wire.end_sending();
        while (wire.frame(2000).is_object()) {
        }
        break;
      case 4:  // a megabyte in one line
        (void)wire.send("run " + std::string(1 << 20, 'x') + "\nrun show version\n", 1000);
        (void)wire.frame(1000);
        break;
      case 5: {  // bytes
        std::string noise(1 + lines.below(20000), ' ');
        for (char& c : noise) c = static_cast<char>(lines.below(256));
        (void)wire.send(noise, 1000);
        break;
      }
      default: {  // works
        for (int k = 0; k < 10; ++k) {
          std::string line = lines.any_line();
          if (spare && spare(line)) continue;
          std::replace(line.begin(), line.end(), '\n', ' ');
          (void)wire.send((lines.below(5) == 0 ? "suggest " : lines.below(9) == 0 ? "" : "run ") + line + "\n", 1000);
        }
        (void)wire.send("run discard\nrun set profile title \"" + std::to_string(s + static_cast<std::uint64_t>(i)) +
                            "\"\nrun commit\n",
                        1000);
        wire.end_sending();
        while (wire.frame(2000).is_object()) {
        }
      }
    }
  }
  return made;
}

/// Clients by the hundred: each of eight threads holds an eighth of them, with something unfinished, and makes others
/// that misbehave for as long as `go_on` says, given how many that one made before.
/// @return connections made
inline std::uint64_t storm(const std::filesystem::path& socket, std::uint64_t s, int clients,
                           const std::function<bool(int)>& go_on,
                           const std::function<bool(const std::string&)>& spare = {}) {
  constexpr int kThreads = 8;
  std::atomic<std::uint64_t> made{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      ::setpriority(PRIO_PROCESS, static_cast<id_t>(::syscall(SYS_gettid)), 19);  // whose work is not what is looked at
      {
        std::vector<Wire> held;  // all at once; those without a place are told so
        for (int k = 0; k < clients / kThreads; ++k) {
          held.emplace_back(socket);
          static constexpr std::array kHalf{"run show tracking live\n",
                                            "run set profile",
                                            "run show configuration\n\n\n",
                                            "",
                                            "suggest set rig camera \nrun commit\nrun ",
                                            "\xff\x00\x01"};
          if (held.back().connected()) (void)held.back().send(kHalf[static_cast<std::size_t>(k) % kHalf.size()], 1000);
        }
        made += held.size() + misbehave(socket, s + static_cast<std::uint64_t>(t), go_on, spare);
      }
      made += misbehave(socket, s + 100 + static_cast<std::uint64_t>(t), go_on, spare);
    });
  for (auto& thread : threads) thread.join();
  return made;
}

}  // namespace ligature::shell::test
