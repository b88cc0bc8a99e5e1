#pragma once
/// The inside of World: what is simulated, and the stages of a step, one file each.
///
///   instruments.cpp   forceps follow the hand, grasp and let go
///   drive.cpp         schedule, clamps, loads: what moves the threads from outside
///   cut.cpp           cuts: one thread becomes two
///   adapt.cpp         adaptive threads get vertices where they are needed, and lose those that are not
///   tissues.cpp       bodies that deform, and the sutures in them
///   detect.cpp        contacts with planes; what is remembered of those with other bodies and with jaws
///   world.cpp         create, the step, snapshot and hash
///   facts.cpp         what the judge of an exercise is told
///   measure.cpp       reports
#include <algorithm>
#include <array>
#include <cmath>
#include <utility>
#include <vector>

#include "sim/base/eigen.hpp"
#include "sim/contact/constraint.hpp"
#include "sim/contact/coupled_step.hpp"
#include "sim/contact/implicit_step.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/rigid_surface.hpp"
#include "sim/instrument/forceps.hpp"
#include "sim/instrument/grasp.hpp"
#include "sim/rod/rod.hpp"
#include "sim/tissue/tissue.hpp"
#include "sim/world/world.hpp"

namespace ligature::world {

using contact::Constraint;
using Eigen::Vector3d;
using instrument::Forceps;
using instrument::Grasp;
using instrument::Held;

inline constexpr int kArms = 2;
inline constexpr int kParts = kArms + 1;  // of forceps: arms, and what fills the seam between closed ones
inline constexpr std::size_t kAllParts = kParts * kInstruments;
inline constexpr double kTravelReach = 5.0;  // contacts are looked for this far, and as far as the thread flies [mm]

/// A rigid body and what moves it.
struct Obstacle {
  contact::Obstacle body;
  Vector3d velocity{0, 0, 0};  // within [from_s, until_s) [mm/s]
  double from_s = 0, until_s = kForever;
  Vector3d behind{0, 0, 0};           // what is left of motions that were cut short [mm]
  double part = 1;                    // of what is wanted that it tries in a step: less while something is in its way
  double tried = 0;                   // in this step [mm]
  std::size_t group = 0;              // of slots of memory, the first
  contact::SoftBody* soft = nullptr;  // what deforms it; then it does not move on its own

