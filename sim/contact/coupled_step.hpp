#pragma once
/// The implicit step of threads that touch themselves, each other, tissue and what tools do to it: Newton's method over
/// all of them together.
///
/// One iteration: every thread is assembled and factored, with what it touches of rigid bodies inside its band; the
/// motion that follows without a change of the forces between strands is solved for; the contacts between strands are
/// found where they are now; their coupling matrix W = J A^-1 J^T turns the rest into one cone problem in these forces
/// alone; with them all threads move. The thesis (3.7) does one such iteration a step; here they go on until forces are
/// in balance or the bound is reached.
///
/// Nothing passes through anything: the move of an iteration is cut short before two strands would cross, and each move
/// is proven free of crossings before it counts. What is held then stays behind, by a fraction that the outcome tells,
/// and catches up in the steps that follow.
///
/// Two drags come and go, so that a linearisation holds for the move that is made with it (a trust region): one on all
/// vertices, while moves would be longer than kMostMove or contacts slide by more than kMostSlid or kMostTurn; and one
/// on the vertices near contacts, while the forces that are out of balance there do not fall from one iteration to the
/// next, or among tissue, and where strands touch rigid bodies alone or nothing holds them, while moves turn back.
#include <algorithm>
#include <array>
#include <vector>

#include "sim/base/executor.hpp"
#include "sim/base/hash.hpp"
#include "sim/contact/body_contacts.hpp"
#include "sim/contact/clearance.hpp"
#include "sim/contact/cone_problem.hpp"
#include "sim/contact/continuous.hpp"
#include "sim/contact/coupling.hpp"
#include "sim/contact/jams.hpp"
#include "sim/contact/mesh_contacts.hpp"
#include "sim/contact/obstacle_guard.hpp"
#include "sim/contact/rings.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/soft_coupling.hpp"
#include "sim/contact/stops.hpp"
#include "sim/contact/strand_contacts.hpp"
#include "sim/contact/thread_system.hpp"
#include "sim/contact/tissue_contacts.hpp"
#include "sim/contact/tissue_guard.hpp"
#include "sim/contact/tolerances.hpp"
#include "sim/contact/tools.hpp"
#include "sim/contract/step_report.hpp"

namespace ligature::contact {

struct CoupledSettings {
  StepSettings step;
  ConeSettings cone;
  /// Among bodies that deform: linearisations, each as its coupled contacts and kWorkWithout more, at most.
  double most_work = 1e300;
  double friction = 0;              ///< mu between strands
  double body_friction = 0;         ///< mu between strands and rigid bodies
  double soft_friction = 0;         ///< mu between strands and bodies that deform, rims of holes in them too
  double tool_friction = 0;         ///< mu between tools or rigid bodies and these
  double tool_thread_friction = 0;  ///< mu between tools and strands
  double tissue_friction = 0;       ///< mu between bodies that deform
  bool between = true;              ///< strands touch each other; else they pass through
  /// Contacts keep the place and normal with which strands met each other or a rigid body in this step, as if the
  /// impact were at one instant.
  bool as_met = false;
};

struct CoupledOutcome {
  int iterations = 0;   ///< linearisations of all threads
  double residual = 0;  ///< force imbalance of a vertex over the load
  int cone_iterations = 0;
  double cone_residual = 0;     ///< of the last cone problem
  double motion = 1;            ///< fraction of the prescribed motion that was made
  std::uint32_t prevented = 0;  ///< moves that were cut short before strands crossed
  std::uint32_t unproven = 0;   ///< pairs that could not be proven apart; the move was undone
  bool converged = false, limited = false, finite = true;
  bool overflow = false;  ///< more contacts than capacity: the deepest were kept
  bool gave_way = false;  ///< in the end a contact bears kMostStrandForce
};

/// Told at the end of each stage of an iteration.
struct StageWatch {
  void (*done)(void* context, StepStage stage) noexcept = nullptr;
  void* context = nullptr;
  void operator()(StepStage stage) const noexcept {
    if (done) done(context, stage);
  }
};

/// Asked after each move, before contacts are found again: what bodies hold of strands may have become more
/// (Bodies::spared).
struct SpareMore {
  void (*ask)(void* context) noexcept = nullptr;
  void* context = nullptr;
  void operator()() const noexcept {
    if (ask) ask(context);
  }
};

/// Workspace; takes all memory in the constructor.
class CoupledStep {
 public:
  static constexpr std::size_t kMostContacts = 768;  ///< that are coupled at once
  static constexpr std::size_t kMostRings = 64;
  static constexpr std::size_t kMostStops = 256;
  static constexpr std::size_t kMostToolContacts = 768;
  static constexpr std::size_t kMostTissueContacts = 2048;

