#pragma once
/// The one public door of the physics: create, step, snapshot.
///
/// Deterministic: the same samples, parameters and step count give bit-identical state on the same binary.
/// No clock, files, logging or threads in here; after create() no allocation, lock or exception.
#include <array>
#include <cstdint>
#include <memory>
#include <string>

#include "sim/base/executor.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"
#include "sim/contract/scene_facts.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/contract/step_report.hpp"
#include "sim/contract/tissue_surface.hpp"
#include "sim/world/params.hpp"

namespace ligature::world {

/// One thread as it is now, for reports. Energies in uN mm.
struct ThreadMeasure {
  std::string name;
  bool closed = false;
  std::size_t vertices = 0;
  double rest_length_mm = 0, length_mm = 0;
  double elongation_max = 0;  ///< of an edge: its length over its rest length, less one
  double speed_max_mm_per_s = 0;
  double stretch_energy = 0, bend_energy = 0, twist_energy = 0;
  double kinetic_energy = 0;
  double potential_energy = 0;         ///< of weight and of the forces that act now: minus force times position
  Vec3 momentum;                       ///< [g mm/s]
  Vec3 angular_momentum;               ///< about W's origin [g mm^2/s]
  double twist_turns = 0, writhe = 0;  ///< link is their sum
  /// Vertices of its needle, [first, last]; equal: none. Its point is the end of the thread among them.
  std::size_t needle_first = 0, needle_last = 0;
  /// Of a piece that a cut left: where it begins along the thread that it was, and the length of that if it was a ring,
  /// else 0. Rest lengths [mm]
  double cut_from_mm = 0, ring_mm = 0;
};

/// What one clamp exerted on its thread in the last step.
struct ClampMeasure {
  std::size_t thread = 0;  ///< the thread it holds now (a cut may have moved it)
  std::size_t clamp = 0;   ///< index in ThreadParams::clamps of the thread it was given to
  std::size_t vertex = 0;
  bool active = false;
  Vec3 force;   ///< W [uN]
  Vec3 torque;  ///< about the vertex, W [uN mm]
};

/// One contact that carries force, as of the last step.
struct ContactMeasure {
  std::size_t thread = 0;
  double s_mm = 0;  ///< rest arc length on the thread
  enum class Other : std::uint8_t { obstacle, forceps, thread, tissue };
  Other other = Other::obstacle;
  std::size_t index = 0;  ///< of the obstacle; of the forceps; of the other thread; of the tissue
  double other_s_mm = 0;  ///< rest arc length on the other thread
  double gap_mm = 0, normal_force = 0, friction_force = 0;  ///< [uN]
  bool sliding = false;
};

inline constexpr double kNoTissueNear = 1;  ///< as far from a tissue others are looked for [mm]

/// A body that deforms, as of the last step.
struct TissueMeasure {
  std::string name;
  std::size_t elements = 0;
  double displacement_mm = 0;     ///< of a node from rest, the largest
  Vec3 contact_force;             ///< of all threads on it, in its holes too, W [uN]
  double contact_force_most = 0;  ///< of one contact [uN]
  int inverted = 0;               ///< elements with a corner inside out
  double volume_mm3 = 0;
  Vec3 tool_force;           ///< of the arms of forceps on it, W [uN]
  double tool_grip = 0;      ///< sum of their normal forces: what friction holds by [uN]
  double tool_gap_mm = 1e9;  ///< from its surface to that of the nearest arm; negative: pressed in
  Vec3 tissue_force;         ///< of other tissues on it, W [uN]
  Vec3 obstacle_force;       ///< of rigid obstacles on it, W [uN]
  /// Of its surface's vertices from the surfaces of other tissues, and of theirs from its own; negative: inside;
  /// kNoTissueNear: none is as near
  double tissue_gap_mm = kNoTissueNear;
  double in_obstacle_mm = 0;    ///< how deep its surface's vertices are in a rigid obstacle
  std::size_t in_obstacle = 0;  ///< in which, where that is above 0
};

/// One hole that a thread runs through, as of the last step.
struct RingMeasure {
  std::size_t thread = 0, tissue = 0, suture = 0;
  double s_mm = 0;  ///< rest arc length of the thread in it
  Vec3 place;       ///< its centre, W [mm]
  Vec3 force;       ///< on the thread, W [uN]
  /// Of the thread where it is straight, on the side of its first vertex: of its bend beside the hole by the first
  /// integral of the elastica [uN]
  double tension_before = 0;
  double tension_after = 0;            ///< ... and of its last
  double edges_before = 0;             ///< of the thread, up to the hole
  bool sliding = false, left = false;  ///< left: the thread's end has slid out of it
  bool exit = false;                   ///< the thread, along its length, leaves the wall there
};

/// One pair of forceps, as of the last step.
struct ForcepsMeasure {
  std::size_t held = 0;         ///< vertices of threads between its jaws
  Vec3 grip;                    ///< of its jaws on what they hold, W [uN]
  std::array<Vec3, 2> pressed;  ///< on either arm, of all that it touches, W [uN]
};

/// x: p_WV_W [mm] of every vertex; twist_rad: of the joint at every vertex, 0 at the ends of an open thread. (vertices)
/// Between vertices the radius changes evenly.
struct ThreadShape {
  std::vector<Vec3> x;
  std::vector<double> twist_rad;
  std::vector<double> s_mm;  ///< rest arc length
  std::vector<double> radius_mm;
};

/// One arm of a pair of forceps as threads and tissue meet it: the axis of a round cone, where it is led to and given
/// way. Its radius changes evenly.
struct ArmShape {
  std::vector<Vec3> x;                      ///< p_WA_W, from the tip on [mm]
  double tip_radius_mm = 0, radius_mm = 0;  ///< at the first place; at the last
};

/// Called at the end of each stage of the step, so that a caller with a clock can time them.
using StageObserver = void (*)(void* context, StepStage stage) noexcept;

class World {
 public:
  /// Checks the parameters (finite, positive, within capacity, nothing overlapping at the start) and takes all memory.
  static Result<World> create(const WorldParams& params, const Capacity& capacity);
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  /// Advances by one step towards this sample. @rt bounded by vertices, contacts and iterations; no allocation
  StepReport step(const InstrumentSample& sample) noexcept;
  /// Where the hands are when the first step begins; jaws that are closed on a thread there hold it. A hand that is not
  /// told of here appears in its first sample, without motion from elsewhere. @pre no step was made; once. @rt
  void begin(const InstrumentSample& sample) noexcept;
  /// The next step cuts of each pair of jaws the thread that it took first, in the middle of the run of it that it
  /// holds; both ends stay between the jaws. Needles, closed and adaptive threads are not cut, and there are
  /// capacity.cuts in all. @rt
  void cut_held() noexcept;
  /// @rt no allocation
  void snapshot(SceneSnapshot& out) const noexcept;
  /// @rt no allocation
  void facts(SceneFacts& out) const noexcept;
  /// Hash of the whole dynamic state, bit for bit.
  std::uint64_t state_hash() const noexcept;
  void observe_stages(StageObserver observer, void* context) noexcept;
  /// Who runs independent parts of a step from now on (it must outlive the world); null: the caller of step(). The
  /// result has the same bits whoever does.
  void use_executor(Executor* executor) noexcept;