  bool flat() const noexcept { return body.shape() == contact::Obstacle::Shape::plane; }
};

struct Clamp {
  ClampParams params;
  std::size_t index = 0;  // in ThreadParams::clamps
  std::size_t vertex = 0;
  bool active = false;
  Vector3d place{0, 0, 0};  // at the end of the step [mm]
  Vector3d turn{0, 0, 0};   // of a frame, asked for in this step: rotation vector and about its tangent ...
  double spin = 0;          // ... [rad]; once the step is done, what it did not make of them
  Vector3d force{0, 0, 0}, torque{0, 0, 0};  // on the thread, of the last step [uN], [uN mm]
};

struct Load {
  ForceParams params;
  std::size_t vertex = 0;
};

struct Thread {
  std::size_t origin = 0;  // in WorldParams::threads
  rod::RodModel model;
  rod::RodState state;
  std::vector<Vector3d> x0;  // at the start of the step: the last good state
  std::vector<Clamp> clamps;
  std::vector<Load> loads;
  contact::Drive drive;
  std::size_t first = 0;  // of its vertices among all
  std::size_t constraints_first = 0, constraints_count = 0;
  double rest_edge = 0;                     // rest length of an edge but for its scale [mm]
  double drawn_edge = 0;                    // length of an edge as drawn, or of a unit [mm]
  double density = 0, drag = 0;             // mass [g/mm] and drag [uN s/mm^2] per length as drawn
  double thinnest = 0;                      // of its radii, where they differ [mm]
  double needle_from = 0, needle_to = 0;    // along it as drawn [mm]; equal: no needle
  double needle_density = 0;                // mass per length [g/mm]
  std::size_t block = 1;                    // units of its longest edge; above 1 it is adaptive
  std::vector<std::uint32_t> slots{};       // of memory, of each vertex, counted from `first`
  std::vector<std::uint32_t> free_slots{};  // that no vertex has
  std::uint32_t division = 0;               // how often edges came or went
  std::size_t pool = 0;                     // most vertices that it may have
  std::size_t first_edge = 0;               // of those of the thread as drawn, and how many a ring of them had, else 0
  std::size_t ring_edges = 0;
  bool inertial = false;
  bool moved_by_clamps = false;  // in this step
  double energy_before = 0;      // kinetic and elastic, at the start of the step; inertial only
};

/// Vertices of its needle, first and last; equal: none.
inline std::pair<std::size_t, std::size_t> needle_vertices(const Thread& t) noexcept {
  if (!(t.needle_to > t.needle_from)) return {0, 0};
  const double first = std::ceil(t.needle_from / t.drawn_edge - 1e-6), last = t.needle_to / t.drawn_edge + 1e-6;
  return {static_cast<std::size_t>(std::max(0.0, first)), std::min(static_cast<std::size_t>(last), t.x0.size() - 1)};
}

inline SnapshotVertex shown_at(const Vector3d& x) noexcept {
  return {static_cast<float>(x.x()), static_cast<float>(x.y()), static_cast<float>(x.z())};
}

/// The vertex that is its needle's point.
inline std::uint32_t point_of(const Thread& t) noexcept {
  const auto [first, last] = needle_vertices(t);
  if (first == last) return 0xffffffffu;
  return static_cast<std::uint32_t>(last + 1 == t.x0.size() ? last : first);
}

/// A cut to come, with memory for what it makes: two pieces, or of a closed thread one.
struct Cut {
  double time_s = 0;
  std::size_t thread = 0;  // which, among those there are then
  std::size_t vertex = 0;  // of that thread; both pieces get it
  std::vector<Thread> pieces;
};

/// What a contact remembers from step to step, by persistent identity: (obstacle or arm, number, vertex).
/// Slots come in groups, one slot for every vertex.
struct Memory {
  Vector3d force{0, 0, 0};   // W [uN]
  Vector3d normal{0, 0, 0};  // the side the thread is on  W
  bool live = false;
};

/// What adapt() works with; takes no memory in a step.
struct Adapting {
  std::vector<double> allowed, kept;  // units that an edge may have: to stay whole, to be joined  (largest pool)
  std::vector<unsigned char> marked,
      touched;  // edges to be divided; edges with a contact                 (largest pool)
  std::vector<std::uint32_t> old_vertex, new_vertex;  // what a vertex was, and will be             (largest pool)
  std::vector<contact::EdgeMove> moves;               //                                            (largest pool)
  std::vector<std::vector<Vector3d>> aims;            // where vertices go, of each thread, then                (pool)
  std::vector<std::vector<unsigned char>> fresh, going;  // those that are new, and those that go (pool)
};

/// Of a tissue that nothing holds, in one step.
struct Joined {
  std::uint32_t first = 0;  ///< of those that press on each other, this one among them
  bool borne = false;       ///< something else presses on it
};

struct World::State {
  WorldParams params;
  Capacity capacity;
  instrument::Mount mount;
  std::vector<Obstacle> obstacles;
  std::vector<std::uint32_t> slot_groups;  // whose each is, of the obstacles; those of the arms follow
  std::vector<Thread> threads;             // a piece that was cut off comes last
  std::vector<Cut> cuts;                   // in order of time
  std::size_t cuts_made = 0;
  std::vector<Cut> spare_cuts;  // what hands may cut: memory for two pieces as long as any thread
  std::size_t spare_cuts_made = 0;
  bool cut_wanted = false;
  std::vector<Forceps> forceps;
  std::array<Grasp, kInstruments> grasps;
  std::vector<Memory> memory;
  std::vector<Constraint> constraints;           // grouped by thread
  std::vector<Constraint> constraints_before;    // as they were when the step began
  std::vector<contact::ThreadSystem> systems;    // one a thread, and one a piece to come
  std::vector<contact::ImplicitStep> alone;      // one
  std::vector<contact::CoupledStep> coupled;     // one
  std::vector<contact::Strand> strands, starts;  // these three: one a thread
  std::vector<contact::StepProblem> problems;
  std::uint32_t channels = 0;                 // that were ever there: the number of the next
  std::vector<tissue::Tissue> tissues;        // their surfaces are the last of the obstacles
  std::vector<std::size_t> surface_vertices;  // of each
  std::vector<char> began_close;              // of each, in the first step: nearer to another body than skins keep it
  std::vector<double> kinetic_before, elastic_before;  // of each that floats, when the step began [uN mm]
  std::vector<Joined> joined;                          // of each
  std::vector<const contact::Obstacle*> bodies;        // of the obstacles, then of the arms of forceps
  std::vector<contact::SoftBody*> soft_bodies;         // likewise, null where it is rigid
  std::vector<contact::RigidSurface> surfaces;         // of obstacles, as tissue meets them
  std::vector<contact::RigidSurface*> rigid_surfaces;  // those, as bodies; null where there is none
  bool curved = false;                                 // one of them is not a plane
  std::vector<const Vector3d*> ends, begins;
  std::vector<std::vector<double>> moves;  // of each vertex in this step, as far as it can be foreseen [mm]
  std::vector<Vector3d> along_arm;         // where the spheres of an arm are, against tissue
  std::vector<contact::Passage> spared;    // what forceps hold of threads
  Adapting adapting;
  bool moved_together = false;  // in this step: by coupled[0]
  double left_of_motion = 0;  // fraction of what was prescribed that this step did not make
  contact::ConeSettings cone_settings;
  contact::StepSettings settings;
  Vector3d gravity{0, 0, 0};
  std::size_t scheduled = 0;  // entries of the schedule that have been applied
  InlineExecutor here;
  Executor* executor = &here;
  StageObserver observer = nullptr;
  void* observer_context = nullptr;
  bool inject = false;