  /// @param most_vertices of all threads together, @param most_contacts that are coupled (at most kMostContacts)
  CoupledStep(std::size_t most_threads, std::size_t most_vertices, std::size_t most_contacts);

  /// True when strands touch, or nearly: then solve() is for all threads. @param motion bound on how far a vertex moves
  /// in this step, as far as it is known [mm]. @rt as below
  bool near(const Strand* strands, std::size_t count, double motion) noexcept;
  /// True when strands touch bodies with a curved surface, or tools or each other soft ones, or nearly: then solve() is
  /// for all threads, too. Begins where bodies().known() says, and the step of tools(): again only after
  /// tools().go_back(0).
  /// @param bodies where they are at the start of the step, @param moves that bound, vertex by vertex  (strands); or
  /// null
  bool near_bodies(const Strand* strands, std::size_t count, const Bodies& bodies, double motion,
                   const std::vector<double>* moves = nullptr) noexcept;
  /// After threads were moved each alone: false when one would have passed through a body, or touches one in the end.
  bool apart_from_bodies(const Strand* from, const Strand* to, std::size_t count, Bodies bodies) noexcept;
  /// True when the straight way of a step leads a strand through a rigid body, across itself: what slides along itself
  /// round a sharp edge cuts that off, too.
  bool went_round_body(const Strand* from, const Strand* to, std::size_t count, const Bodies& bodies) noexcept;
  /// True when no strands cross while all go straight from one place to the other.
  bool uncrossed(const Strand* from, const Strand* to, std::size_t count) noexcept;
  /// After threads were moved each alone: false when strands would have crossed on the way, or touch in the end, or
  /// come nearer to each other or to themselves than Clearance lets them.
  bool apart(const Strand* from, const Strand* to, std::size_t count) noexcept;

  /// Moves all threads; systems and problems: one a strand, systems not begun. The strands' vertices are those of the
  /// problems' states. @pre near() (where strands touch each other) and near_bodies() were called
  /// @rt bounded by iterations * (vertices + contacts^2 * cone iterations), no allocation
  CoupledOutcome solve(ThreadSystem* systems, const StepProblem* problems, const Strand* strands, std::size_t count,
                       const CoupledSettings& settings, Executor& executor, StageWatch stage,
                       SpareMore spare_more = {}) noexcept;

  /// What contacts did on a body that deforms in this step, by the forces at its end. [uN mm]
  /// @param by_tissue  whether other tissue and obstacles count; threads and forceps always do
  double work_on(std::uint32_t body, bool by_tissue) noexcept;
  /// Likewise on a strand, what rims do on its slopes left out. @param systems that were solved for
  double work_on_strand(std::uint32_t strand, const ThreadSystem* systems) noexcept;

