/// ligature-knot: which knot is this curve. Started by `ligature knot`, and as a child by whoever has real-time
/// threads and must not hold libhomfly's collector.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <iostream>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "appliance/knot/answer.hpp"
#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/identify.hpp"
#include "appliance/knot/picture.hpp"
#include "config/atomic_file.hpp"
#include "config/csv_file.hpp"
#include "sim/knot/names/parts.hpp"

namespace {

using namespace ligature;

struct Arguments {
  std::vector<std::string> files;
  std::string plot, ends;
  bool closed = false, json = false, serve = false;
};

int complain(const Error& error) {
  fmt::print(stderr, "{}\n", error.message);
  return error.kind == Error::Kind::usage ? 2 : 1;
}

std::string table_of(const knot::Answer& answer, const std::vector<std::string>& files) {
  std::string out = fmt::format("{}", answer.name);
  if (answer.tie && *answer.tie != answer.name) out += fmt::format(", tie {}", *answer.tie);
  if (answer.throws) out += fmt::format(", throws {}", *answer.throws);
  if (answer.bend) out += ", a bend";
  out += '\n';
  const auto line = [&](const char* what, const std::string& value) {
    out += fmt::format("  {:<12}{}\n", what, value);
  };
  if (answer.candidates.size() > 1 || (answer.name == "unknown" && !answer.candidates.empty()))
    line("candidates", fmt::format("{}", fmt::join(answer.candidates, ", ")));
  line("confidence", fmt::format("{:.2f}", answer.confidence));
  if (answer.tie_confidence) line("of the tie", fmt::format("{:.2f}", *answer.tie_confidence));
  line("components", std::to_string(answer.components));
  line("crossings", std::to_string(answer.crossings));
  if (!answer.linking.empty()) line("linking", fmt::format("{}", fmt::join(answer.linking, ", ")));
  if (answer.homfly) line("homfly", *answer.homfly);
  if (answer.ties)
    for (const knot::PairTie& t : *answer.ties)
      line("tied", fmt::format("{} and {}: {}, throws {}, confidence {:.2f}", files[t.first], files[t.second], t.tie,
                               t.throws, t.confidence));
  return out;
}

int identify_files(const Arguments& arguments) {
  knot::Question question;
  question.closed = arguments.closed;
  question.ends = arguments.ends;
  for (const std::string& file : arguments.files) {
    auto points = config::load_points(file);
    if (!points) return complain(points.error());
    question.curves.push_back(std::move(*points));
  }
  const auto source = knot::homfly_library();
  const auto found = knot::identify(question, *source);
  if (!found) {
    // Curves that have no answer are wrong files: name them.
    std::string names;
    for (const std::string& file : arguments.files) names += (names.empty() ? "" : ", ") + file;
    return complain({Error::Kind::usage, names + ": " + found.error().message});
  }
  if (!arguments.plot.empty()) {
    std::vector<std::string> remarks{
        fmt::format("{} crossing{}", found->diagram.sign.size(), found->diagram.sign.size() == 1 ? "" : "s")};
    if (!question.closed) remarks.front() += fmt::format(", confidence {:.2f}", found->answer.confidence);
    if (!found->answer.linking.empty())
      remarks.front() += fmt::format(", linking {}", fmt::join(found->answer.linking, ", "));
    if (found->answer.throws) remarks.front() += fmt::format(", throws {}", *found->answer.throws);
    const auto picture = knot::picture_svg(knot::factors_in_a_ring(found->diagram), found->answer.name, remarks);
    if (!picture) return complain({Error::Kind::failed, arguments.plot + ": " + picture.error().message});
    if (const auto written = config::write_file_atomically(arguments.plot, *picture); !written)
      return complain({Error::Kind::usage, written.error().message});
  }
  fmt::print("{}", arguments.json ? knot::to_json(found->answer) + "\n" : table_of(found->answer, arguments.files));
  return 0;
}

/// A question a line on standard input, an answer a line on standard output, until the input ends.
int serve() {
  const auto source = knot::homfly_library();
  for (std::string line; std::getline(std::cin, line);) {
    const auto question = knot::parse_question(line);
    std::string reply;
    if (!question) {
      reply = knot::to_json_error(question.error().message);
    } else {
      const auto found = knot::identify(*question, *source);
      reply = found ? knot::to_json(found->answer) : knot::to_json_error(found.error().message);
    }
    if (std::fwrite((reply + "\n").data(), 1, reply.size() + 1, stdout) != reply.size() + 1 || std::fflush(stdout) != 0)
      return 1;
  }
  return 0;
}

int run(int argc, char** argv) {
  CLI::App app{"Which knot is this curve (these curves)"};
  app.name("ligature knot");
  app.failure_message(CLI::FailureMessage::simple);
  Arguments arguments;
  app.add_option("FILE", arguments.files, "CSV of x,y,z per line, no header; one file = one thread or loop")
      ->take_all();
  app.add_flag("--closed", arguments.closed, "each file is a loop; else an open thread");
  app.add_option("--ends", arguments.ends,
                 "what the two ends of each thread are, s standing (loaded) or t tail, for instance st,st")
      ->take_last();
  app.add_flag("--json", arguments.json, "print one JSON object on standard output");
  app.add_option("--plot", arguments.plot, "picture of the simplified diagram: FILE.svg")
      ->check([](const std::string& name) {
        return name.size() > 4 && name.ends_with(".svg") ? "" : "'" + name + "' does not end in .svg";
      });
  app.add_flag("--serve", arguments.serve, "questions from standard input, a JSON line each")->group("");
  app.footer(
      R"(Open threads that are a surgical tie are named so: reef, granny, thief, grief or surgeon, with the throws (1=1, 1x1).
Half hitches round a straight strand are a slip knot: tie none, throws S=S (alike) or SxS (opposite).
Of two files each runs from its standing (loaded) end to its tail; a single file is tail, standing part, tail; --ends
says otherwise (ts,ts: both files run the other way).
Any other name is that of the table of knots to ten crossings and two-component links to eight: 3_1 is the left-handed
trefoil, m3_1 its mirror image, 3_1#m3_1 a sum, 0_1 the unknot. It is given only when the simplified diagram has at most
ten crossings per factor; else it is `unknown`, with candidates. Open threads are closed in many directions, and
`confidence` is the share that agrees.
Two threads that are tied to each other otherwise than by throws (sheet bend, carrick bend) are a bend.
--json has name, candidates, confidence, components, crossings, linking, tie, throws, homfly; of one thread that is tied
round something also tie_confidence; of two open threads that are a bend also bend: true; of three open threads or more
also ties: every two that are tied.
Exit: 0 answered (also `unknown`), 1 failed, 2 refused.
Example: ligature knot left.csv right.csv --json --plot tie.svg)");
  try {
    app.parse(argc, argv);
    if (!arguments.serve && arguments.files.empty()) throw CLI::RequiredError("FILE");
  } catch (const CLI::Success& done) {
    return app.exit(done);
  } catch (const CLI::ParseError& wrong) {
    fmt::print(stderr, "ligature knot: {}: see `ligature knot --help`\n", wrong.what());
    return 2;
  }
  return arguments.serve ? serve() : identify_files(arguments);
}

}  // namespace

int main(int argc, char** argv) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  int code = 1;
  try {
    code = run(argc, argv);
  } catch (const std::exception& wrong) {
    std::fprintf(stderr, "ligature knot: ended by an error that nothing foresaw: %s\n", wrong.what());
    return 1;
  }
  if (std::fflush(stdout) != 0 || std::ferror(stdout) != 0) {
    std::fprintf(stderr, "ligature knot: standard output cannot be written: %s\n", std::strerror(errno));
    return 1;
  }
  return code;
}
