#pragma once
/// What `ligature knot` is asked and what it answers, as structs and as JSON lines. No collector and no topology here:
/// the asking side, with its real-time threads, uses this too.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::knot {

struct Question {
  std::vector<std::vector<Vec3>> curves;
  bool closed = false;  ///< loops; else threads with two ends each
  std::string ends;     ///< which end of which thread is what, where it is not the rule; empty: the rule
};

/// Two of several threads that are tied together.
struct PairTie {
  std::size_t first = 0, second = 0;  ///< which of the question's curves
  std::string tie, throws;
  double confidence = 0;
};

/// Of two tied threads `crossings` and `homfly` are those of the loop that they form with loaded end joined to loaded
/// end and tail to tail (thief and grief: crosswise), and so is `name` where the tie has none; `linking` is that of the
/// threads closed one by one.
struct Answer {
  std::string name = "unknown";
  std::vector<std::string> candidates;
  double confidence = 0;  ///< share of the closures that gave this answer
  std::size_t components = 0;
  std::size_t crossings = 0;  ///< of the simplified diagram
  std::vector<int> linking;   ///< of components (0,1), (0,2), (1,2), ...
  std::optional<std::string> tie, throws;
  std::optional<double> tie_confidence;  ///< of one thread's tie, whose `confidence` is that of the knot that it has
  bool bend = false;  ///< two threads that are tied to each other otherwise than by throws
  std::optional<std::string> homfly;
  std::optional<std::vector<PairTie>> ties;  ///< of three open threads or more: every two that are tied
};

/// One line, no newline.
std::string to_json(const Question& question);
std::string to_json(const Answer& answer);
/// In place of an answer: why there is none.
std::string to_json_error(const std::string& message);
/// Error::Kind::usage for what is not such a line; failed, with the message, for an error's line.
Result<Question> parse_question(std::string_view line);
Result<Answer> parse_answer(std::string_view line);

}  // namespace ligature::knot