  // ---- reports; allocate, so never from a real-time thread
  std::size_t thread_count() const noexcept;
  double time_s() const noexcept;
  /// @param writhe also calculates the writhe, in O(n^2)
  ThreadMeasure measure(std::size_t thread, bool writhe = true) const;
  ThreadShape shape(std::size_t thread) const;
  /// Of all forceps; none where there are no tools to be met.
  std::vector<ArmShape> arms() const;
  /// In the order of WorldParams: thread by thread, clamp by clamp.
  std::vector<ClampMeasure> clamps() const;
  std::vector<ContactMeasure> contacts() const;
  std::size_t tissue_count() const noexcept;
  /// What snapshots tell of tissues, but for where they are now; in their order.
  std::vector<TissueSurface> tissue_surfaces() const;
  TissueMeasure measure_tissue(std::size_t tissue) const;
  double tissue_speed_mm_per_s(std::size_t tissue) const;  ///< of its fastest node, at the end of the last step
  /// The two of a suture side by side, sutures in their order.
  std::vector<RingMeasure> rings() const;
  /// Of every pair of forceps.
  std::vector<ForcepsMeasure> forceps() const;
  /// The last contact problem between strands that a step solved, with the forces it began from, as
  /// contact::parse_cone_problem() reads it; empty if there was none.
  std::string contact_problem() const;
  /// How far an obstacle has come from where the parameters have it [mm].
  Vec3 obstacle_shift(std::size_t obstacle) const noexcept;

  /// Fault injection for the tests of the appliance: the next step meets a non-finite vertex.
  void inject_non_finite() noexcept;

 private:
  struct State;
  explicit World(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::world