  StrandContacts& contacts() noexcept { return contacts_; }
  const StrandContacts& contacts() const noexcept { return contacts_; }
  Rings& rings() noexcept { return rings_; }
  const Rings& rings() const noexcept { return rings_; }
  /// Led by the caller before near_bodies(), where their bodies are the last of all; finished by solve(), or by the
  /// caller where threads moved alone.
  Tools& tools() noexcept { return tools_; }
  const Tools& tools() const noexcept { return tools_; }
  /// Known from step to step, begun by near_bodies().
  TissueContacts& tissues() noexcept { return tissue_contacts_; }
  const TissueContacts& tissues() const noexcept { return tissue_contacts_; }
  Stops& stops() noexcept { return stops_; }
  BodyContacts& bodies() noexcept { return body_contacts_; }
  const BodyContacts& bodies() const noexcept { return body_contacts_; }
  /// With meshes, rigid or deforming; known from step to step, begun by near_bodies(). Whoever ends a step calls
  /// remember().
  MeshContacts& on_meshes() noexcept { return mesh_contacts_; }
  const MeshContacts& on_meshes() const noexcept { return mesh_contacts_; }
  /// What is carried from step to step.
  void add_to(StateHash& hash) const noexcept {
    contacts_.add_to(hash);
    rings_.add_to(hash);
    tools_.add_to(hash);
    tissue_contacts_.add_to(hash);
    mesh_contacts_.add_to(hash);
    stops_.add_to(hash);
    hash.add(drag_);
    hash.add(knot_drag_);
    hash.add(moved_);
    hash.add(recovered_);
    hash.add(led_);
    hash.add(static_cast<std::uint64_t>(went_back_));
  }
  /// The last cone problem, and the forces it began with: what print_cone_problem() takes.
  ConeProblem last_problem() const noexcept;
  const double* last_start() const noexcept { return start_.data(); }

