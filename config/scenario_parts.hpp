#pragma once
/// The parts of a scenario file, each read by its own function. Inside `config` only; scenario_file.cpp joins them.
/// All note what is wrong at its table and answer something harmless, as Table's getters do.
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "config/scenario_file.hpp"
#include "sim/world/params.hpp"

namespace ligature::config {

inline constexpr Range kTime{.low = 0, .high = world::kForever, .high_open = true};  ///< [s]
inline constexpr Range kSpeed{.low = -1e6, .high = 1e6};                             ///< of a component [mm/s]
inline constexpr Range kCarried{.low = -1, .high = 1};  ///< likewise, of what is held of a tissue
inline constexpr Range kFriction{.low = 0, .high = 10};
inline constexpr Range kGravity{.low = -1e3, .high = 1e3};  ///< of a component [m/s^2]
inline constexpr Range kRestLengthScale{.low = 0.01, .high = 100};
/// [mN s/mm^2] A thread without inertia moves against its drag alone, and so must have some.
constexpr Range drag_range(bool inertial) {
  return {.low = 0, .high = 1e6, .low_open = !inertial};
}

/// `name`, unlike those in `taken`, fit for a column of a CSV file; joins them.
std::string read_name(Table& t, std::string_view fallback, std::vector<std::string>& taken);

/// `from_s`, `until_s`: when something exists or applies.
struct Span {
  double from_s = 0, until_s = world::kForever;  ///< half open
};
Span read_span(Table& t);

/// One [[needle]], and whose end it is.
struct NeedleEntry {
  Table table;
  std::string thread;
  world::NeedleParams params;
  bool used = false;
};
std::vector<NeedleEntry> read_needles(Table& root);

/// One [[thread]] with its clamps, forces and needle.
world::ThreadParams read_thread(Table& t, std::vector<std::string>& names, std::vector<NeedleEntry>& needles);

double rest_length(const world::ThreadParams& thread);
/// After resampling: the segment is rounded so that it divides the whole. 0: the thread is not well drawn.
std::size_t segment_count(const world::ThreadParams& thread);
std::size_t vertex_count(const world::ThreadParams& thread);

/// All [[tissue]], and all [[suture]] of these threads and tissues.
std::vector<world::TissueParams> read_tissues(Table& root);
std::vector<world::SutureParams> read_sutures(Table& root, const world::WorldParams& world);

/// [exercise], if there is one.
std::optional<ScenarioExercise> read_exercise(Table& root, const world::WorldParams& world);

/// All [[schedule]], in order of time.
std::vector<world::ScheduleEntry> read_schedule(Table& root, const world::WorldParams& world);
/// All [[cut]], in order of time.
std::vector<world::CutParams> read_cuts(Table& root, const world::WorldParams& world);

}  // namespace ligature::config
