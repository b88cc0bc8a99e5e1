#pragma once
/// Which knots a scene's threads are tied into: what to ask `ligature-knot` about them, and what of its answers to
/// tell.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "appliance/knot/answer.hpp"

namespace ligature::knot {

struct SceneThread {
  std::string name;
  std::size_t origin = 0;  ///< the thread that it was, or was a piece of, at the start
  std::vector<Vec3> points;
  bool closed = false;
  bool loaded_first = false, loaded_last = false;  ///< something holds or pulls that end
};

/// A question and whom it is about.
struct ThreadQuestion {
  std::vector<std::string> threads;
  std::vector<std::size_t> origins;  // of each
  Question question;
};

/// Pairs beyond this are not asked about: with more threads, only what each is tied into alone.
inline constexpr std::size_t kMostPairedThreads = 8;

/// All closed threads together; each open thread alone; each two open threads whose boxes meet as a tie. A thread of
/// which only the last end is loaded counts from there, as a tie wants it; else as it is drawn.
std::vector<ThreadQuestion> questions_of(const std::vector<SceneThread>& threads);

struct ThreadKnot {
  std::vector<std::string> threads;
  std::vector<std::size_t> origins;  // of each
  Answer answer;
};
/// Whether there is a knot to tell of: anything but unknots, circles apart, and threads that are not tied together.
bool is_knot(const ThreadQuestion& question, const Answer& answer);

/// `{"threads":["left","right"],"name":"reef","confidence":1.0}`, with `tie`, `throws` and `bend` where there are any
/// and `candidates` where the name is unknown.
nlohmann::ordered_json to_json(const ThreadKnot& knot);

/// Whether any of the knots has this name, or is this tie or these throws; "none" and "0_1" ask for no knot at all.
bool is_among(const std::vector<ThreadKnot>& knots, const std::string& name);

}  // namespace ligature::knot
