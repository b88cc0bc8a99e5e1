#pragma once
/// What a run has to say about itself: gathered step by step in bounded memory, told as summary.json (CONTRACT).
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "appliance/knot/threads.hpp"
#include "appliance/sim/knot_state.hpp"
#include "appliance/sim/quantiles.hpp"
#include "appliance/sim/stage_times.hpp"
#include "appliance/sim/topology.hpp"
#include "config/scenario_file.hpp"
#include "sim/contract/step_report.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

/// Mean of rows of numbers over the last tenth of however many rows came, in memory that does not grow.
///
///   | block | block | ... | block | open block |      every block the sum of `length` rows; when kBlocks are full,
///                     <----- last tenth ----->       neighbours are joined and `length` doubles
///
/// Exact up to 10 * kBlocks / 10 rows; beyond, the window is up to 1/(kBlocks/2) of the run longer than a tenth.
class TailMean {
 public:
  explicit TailMean(std::size_t width) : width_(width), open_(width) {}
  /// row: (width)
  void add(const std::vector<double>& row);
  std::vector<double> mean() const;

 private:
  static constexpr std::size_t kBlocks = 1024;
  std::size_t width_;
  std::vector<double> sums_;  // (closed blocks x width)
  std::vector<double> open_;  // (width)
  std::uint64_t length_ = 1, in_open_ = 0, rows_ = 0;
};

class Statistics {
 public:
  /// @param judge_ties whatever it costs; else only where few edges make it cheap
  Statistics(const world::WorldParams& params, double duration_s, bool judge_ties);
  /// Before the first step: shapes as drawn.
  void start(const world::World& world);
  /// After every step.
  void add(const world::World& world, const StepReport& report);

  std::uint64_t steps() const { return steps_; }
  std::uint64_t overflows() const { return overflows_; }
  /// Tissues that went through obstacles, which they do not meet: what is told of each.
  std::vector<std::string> in_obstacles() const;
  std::uint64_t gave_way() const { return gave_way_; }  ///< steps in which a contact bore all that one can
  std::uint64_t non_finite() const { return non_finite_; }

  nlohmann::ordered_json clamps(const world::World& world, const world::WorldParams& params) const;
  nlohmann::ordered_json contacts() const;
  nlohmann::ordered_json solver() const;
  /// Of each, its largest over the run.
  nlohmann::ordered_json tissue(const world::World& world) const;
  nlohmann::ordered_json sutures(const world::World& world, const world::WorldParams& params) const;
  nlohmann::ordered_json forceps() const;
  const TopologyLog& topology() const { return topology_; }
  /// Ends of threads and whether anything is tied, as of now.
  nlohmann::ordered_json ends(const world::World& world) const;
  const EndWatch& watch() const { return watch_; }
  KnotVerdict verdict() const;

 private:
  void take_gap(double gap_mm, double over_radius);
  void note_shifts(const world::World& world);
  void measure_contacts(const world::World& world, const StepReport& report);

  const world::WorldParams& params_;
  std::vector<Curve> curves_;  // as of the last step
  std::vector<Vec3> shifts_;   ///< of the obstacles, as of the last step [mm]
  std::vector<double> row_;
  TopologyLog topology_;
  EndWatch watch_;
  static constexpr std::size_t kCheapEdges = 4096;
  bool any_tied() const;
  bool judge_ties_, tied_at_start_ = false, tied_at_full_ = false;
  TailMean clamp_mean_;
  struct TissuePeak {
    double displacement_mm = 0, gap_mm = world::kNoTissueNear;
    double force = 0, contact_force = 0, tool_force = 0;  // of all threads, of one contact, of forceps [uN]
    double in_obstacle_mm = 0;
    std::size_t in_obstacle = 0;
    int inverted = 0, inverted_steps_in_a_row = 0, run = 0;
  };
  std::vector<TissuePeak> tissue_peaks_;
  struct HoleCourse {
    double force = 0, tension = 0;      // the largest [uN]
    double edges_before = 0;            // of the thread, up to the hole, as of the last step, ...
    std::size_t thread = 0, edges = 0;  // ... when it was this one and had so many in all; 0: not seen yet
    std::uint64_t vertices_passed = 0;  // to and fro
  };
  std::map<std::pair<std::size_t, bool>, HoleCourse> holes_;  // two of each suture
  double forceps_force_ = 0;  // the largest on an arm, or of jaws on what they hold [uN]
  Quantiles residual_, contact_residual_;
  std::uint64_t short_of_vertices_ = 0, vertices_added_ = 0, vertices_removed_ = 0;  // of adaptive threads
  std::uint64_t steps_ = 0, overflows_ = 0, gave_way_ = 0, non_finite_ = 0, not_converged_ = 0, limited_ = 0,
                grasps_ = 0, releases_ = 0;
  std::uint32_t contacts_max_ = 0, contacts_last_ = 0, iterations_max_ = 0, contact_iterations_max_ = 0;
  double gap_min_mm_, gap_min_over_radius_;
};

/// How the run ended.
struct Ending {
  bool at_rest = false, interrupted = false;
  double wall_s = 0;
  std::optional<std::vector<knot::ThreadKnot>> knots;  ///< nothing where nobody could name them
};

nlohmann::ordered_json summary(const config::Scenario& scenario, const std::string& file, const world::World& world,
                               const Statistics& statistics, const StageTimes& times, const Ending& ending);

/// clamps[].at for people.
std::string place_text(const nlohmann::ordered_json& at);
/// The same for people, a few lines.
std::string table(const nlohmann::ordered_json& summary);

}  // namespace ligature::simulate