 private:
  /// What a step is of: the same in all of its linearisations.
  struct Given {
    ThreadSystem* systems;
    const StepProblem* problems;
    const Strand* strands;
    std::size_t count;
    const CoupledSettings& settings;
    Executor& executor;
    StageWatch stage;
    SpareMore spare_more;
  };
  /// How far a step has come.
  struct Course {
    int iteration = 0;                      ///< linearisations before this one
    double diameter = 0, rest = 0;          ///< of the thickest strand, longest edge [mm]
    bool among_tissue = false;              ///< there are bodies that deform, ...
    bool in_hands = false;                  ///< ... and jaws or clamps hold a strand
    double most_move = 0;                   ///< of a vertex in one linearisation [mm]
    double body_furthest = 0;               ///< motion of any body in this step, ...
    double carried = 0;                     ///< ... of meshes, ...
    double rigid_travel = 0;                ///< ... of what tissue meets, at most [mm]
    double body_reach = 0, tool_reach = 0;  ///< that contacts with them are looked for in, at most [mm]
    int parts = 0;                          ///< that the prescribed motion is made in; 0: none is near
    double most_led = 1;                    ///< fraction of it that this step makes
    double motion = 1;                      ///< ... that is made
    double asked = 1;                       ///< ... that will be after this linearisation
    double travelled = 0;                   ///< since pairs were gathered, at most [mm]
    double shifted = 0, slid = 0;           ///< since contacts were found: any vertex, contacts [mm]
    double moved_before = 0, gone = 0;      ///< the move before the last, all moves, at most [mm]
    double furthest = 0;                    ///< motion by this linearisation of any vertex, ...
    double led = 0;                         ///< ... of those that are held, ...
    double knots_moved = 0;                 ///< ... of those near contacts, ...
    double most_slid = 0;                   ///< ... of contacts against each other, where that turns normals [mm]
    double over = 0;                        ///< of the last move, over what is trusted
    double went = 1;                        ///< fraction of it that was made
    double knots_before = 0;                ///< imbalance near contacts before the last move [uN]
    double knot_drag = 0, drag_force = 0;   ///< there in the last linearisation [uN/mm], and by its move [uN]
    double first_load = 0;                  ///< when the step began [uN]
    double soft_before = 1e9, relax = 1;    ///< last move of soft bodies [mm], and what part of it is made now
    double work = 0;                        ///< so far, in coupled contacts
    bool worked = false;                    ///< as much as it may cost
    bool calm = false;                      ///< threads are in balance and at rest
    bool still = false, cut = false;        ///< of the last move: nothing moved; it was cut short
    bool met = false, met_body = false;     ///< strands press on each other, on a rigid body
    bool hands_wait = false;                ///< for one linearisation
    int blocked = 0;                        ///< moves on end that led nowhere
    /// @returns the fraction of the prescribed motion that a linearisation from here leads to
    double led_to(double made) const noexcept {
      return parts > 0 && made < most_led ? std::min(most_led, made + most_led / parts) : most_led;
    }
  };
  /// Forces where strands and bodies are.
  struct Balance {
    ThreadSystem::Imbalance worst;
    double load = 0, rounding = 0;  ///< [uN]
    bool on_bodies = false;         ///< strands touch rigid bodies alone, or nothing holds them
    bool by_moves = false;          ///< the drag near contacts goes by how moves lie to each other
  };
  struct Row {
    enum class Of : std::uint8_t { strands, body, mesh, ring, strut, tool, tissue };
    std::size_t contact = 0;  ///< in contacts_, body_contacts_, mesh_contacts_, rings_, tools_ or tissue_contacts_
    Of of = Of::strands;
  };
  static Tools::By touched_by(const Row& row) noexcept {
    return row.of == Row::Of::tool ? Tools::By::tissue : Tools::By::thread;
  }
  static bool between_bodies(const Row& row) noexcept { return row.of == Row::Of::tool || row.of == Row::Of::tissue; }
  StrandContact& contact_of(const Row& row) noexcept {
    if (row.of == Row::Of::strands) return contacts_.contacts()[row.contact];
    if (row.of == Row::Of::tissue) return tissue_contacts_.contacts()[row.contact].contact;
    if (row.of == Row::Of::body) return body_contacts_.contacts()[row.contact].contact;
    if (row.of == Row::Of::mesh) return mesh_contacts_.contacts()[row.contact].contact;
    if (row.of == Row::Of::strut) return rings_.struts()[row.contact];
    return row.of == Row::Of::ring ? rings_.contacts()[row.contact] : tools_.contacts()[row.contact].contact;
  }
  /// visit(contact, row) for those between strands, then for those with bodies, rigid and soft, then for rings, struts,
  /// tools, tissues.
  template <class Visit>
  void visit_contacts(const Visit& visit) noexcept;
  template <class Visit>
  void visit_soft(const Visit& visit) const noexcept;
  /// visit(surface) of the rigid bodies that tissue meets.
  template <class Visit>
  void visit_rigid_surfaces(const Visit& visit) const noexcept;
  /// visit(contact) for those with rigid bodies, meshes last.
  template <class Visit>
  void visit_rigid(const Visit& visit) const noexcept;
  /// Of a contact with a mesh: on a face of a rigid one.
  bool on_flat(const Row& row) const noexcept {
    const BodyContact& c = mesh_contacts_.contacts()[row.contact];
    return c.number == static_cast<std::uint32_t>(StrandFeature::face) && is_rigid(c.contact);
  }
  bool is_rigid(const StrandContact& c) const noexcept { return !bodies_.soft_of(c.pair.edge_b); }
  bool on_rigid(const StrandContact& of_tissue) const noexcept {
    return bodies_.rigid_of(of_tissue.pair.edge_a) || bodies_.rigid_of(of_tissue.pair.edge_b);
  }
  // The course of a step (coupled_step.cpp), in the order of solve().
  Course begin(const Given& given) noexcept;
  Balance assemble(const Given& given, const Course& course, bool last) noexcept;
  void find_again(const Given& given, const Course& course, CoupledOutcome& out) noexcept;
  void keep_bodies(const Given& given, const Course& course) noexcept;
  void find_strands_again(const Given& given, Course& course, CoupledOutcome& out) noexcept;
  void add_known_forces(const Given& given, Balance& balance) noexcept;
  void judge(const Given& given, Course& course, Balance& balance, CoupledOutcome& out) noexcept;
  void linearise(const Given& given, Course& course, const Balance& balance) noexcept;
  void count_work(const Given& given, Course& course, CoupledOutcome& out) noexcept;
  void steer_knot_drag(const Given& given, bool first) noexcept;
  bool measure(const Given& given, Course& course) noexcept;
  double trusted(const Given& given, Course& course, CoupledOutcome& out) noexcept;
  void advance(const Given& given, Course& course, double fraction) noexcept;
  void finish(const Given& given, const Course& course, CoupledOutcome& out) noexcept;

