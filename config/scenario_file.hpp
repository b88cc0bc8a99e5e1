#pragma once
/// The scenario file (CONTRACT: scenario file) -> world parameters in sim's units.
///
/// A documented key that this version's physics cannot honour is refused with its line, never ignored.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/exercise/goal.hpp"
#include "sim/world/params.hpp"

namespace ligature::config {

struct ScenarioForceps {
  std::string name;                 ///< left | right
  std::filesystem::path path_file;  ///< poses of T in W over time; exists
  std::filesystem::path aims_file;  ///< what the hand looks at on its way; exists, or empty
};

struct ScenarioExercise {
  exercise::Goal goal;
  std::vector<double> cuts_s;  ///< when a scripted trainee gives the cut control, of the scene's time; growing
};

/// A table of the file that makes a part of the world, by what the world calls it: "thread 'suture'", "suture 0".
struct ScenarioPart {
  std::string called;
  int line = 1;
};

struct Scenario {
  std::string title;
  double duration_s = 3.0;            ///< the longest it may run
  bool until_rest = false;            ///< stop earlier, when every vertex is slower than ...
  double rest_speed_mm_per_s = 1e-4;  ///< ... this
  double output_every_s = 0.03;       ///< period of the curves written
  world::WorldParams params;
  world::Capacity capacity;
  std::optional<ScenarioExercise> exercise;
  std::vector<ScenarioForceps> forceps;  ///< played from files; empty: the instruments come from the tracking
  std::vector<ScenarioPart> parts;       ///< where what a world may refuse stands in the file
};

inline constexpr std::size_t kMaxVertices = 65536;

/// @param most_vertices what capacity.vertices may be: kMaxVertices, or less where a picture has to show them
Result<Scenario> load_scenario(const std::filesystem::path& path, std::size_t most_vertices = kMaxVertices);
/// The same from memory. @param file name for the error lines, and where relative paths start
Result<Scenario> parse_scenario(std::string_view text, const std::filesystem::path& file,
                                std::size_t most_vertices = kMaxVertices);

/// What a world made of this scenario was refused for, with file and, where it names a part, line.
Error placed(const Scenario& scenario, const std::filesystem::path& file, Error error);

}  // namespace ligature::config
