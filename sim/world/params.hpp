#pragma once
/// Everything that decides how the world behaves (parameters) and how much memory it holds (capacity).
/// Plain data in sim's units (mm, g, s: force uN, pressure Pa); `config` fills it from a scenario file.
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::world {

/// Mechanical law of a thread: stretch EA, bend EI, twist GJ, all physical.
struct ThreadMaterial {
  double stretch_stiffness = 0;  ///< EA [uN]
  double bend_stiffness = 0;     ///< EI [uN mm^2]
  double twist_stiffness = 0;    ///< GJ [uN mm^2]
  double linear_density = 0;     ///< mass per length [g/mm]
  double drag = 4e-5;            ///< force per velocity and length [uN s/mm^2]; air 4e-5, wet 3e-3
};

/// A round thread of this diameter: EA = E A, EI = E I, GJ = E/(2(1+nu)) J.
/// @param young_pa [Pa], diameter_mm [mm], density_g_per_mm3 [g/mm^3]
ThreadMaterial round_thread(double young_pa, double poisson, double density_g_per_mm3, double diameter_mm, double drag);

/// A place on a thread: an end, a vertex number, or the vertex nearest to a rest arc length.
struct Place {
  enum class Kind : std::uint8_t { first, last, vertex, arc };
  Kind kind = Kind::first;
  std::size_t vertex = 0;  ///< Kind::vertex
  double s_mm = 0;         ///< Kind::arc
};

inline constexpr double kForever = 1e9;  ///< [s]

/// Holds a vertex, or a vertex with its tangent and material frame; may move, spin and turn it.
struct ClampParams {
  enum class Hold : std::uint8_t { position, frame };
  Place at;
  Hold hold = Hold::position;
  Vec3 velocity;              ///< W [mm/s]
  double spin_rad_per_s = 0;  ///< of the material frame about the tangent; frame only
  Vec3 turn_rad_per_s;        ///< of the held frame about world axes through the vertex; frame only
  double from_s = 0;          ///< outside [from_s, until_s) the clamp does not exist
  double until_s = kForever;
};

/// A dead load on a vertex.
struct ForceParams {
  Place at;
  Vec3 force;         ///< W [uN]
  double ramp_s = 0;  ///< grows linearly from from_s
  double from_s = 0;
  double until_s = kForever;
};

/// The stiff, curved end of a thread: an arc of wire that goes on where the drawn points end.
///
///                 direction                     the wire turns from `direction` towards `toward` by arc_rad over
///   thread o---------o-->.                      its length; of a 3/8 circle 135 degrees
///               swage      `.   | toward
///                             `.v
struct NeedleParams {
  std::string name;
  bool at_last = false;     ///< at the thread's last point, else at its first
  double arc_mm = 0;        ///< length of the wire
  double arc_rad = 0;       ///< by which it turns
  double wire_mm = 0.1;     ///< its diameter
  Vec3 direction;           ///< from the swage on; zero: as the thread ends
  Vec3 toward;              ///< zero: to its left in a horizontal plane
  ThreadMaterial material;  ///< drag is the thread's
};

struct ThreadParams {
  std::string name;
  std::vector<Vec3> points;       ///< drawn polyline, world frame [mm]; resampled to segment_mm
  double segment_mm = 0.2;        ///< rounded so that it divides the whole; of an adaptive thread the finest
  double coarsest_mm = 0;         ///< adaptive: the longest segment (grading.hpp); 0: all are segment_mm long
  std::size_t most_vertices = 0;  ///< of an adaptive thread, its pool; 0: twice those it begins with, and some
  double diameter_mm = 0.2;
  bool closed = false;
  bool rest_shape_as_given = false;  ///< else straight
  double rest_length_scale = 1;      ///< rest length = drawn length times this
  double twist_turns = 0;            ///< put in at the start, spread evenly
  Vec3 velocity;                     ///< at the start; inertial only [mm/s]
  bool inertial = true;              ///< else low-mass: drag * velocity = force (a scenario file's default)
  /// Quasi-static: twist evenly spread between held frames. Unknown: the angle of every edge's material frame is an
  /// unknown, friction between threads turns it (by itself, where a curved rest shape couples bending to twist).
  enum class TwistMode : std::uint8_t { quasi_static, unknown };
  TwistMode twist_mode = TwistMode::quasi_static;
  /// Of its fibres, beyond which a bend is kept (rod/yield.hpp); 0: it bends back. With it angles are unknowns.
  double yield_strain = 0;
  ThreadMaterial material;
  std::optional<NeedleParams> needle;  ///< of an open thread with edges of one length; its angles are unknowns
  std::vector<ClampParams> clamps;
  std::vector<ForceParams> forces;
};

/// Of the polyline as drawn, and its needle [mm].
double drawn_length(const ThreadParams& thread);

/// Where the needle lies, in lengths as drawn from the thread's first point on (which is its point, if it is there).
struct NeedleSpan {
  double from = 0, to = 0;  ///< [mm]; equal: none
};
NeedleSpan needle_span(const ThreadParams& thread);
/// Which way the needle goes at the swage, and to which side it turns: unit, at right angles.
struct NeedlePlane {
  Vec3 direction, toward;
};
/// @pre it has a needle, two points
NeedlePlane needle_plane(const ThreadParams& thread);
/// The axis of its needle from where the thread's points end to the needle's point, in the order of the thread; none
/// without a needle. W [mm]
std::vector<Vec3> wire_of(const ThreadParams& thread);

/// The vertex that a place means, of a thread of so many with edges of this rest length [mm]: the nearest; where a
/// closed thread ends it begins.
std::size_t vertex_of(const Place& at, std::size_t vertices, bool closed, double edge_mm);

/// How an adaptive thread is divided (grading.hpp).
struct Grid {
  std::size_t units = 0;  ///< of the whole thread
  std::size_t block = 1;  ///< units of the longest edge, a power of two; divides the whole
};

/// Finest edges of at most segment_mm, longest of at most coarsest_mm. Of a thread that is not adaptive all are units.
/// @pre points, segment_mm above 0
Grid grid_of(const ThreadParams& thread);

struct Friction {  ///< Coulomb, by pair
  double thread_thread = 0.3;
  double thread_obstacle = 0.2;
  double thread_tissue = 0.1;
  double thread_tool = 0.4;
  double tissue_tool = 0.5;
  double tissue_tissue = 0.05;  ///< wet: glass slides on living endothelium at 0.03 to 0.06 [Dunn 2007]
};

/// A rigid body that threads touch; it may move, without turning.
struct ObstacleParams {
  enum class Shape : std::uint8_t {
    plane,     ///< `point`, `normal`: the half space below it is solid
    sphere,    ///< `point` is its centre, `diameter_mm`
    cylinder,  ///< solid, with flat ends at `from` and `to`, `diameter_mm`
    capsule,   ///< a cylinder with half spheres at both ends
    mesh,      ///< `vertices`, `triangles`: closed, outside where they turn anticlockwise
  };
  std::string name;
  Shape shape = Shape::plane;
  Vec3 point;
  Vec3 normal{0, 0, 1};
  Vec3 from, to;
  double diameter_mm = 1;
  std::vector<Vec3> vertices;                           ///< of a mesh [mm]
  std::vector<std::array<std::uint32_t, 3>> triangles;  ///< of a mesh, into `vertices`
  Vec3 velocity;                                        ///< within [from_s, until_s) [mm/s]
  double from_s = 0, until_s = kForever;
};
inline constexpr std::size_t kMaxObstacles = 32;

/// A box in the frame of what it belongs to [mm].
struct BoxParams {
  Vec3 low, high;
};

/// A body that deforms: a vessel end, a tube with its own axis x from its first end to its last, or what a closed mesh
/// encloses.
struct TissueParams {
  std::string name;
  double outer_diameter_mm = 1.0;
  double wall_mm = 0.1;
  double length_mm = 4.0;
  Pose X_WV;  ///< vessel in W: origin in the middle of its first end
  bool fix_first = true, fix_last = false;
  int around = 20, along = 20, layers = 1;  ///< elements
  std::vector<Vec3> vertices;  ///< of a mesh, in V [mm]; empty: it is a vessel, else wall_mm is how thick ...
  std::vector<std::array<std::uint32_t, 3>> triangles;  ///< ... the mesh is where it is thin, and what else is of a
  double element_mm = 0;                                ///< vessel does not count; longest edge of its elements
  std::vector<BoxParams> fixed;                         ///< where it is held, in V
  Vec3 velocity;                                        ///< of what is held, W [mm/s]
  double young_pa = 1e6, poisson = 0.45;
  double density_g_per_mm3 = 1.05e-3;
  double relaxation_s = 0.002;     ///< of its viscosity (Kelvin-Voigt)
  double drag_per_s = 100;         ///< of the surroundings, over mass
  double pierce_force = 1e4;       ///< along a needle's point, from which on it pierces the wall [uN] ...
  double pierce_angle_rad = 1.05;  ///< ... if it stands no more aslant than this from the surface's normal
};
inline constexpr std::size_t kMaxTissues = 4;
/// What is held moves first in a step, whatever lies there: by less than a thread's radius, then [mm/s].
inline constexpr double kMostCarried = 2;

/// A thread that runs through the wall of a tissue from the start: from the hole nearest to `entry` to that nearest to
/// `exit`, which come in this order along the thread.
struct SutureParams {
  std::size_t thread = 0, tissue = 0;
  Vec3 entry, exit;                ///< W [mm]
  double hole_diameter_mm = 0.06;  ///< what the needle left
};
inline constexpr std::size_t kMaxSutures = 32;

/// Forceps: the jaws as the thread meets them. Frame T of CONTRACT (origin where the closed tips meet).
struct ForcepsParams {
  Vec3 hinge_p_T{-120, 0, 0};          ///< [mm]
  double jaw_length_mm = 12;           ///< from the tip backwards: the part that can touch and grasp
  double tip_radius_mm = 0.25;         ///< jaw radius at the tip
  double jaw_radius_mm = 0.6;          ///< jaw radius at jaw_length behind the tip
  double grasp_opening_rad = 0.026;    ///< grasps when the opening falls below ...
  double release_opening_rad = 0.039;  ///< ... and lets go above (hysteresis)
  double grasp_reach_mm = 3.0;         ///< how far behind the tip the gripping faces reach
  double grip_force = 3e5;             ///< pulled harder than this along the faces, what is grasped slides [uN]
  double hand_stiffness = 2e5;         ///< of each arm, the hand behind it [uN/mm]
  double max_speed_mm_per_s = 400;     ///< the jaws follow the hand no faster; a jump of the tracking is caught up
  double max_turn_rad_per_s = 40;      ///< likewise for their direction (about the tip) ...
  double max_opening_rad_per_s = 7;    ///< ... and their opening
};

struct SolverParams {
  /// Who solves the contacts between threads; those with rigid bodies stay inside each thread's band. nncg and pgs are
  /// the thesis's.
  enum class Contact : std::uint8_t { standard, nncg, pgs, none };  ///< none: they pass through each other
  Contact contact = Contact::standard;
  int contact_iterations = 60;  ///< bound for one contact problem (10 in the thesis)
  int iterations = 50;          ///< bound for one step, in linear solves; 1 = one linearisation, as the thesis does
  /// Bound for one step among tissue, in what its linear solves cost: each as the contacts coupled in it and 20 more; a
  /// motion that hands lead is always made, and answered once. 0: none but `iterations`.
  int work = 0;
  double residual_target = 1e-9;  ///< force imbalance over the forces that act
  double implicitness = 1;        ///< lambda: forces are taken as lambda F(end of step) + (1 - lambda) F(start)
  /// scalar: the VRIPHYS paper's simplification (tangents frozen, stiffness the same in all directions), to compare.
  enum class Linearisation : std::uint8_t { full, scalar };
  Linearisation linearisation = Linearisation::full;
};

/// Changes a number while the world runs.
struct ScheduleEntry {
  enum class Key : std::uint8_t {
    friction_thread_thread,
    friction_thread_obstacle,
    friction_thread_tissue,
    friction_thread_tool,
    rest_length_scale,  ///< of thread `index`
    drag,               ///< of thread `index` [uN s/mm^2]
    gravity,            ///< `vector` [mm/s^2]
    obstacle_velocity,  ///< of obstacle `index`, `vector` [mm/s]
    tissue_velocity,    ///< of what is fixed of tissue `index`, `vector` [mm/s]
  };
  double time_s = 0;
  Key key = Key::friction_thread_thread;
  std::size_t index = 0;
  double value = 0;
  Vec3 vector;
};

/// Cuts a thread between two vertices, at the joint nearest to a rest arc length; the piece behind becomes a thread of
/// its own (a closed thread becomes one open thread).
struct CutParams {
  std::size_t thread = 0;
  double s_mm = 0;
  double time_s = 0;
};

inline constexpr std::size_t kMostHandCuts = 6;
struct Capacity {
  std::size_t vertices = 4096;
  std::size_t contacts = 2048;
  std::size_t cuts = 0;  ///< that hands may make (World::cut_held), beside those that are planned
};

struct WorldParams {
  double step_s = 0.005;
  Vec3 gravity;  ///< [mm/s^2]
  Friction friction;
  SolverParams solver;
  std::vector<ThreadParams> threads;
  std::vector<ObstacleParams> obstacles;
  std::vector<TissueParams> tissues;
  std::vector<SutureParams> sutures;
  std::vector<ScheduleEntry> schedule;
  std::vector<CutParams> cuts;
  std::array<ForcepsParams, kInstruments> forceps;
  bool forceps_present = true;
  Pose X_RW;                    ///< where the world lies in the rig; identity when samples are already in W
  double motion_scale = 1.0;    ///< world travel per travel of the hand
  double lost_release_s = 0.3;  ///< a lost instrument lets go, gently, after this long
};

}  // namespace ligature::world