  double meshes_travel() const noexcept;
  int body_parts(const Given& given, double most_move) const noexcept;
  double least_skin() const noexcept;
  TissueReach reach_of_tissue(double furthest, bool by_step) const noexcept;
  /// Contacts with soft bodies within `reach` and what each vertex is foreseen to move, move(strand, vertex).
  /// @param furthest bound on all of them [mm]. @returns how many did not fit
  template <class Move>
  std::size_t find_on_meshes(const Strand* strands, std::size_t count, double reach, double furthest,
                             const Move& move) noexcept;
  bool strands_press() const noexcept;  ///< on each other
  bool loose(const Given& given, double load) const noexcept;
  double worst_penetration() const noexcept;
  bool tissues_apart() const noexcept;
  double find_knots(const Given& given, double diameter) noexcept;

  // Its contacts (coupled_contacts.cpp).
  void couple(const Given& given, double diameter, CoupledOutcome& out) noexcept;
  void choose(const Given& given, double diameter, CoupledOutcome& out) noexcept;
  void add_rim_slopes(const ThreadSystem* systems, const Strand* strands) noexcept;
  void build_coupling(const Given& given) noexcept;
  void add_soft_coupling() noexcept;
  void take_out_known_forces() noexcept;
  void turn_with_rims() noexcept;
  ConeSettings cone_settings(const Given& given, double diameter, const CoupledOutcome& out) noexcept;
  void put_on(ThreadSystem* systems) noexcept;
  void pull_rims(ThreadSystem* systems) noexcept;
  void stiffen_places(const Given& given) const noexcept;
  void let_slide(const Given& given) noexcept;
  /// The number of the tool that a strand touches there, or none.
  static constexpr std::size_t kNoTool = static_cast<std::size_t>(-1);
  std::size_t tool_of(const StrandContact& c, const Row& row) const noexcept;
  Vector3d relative(const StrandContact& c, const Row& row, const ThreadSystem* systems) const noexcept;
  Vector3d strand_slid(const StrandContact& c, std::uint32_t strand, std::uint32_t edge, double at, const Vector3d& out,
                       const ThreadSystem* systems) const noexcept;
  Vector3d slid_so_far(const StrandContact& c, const Row& row, const ThreadSystem* systems) const noexcept;
  Vector3d body_moved(const StrandContact& c, const Row& row, bool ahead) const noexcept;
  Vector3d soft_moved(const StrandContact& c, bool by_step) const noexcept;
  Vector3d tissue_moved(const Row& row, bool by_step) const noexcept;
  void push(ThreadSystem* systems, const StrandContact& c, const Row& row, const Vector3d& force, bool right) noexcept;

  // Its moves (coupled_moves.cpp).
  double let_through(const Given& given, Course& course, double fraction, CoupledOutcome& out) noexcept;
  double proven(const Given& given, double fraction, CoupledOutcome& out) noexcept;
  bool go_back(const Given& given, Course& course) noexcept;
  bool go_half_back(const Given& given, Course& course) noexcept;
  bool stretched(const Given& given) const noexcept;
  void shift_free(const Given& given) noexcept;
  void place_trial(const Given& given, double fraction) noexcept;
  double safe_fraction(const Given& given, double fraction) noexcept;
  bool give_way(const Strand* strands, double fraction) noexcept;
  double move_jams_as_one(const ThreadSystem* systems) noexcept;
  SoftVerdict look_tools(const SoftBody& body, const Vector3d* const* to, const SoftMotion& motion, double share,
                         std::vector<Stopped>* stopped = nullptr) const noexcept;
  std::uint32_t number_of(const SoftBody& body) const noexcept;