  std::size_t vertices = 0;  // of all threads once every cut is made
  std::uint64_t step = 0;
  std::uint32_t grasp_count = 0, resets = 0;
  std::uint32_t grasps_at_start = 0;  // made before the first step, which reports them
  std::uint64_t sample_sequence = 0;
  std::int64_t sample_mid_exposure_ns = 0, sample_captured_ns = 0;
  std::uint8_t cameras_alive = 0;

  void stage(StepStage s) const noexcept {
    if (observer) observer(observer_context, s);
  }
  double time_s() const noexcept { return static_cast<double>(step) * params.step_s; }
  std::size_t slot_of(std::size_t group, const Thread& t, std::size_t vertex) const {
    return group * vertices + t.first + t.slots[vertex];
  }
  std::size_t group_of(std::size_t body) const {
    return body < obstacles.size() ? obstacles[body].group : slot_groups.size() + body - obstacles.size();
  }

  // instruments
  void move_instruments(const InstrumentSample& sample, StepReport& report) noexcept;
  Pose jaws(std::size_t f) const noexcept;  // where they are, pushed as they are by what they touch
  bool try_grasp(std::size_t f) noexcept;
  void let_go(std::size_t f) noexcept;
  void release_frame(std::size_t f) noexcept;
  bool is_held(std::size_t f, std::uint32_t thread, std::size_t vertex) const noexcept;
  void keep_beside(std::size_t f, const instrument::Held& left, double slid_mm) noexcept;
  double beside_jaws(std::size_t f, const instrument::Held& held) const noexcept;
  bool draw_in(std::size_t f, instrument::Held& held, const Eigen::Vector3d& slid_W, double likely) noexcept;
  void foresee_drawn_in() noexcept;
  void spare_held() noexcept;
  void spare_drawn_in() noexcept;
  void squeeze(std::size_t f, std::uint32_t thread) noexcept;
  void add_grips(std::uint32_t thread) noexcept;
  void draw_between(std::size_t f) noexcept;
  void update_grips(StepReport& report) noexcept;
  void turn_gripped_frames() noexcept;
  void add_tools();
  void lead_tools() noexcept;
  // tissues
  /// Of those that move together.
  struct TissueMotion {
    double mass = 0, kinetic = 0;        // [g], [uN mm]
    double had = 0;                      // of energy, as far as it is not in their shapes now [uN mm]
    double most = 0;                     // likewise, of what only takes some nothing counted
    Vector3d drift = Vector3d(0, 0, 0);  // of the centre of mass [mm/s]
  };
  Result<void> add_tissues();
  Result<void> add_surfaces();
  Result<void> add_sutures();
  void step_tissues_alone() noexcept;
  bool apart_from_tissues() noexcept;
  void undo_tissues(double fraction) noexcept;
  void note_energies() noexcept;
  void note_close_starts() noexcept;
  void join_tissues() noexcept;
  TissueMotion motion_of_joined(std::uint32_t first) noexcept;
  double thrown_by_energy() noexcept;
  void limit_tissue_energy() noexcept;
  void finish_tissues() noexcept;
  bool go_on_in_channel(std::uint32_t thread, std::size_t point, contact::Ring hole, StepReport& report) noexcept;
  void pierce(StepReport& report) noexcept;
  Vector3d hole_of(const contact::Ring& ring) const noexcept;
  void show_tissues(SceneSnapshot& out) const noexcept;
  // drive
  void apply_schedule() noexcept;
  void add_obstacle(contact::Obstacle body, const ObstacleParams& params);
  void move_obstacles() noexcept;
  void begin_clamps(Thread& thread) noexcept;
  void load_thread(Thread& thread, double at_s) const noexcept;
  void drive_thread(Thread& thread) noexcept;
  void measure_clamps(Thread& thread) noexcept;
  // cut
  void plan_cuts();
  void apply_cuts(StepReport& report) noexcept;
  void cut(Cut& cut) noexcept;
  bool cut_between_jaws(std::size_t f) noexcept;
  void divide_rings(const Cut& cut) noexcept;
  void divide_memory(Cut& cut) noexcept;
  void divide_contacts(const Cut& cut) noexcept;
  void divide_grasps(const Cut& cut) noexcept;
  void yield() noexcept;  // world
  // adapt
  void take_adapt_memory();
  void adapt(StepReport& report) noexcept;
  bool pinned(std::uint32_t thread, std::size_t vertex) const noexcept;
  void ask(std::uint32_t thread, bool of_shape) noexcept;
  std::size_t choose_divisions(std::uint32_t thread) noexcept;
  void divide(std::uint32_t thread, std::size_t count) noexcept;
  std::size_t choose_joins(std::uint32_t thread) noexcept;
  void aim(std::uint32_t thread) noexcept;
  void join(std::uint32_t thread) noexcept;
  void renumber(std::uint32_t thread, const std::uint32_t* now, std::size_t edges) noexcept;
  // detect
  void detect(StepReport& report) noexcept;
  void detect_obstacles(std::uint32_t thread) noexcept;
  void detect_plane(std::uint32_t thread, const Obstacle& obstacle) noexcept;
  void recall_bodies() noexcept;
  void remember_bodies(StepReport& report) noexcept;
  void warm_start() noexcept;
  // solve, integrate
  contact::ThreadSystem& system_of(const Thread& t) noexcept {
    return systems[static_cast<std::size_t>(&t - threads.data())];
  }
  contact::Strand strand_of(const Thread& t) const noexcept {
    return {.x = t.state.x.data(),
            .vertices = t.state.x.size(),
            .closed = t.model.closed,
            .radius = t.model.radius,
            .rest_length = t.model.rest_length,
            .thread = t.block > 1 ? 0xffffffffu : static_cast<std::uint32_t>(t.origin),  // is not cut
            .first_edge = static_cast<std::uint32_t>(t.first_edge),
            .ring_edges = static_cast<std::uint32_t>(t.ring_edges),
            .node = t.model.graded() ? t.model.node.data() : nullptr,
            .turns = t.model.angles_unknown,
            .division = t.division,
            .radii = t.model.sections.empty() ? nullptr : t.model.sections.radius.data(),
            .thinnest = t.thinnest,
            .point = point_of(t)};
  }
  contact::Bodies all_bodies() const noexcept {
    return {bodies.data(), bodies.size(), 0, soft_bodies.data(), rigid_surfaces.data(), obstacles.size(), &spared};
  }
  contact::StepProblem problem_of(Thread& t) noexcept {
    return {&t.model, &t.x0, &t.state, &t.drive, constraints.data() + t.constraints_first, t.constraints_count};
  }
  void restore(Thread& thread, StepReport& report) noexcept;
  void solve_alone(Thread& thread, StepReport& report) noexcept;
  /// @param as_met contact::CoupledSettings::as_met
  void solve_together(StepReport& report, bool as_met = false) noexcept;
  bool went_round() noexcept;
  bool lift_off_planes() noexcept;
  void solve(StepReport& report) noexcept;
  void guard_obstacles(StepReport& report) noexcept;
  void cut_motion(double fraction) noexcept;
  void note_ways() noexcept;
  void go_straight(double part) noexcept;
  bool straight_way_proven() noexcept;
  void limit_energy(Thread& thread) noexcept;
  void integrate(StepReport& report) noexcept;
};

}  // namespace ligature::world