  const Strand* strands_ = nullptr;  ///< of the step that is being solved
  StrandContacts contacts_;
  BodyContacts body_contacts_;
  MeshContacts mesh_contacts_;
  Rings rings_;
  Tools tools_;
  TissueContacts tissue_contacts_;
  Stops stops_;
  std::vector<Stopped> in_way_;                  ///< of the last move, strands against soft bodies, ...
  std::vector<Stopped> tools_in_way_;            ///< ... arms of tools against them ...
  std::vector<Stopped> folds_in_way_;            ///< ... and these against each other
  std::vector<StoppedAtObstacle> at_obstacles_;  ///< strands against rigid bodies
  std::vector<StoppedAtObstacle> jammed_at_;     ///< those of them that go with the body in this linearisation
  SoftCoupling soft_coupling_;
  Bodies bodies_;           ///< of this step
  double body_motion_ = 0;  ///< fraction of their motion that they make in this linearisation
  CrossingGuard guard_;
  Clearance clearance_;
  Coupling coupling_;
  ConeSolver solver_;
  Jams jams_;                                   ///< of the last move
  std::vector<Row> rows_;                       ///< the coupled contacts
  std::vector<StrandContact> chosen_;           ///< copies of them, side by side
  std::vector<Eigen::Matrix3d> axes_;           ///< of each: n, t1, t2
  std::vector<double> q_, mu_, force_, start_;  ///< of the cone problem; start_: forces it began with
  std::vector<std::array<double, 2>> slid_;     ///< so far, along the second and third axis of each [mm]
  /// A spring by which the force of a ring's contact turns; `slope` follows the contacts in chosen_.
  struct RimSpring {
    std::size_t row = 0, slope = 0;
    Coupling::Along along;
    double stiffness = 0, at = 0;
  };
  std::vector<RimSpring> springs_;
  std::vector<Vector3d> turned_;  ///< what they add to the force of each contact [uN]
  std::vector<double> slope_w_;   ///< rows of W of the slopes                                 (rings, rows)
  std::vector<const ThreadInverse*> inverses_;
  std::vector<std::vector<Vector3d>> trial_;  ///< where a move ends, of each strand
  std::vector<const Vector3d*> trial_of_;
  std::vector<std::size_t> group_;  ///< of each strand: the first of those that it hangs together with
  // Drags of the trust region: load over diameter; carried from step to step.
  double drag_ = kLeastDrag;                         ///< of all vertices together, against moves that are too long
  double knot_drag_ = kLeastDrag;                    ///< of those near contacts, against linearisations that mislead
  std::vector<std::vector<double>> own_drag_;        ///< of each vertex of each strand by knot_drag_ [uN/mm]
  std::vector<std::vector<unsigned char>> in_knot_;  ///< those that it is of
  std::vector<std::vector<Vector3d>> last_step_;     ///< of each vertex, as the last linearisation had it [mm]
  std::vector<std::vector<Vector3d>> pressed_;       ///< by rigid bodies, along the contacts' normals [uN]
  std::vector<std::vector<double>> foreseen_;        ///< how far each may move in the next one [mm]
  /// What part of how deep they are contacts with soft bodies ask for: where folds leave no room for it, the less.
  double recovered_ = 1;
  double led_ = 1;         ///< part of their way that hands lead in a step, less after many that had to go back
  int went_back_ = 0;      ///< such steps on end
  double soft_moved_ = 0;  ///< likewise a node of a soft body [mm]
  double moved_ = 0;       ///< furthest that the last move would have taken a vertex [mm]
  double reach_ = 0;       ///< that pairs were gathered for [mm]
};

}  // namespace ligature::contact
