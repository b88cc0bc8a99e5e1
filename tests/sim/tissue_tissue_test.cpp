/// Soft bodies on each other: blocks against what theory says of them, vessel ends against each other.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "sim/contact/coupled_step.hpp"
#include "sim/tissue/tissue.hpp"
#include "sim/world/build.hpp"
#include "tests/sim/crumpled.hpp"
#include "tests/sim/tissue_block.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

using tissue::Tissue;
using tissue::TissueModel;

constexpr double kStep = 0.005, kYoung = 1e5;  // [s], [Pa]

/// A block with its corner at `low`, its grain nx by ny by nz; the nodes of the face across z named `held` are held.
TissueModel block(const Vector3d& low, const Vector3d& size, int nx, int ny, int nz, int held, double poisson = 0.3) {
  TissueModel m = tissue::bricks({.low = low, .size = size, .count = {nx, ny, nz}, .fixed = [=](int, int, int k) {
                                    return (held < 0 && k == 0) || (held > 0 && k == nz);
                                  }});
  m.material = {.young = kYoung, .poisson = poisson, .density = 1e-3, .relaxation = 0, .drag = 0};
  m.skin = 0.01;
  return m;
}

/// Tissues alone with each other; the step wants a thread, which is far away.
struct Bench {
  world::Thread thread;
  std::vector<Tissue> tissues;
  std::vector<Obstacle> obstacles;
  std::vector<const Obstacle*> bodies;
  std::vector<SoftBody*> soft;
  ThreadSystem system;
  CoupledStep coupled{1, 64, 768};
  CoupledSettings settings;
  CoupledOutcome last;
  double worst_overlap = 0, worst_gap = 0;  ///< [mm]
  double worst_converged = 0;               ///< likewise, of steps that converged
  int deep = 0;                             ///< steps that left a gap worse than kDeep
  static constexpr double kDeep = 0.003;
  int worst_inverted = 0;
  std::uint32_t unproven = 0;
  std::size_t most_rows = 0;

  static world::ThreadParams far_away() {
    world::ThreadParams p;
    p.points = {{-20, 0, 50}, {-19, 0, 50}};
    p.diameter_mm = 0.1;
    p.segment_mm = 0.1;
    p.inertial = false;
    p.material = {.stretch_stiffness = 1e6, .bend_stiffness = 1e3, .twist_stiffness = 1e3, .drag = 1e-3};
    return p;
  }
  explicit Bench(std::vector<TissueModel> models)
      : thread(world::build_thread(far_away(), 0, {}, world::resample(far_away()).size())),
        system(thread.x0.size(), 4, thread.state.twist) {
    settings.step.dt = kStep;
    settings.step.iterations = 60;
    settings.step.residual_target = 1e-8;
    settings.tissue_friction = 0.1;
    for (TissueModel& m : models)
      tissues.push_back(
          std::move(*Tissue::create(std::move(m), {.dt = kStep, .iterations = 20, .residual_target = 1e-10})));
    for (Tissue& t : tissues) obstacles.push_back(Obstacle::soft(t.surface())), soft.push_back(&t);
    for (Obstacle& o : obstacles) bodies.push_back(&o);
  }
  Bodies all() { return {bodies.data(), bodies.size(), 0, soft.data()}; }
  template <class Lead>
  void step(const Lead& lead) {
    thread.x0 = thread.state.x;
    const Strand s{.x = thread.state.x.data(), .vertices = thread.state.x.size(), .radius = 0.05, .rest_length = 0.1};
    coupled.bodies().known().clear();
    coupled.near(&s, 1, 0.1);
    const bool near = coupled.near_bodies(&s, 1, all(), 0.1);
    lead();
    if (!near && alone()) return;
    const StepProblem problem{&thread.model, &thread.x0, &thread.state, &thread.drive, nullptr, 0};
    InlineExecutor executor;
    const guard::ForbidAlloc forbid;
    last = coupled.solve(&system, &problem, &s, 1, settings, executor, {});
    coupled.contacts().remember();
    unproven += last.unproven;
    most_rows = std::max(most_rows, coupled.last_problem().count);
    for (const Tissue& t : tissues) worst_inverted = std::max(worst_inverted, t.report().inverted);
    worst_overlap = std::max(worst_overlap, overlap());
    const double lacks = -least_gap();
    worst_gap = std::max(worst_gap, lacks);
    if (last.converged) worst_converged = std::max(worst_converged, lacks);
    deep += lacks > kDeep;
  }
  void step() {
    step([] {});
  }
  /// As the world does it: each for itself, unless they would meet.
  bool alone() {
    for (Tissue& t : tissues) t.begin(kStep), t.settle(20);
    const SoftVerdict between = look_tissues(all(), {0, true});
    coupled.tissues().find(all(), {});
    const bool apart = between.found + between.inside == 0 && least_gap() >= 0;
    for (Tissue& t : tissues) apart ? t.finish() : t.go_back(0);
    last = {};
    last.converged = true;
    return apart;
  }
  /// How deep a vertex of one is inside another [mm].
  double overlap() const {
    double worst = 0;
    for (const Tissue& a : tissues)
      for (const Tissue& b : tissues) {
        if (&a == &b) continue;
        for (std::size_t v = 0; v < a.surface().vertices(); ++v)
          worst = std::max(worst, -b.surface().nearest(a.surface().vertex(v), 5).distance);
      }
    return worst;
  }
  double least_gap() const {
    double least = 1e9;
    for (const TissueContact& c : coupled.tissues().contacts()) least = std::min(least, c.contact.gap);
    return least;
  }
  Vector3d force_on_first() const {
    Vector3d sum = Vector3d::Zero();
    for (const TissueContact& c : coupled.tissues().contacts()) sum += c.contact.force;
    return sum;
  }
  /// What elements push on the nodes that are held.
  Vector3d reaction(std::size_t k) {
    std::vector<Vector3d> gradient(tissues[k].nodes());
    tissues[k].elastic_energy(gradient);
    Vector3d sum = Vector3d::Zero();
    for (const std::uint32_t v : tissues[k].model().fixed) sum += gradient[v];
    return sum;
  }
  void shift_held(std::size_t k, const Vector3d& by) {
    for (const std::uint32_t v : tissues[k].model().fixed) tissues[k].hold(v, tissues[k].x()[v] + by);
  }
};

// Two blocks of other heights and grains, pressed by what holds their far ends: springs in series.
TEST(TissueOnTissue, PressedBlocksAreSpringsInSeries) {
  constexpr double kSide = 0.5, kLow = 0.4, kHigh = 0.8, kPress = 0.02;
  Bench b({block({0, 0, 0}, {kSide, kSide, kLow}, 2, 2, 2, -1, 0),
           block({0, 0, kLow + 0.025}, {kSide, kSide, kHigh}, 3, 3, 3, 1, 0)});
  b.settings.tissue_friction = 0;
  for (int i = 0; i < 10; ++i) b.step([&] { b.shift_held(1, {0, 0, -0.1 * (kPress + 0.005)}); });
  for (int i = 0; i < 60; ++i) b.step();
  const double expected = kPress * kYoung * kSide * kSide / (kLow + kHigh);
  EXPECT_NEAR(b.force_on_first().z(), -expected, 0.002 * expected);
  EXPECT_NEAR(b.reaction(0).z(), expected, 0.002 * expected);
  EXPECT_NEAR((b.reaction(0) + b.reaction(1)).norm(), 0, 1e-4 * expected);
}

// The same by what carries the held face, there and back: they come apart where they began.
TEST(TissueOnTissue, CarriedTogetherTheyPressAsSpringsAndPartAgain) {
  constexpr double kSide = 0.5, kLow = 0.4, kHigh = 0.8, kPress = 0.02, kApart = 0.005;
  Bench b({block({0, 0, 0}, {kSide, kSide, kLow}, 2, 2, 2, -1, 0),
           block({0, 0, kLow + 0.02 + kApart}, {kSide, kSide, kHigh}, 3, 3, 3, 1, 0)});
  b.settings.tissue_friction = 0;
  const double speed = (kPress + kApart) / (10 * kStep);
  b.tissues[1].carry({0, 0, -speed});
  for (int i = 0; i < 10; ++i) b.step();
  b.tissues[1].carry({0, 0, 0});
  for (int i = 0; i < 60; ++i) b.step();
  const double expected = kPress * kYoung * kSide * kSide / (kLow + kHigh);
  EXPECT_NEAR(b.force_on_first().z(), -expected, 0.002 * expected);
  EXPECT_NEAR(b.reaction(0).z(), expected, 0.002 * expected);
  b.tissues[1].carry({0, 0, speed});
  for (int i = 0; i < 10; ++i) b.step();
  b.tissues[1].carry({0, 0, 0});
  for (int i = 0; i < 60; ++i) b.step();
  EXPECT_NEAR(b.reaction(0).norm(), 0, 1e-4 * expected);
  EXPECT_NEAR(b.reaction(1).norm(), 0, 1e-4 * expected);
  EXPECT_EQ(b.worst_overlap, 0);
}

// A flat block on a larger one, pressed on it by 100 uN and drawn along it: below mu it stays, above it goes at the
// speed at which its drag takes what friction leaves.
TEST(TissueOnTissue, SlidesAboveTheFrictionAngleAndNotBelow) {
  constexpr double kPress = 100, kDrag = 1e6;
  for (const double over : {0.9, 1.5}) {
    TissueModel slider = block({0.4, 0.4, 0.311}, {0.4, 0.4, 0.1}, 3, 3, 1, 0);
    slider.material.drag = kDrag;
    Bench b({block({0, 0, 0}, {1.5, 1.2, 0.3}, 5, 4, 1, -1), std::move(slider)});
    Tissue& t = b.tissues[1];
    const double draw = over * b.settings.tissue_friction * kPress;
    double mass = 0;
    for (std::uint32_t v = 0; v < t.nodes(); ++v) mass += t.mass(v);
    for (std::uint32_t v = 0; v < t.nodes(); ++v) t.load(v, Vector3d(draw, 0, -kPress) * (t.mass(v) / mass));
    for (int i = 0; i < 20; ++i) b.step();
    const double before = t.x()[0].x();
    for (int i = 0; i < 20; ++i) b.step();
    const double speed = (t.x()[0].x() - before) / (20 * kStep);
    const Vector3d force = b.force_on_first();
    EXPECT_NEAR(force.z(), -kPress, 0.01 * kPress);
    if (over < 1) {
      EXPECT_NEAR(speed, 0, 1e-3);
      EXPECT_NEAR(force.x(), draw, 0.01 * draw);
    } else {
      const double friction = b.settings.tissue_friction * kPress;
      EXPECT_NEAR(force.x(), friction, 0.01 * friction);
      EXPECT_NEAR(speed, (draw - friction) / (kDrag * mass), 0.02 * speed);
    }
    EXPECT_EQ(b.worst_overlap, 0);
  }
}

// Two free blocks while they meet: what the one loses the other has.
TEST(TissueOnTissue, MeetingKeepsMomentumAndRepeatsItsBits) {
  std::uint64_t hash[2] = {};
  for (std::uint64_t& h : hash) {
    Bench b({block({0, 0, 0}, {0.5, 0.5, 0.3}, 3, 3, 2, 0), block({0.05, 0.1, 0.35}, {0.4, 0.3, 0.3}, 2, 3, 2, 0)});
    Tissue& t = b.tissues[1];
    t.set_state({t.x(), t.nodes()}, std::vector<Vector3d>(t.nodes(), Vector3d(0.2, 0.1, -10)));
    const auto momentum = [&] {
      Vector3d sum = Vector3d::Zero();
      for (const Tissue& k : b.tissues)
        for (std::uint32_t v = 0; v < k.nodes(); ++v) sum += k.mass(v) * k.v()[v];
      return sum;
    };
    const Vector3d at_start = momentum();
    bool met = false;
    for (int i = 0; i < 4; ++i) {
      b.step();
      met = met || b.force_on_first().norm() > 0;
    }
    EXPECT_TRUE(met);
    EXPECT_NEAR((momentum() - at_start).norm(), 0, 1e-3 * at_start.norm());
    EXPECT_EQ(b.worst_overlap, 0);
    StateHash sum;
    for (const Tissue& k : b.tissues) k.add_to(sum);
    b.coupled.add_to(sum);
    h = sum.value();
  }
  EXPECT_EQ(hash[0], hash[1]);
}

/// An end of a vessel along x whose cut is at x = at; `far` says on which side the rest of it is.
TissueModel vessel_end(double at, int far, double aside, bool held = true) {
  tissue::Vessel v;
  v.length = 2.4;
  v.along = 12;
  v.X_WV.p = {far < 0 ? at - v.length : at, aside, 0};
  v.fix_first = held && far < 0;
  v.fix_last = held && far > 0;
  return *tissue::vessel_model(v);
}

// End against end, coaxial, offset by half a wall and by a whole one: pressed together as a suture does it, then until
// they fold, and let go.
TEST(TissueOnTissue, VesselEndsPushedTogetherNeverEnter) {
  // Where they buckle, a micrometre decides how.
  for (const double aside : {0.0, 0.05, 0.050001, 0.050002, 0.1, 0.100001, 0.100002}) {
    Bench b({vessel_end(0, -1, 0), vessel_end(0.05, 1, aside)});
    b.settings.step.iterations = 12;
    b.settings.step.residual_target = 1e-4;
    const auto shift = [&](int count, double by) {
      for (int i = 0; i < count; ++i) b.step([&] { b.shift_held(1, {by, 0, 0}); });
    };
    const auto rest = [&](int count) {
      for (int i = 0; i < count; ++i) b.step();
    };
    shift(5, -0.025);
    rest(20);
    EXPECT_TRUE(b.last.converged) << aside;
    EXPECT_GT(b.least_gap(), -1e-4) << aside;
    EXPECT_LT(b.force_on_first().x(), -2000) << aside;
    EXPECT_LT(b.worst_gap, 2e-4) << aside;
    shift(9, -0.025);
    rest(20);
    EXPECT_LT(b.worst_converged, 2e-4) << aside << ": of the 0.01 mm that surfaces keep, a tenth of a wall";
    EXPECT_LE(b.deep, 1) << aside << ": what a step leaves that did not converge, the next makes good";
    EXPECT_EQ(b.worst_overlap, 0);
    EXPECT_EQ(b.worst_inverted, 0);
    EXPECT_EQ(b.unproven, 0u);
    shift(14, 0.025);
    rest(100);
    for (const Tissue& t : b.tissues) EXPECT_LT(t.report().displacement, 1e-3) << aside;
  }
}

TEST(TissueOnTissue, WhatIsHeldOnBothSidesIsNoContact) {
  TissueModel left = vessel_end(0, -1, 0), right = vessel_end(0.005, 1, 0);
  for (std::uint32_t v = 0; v < left.nodes.size(); ++v) {
    if (left.nodes[v].x() > -1e-9) left.fixed.push_back(v);
    if (right.nodes[v].x() < 0.005 + 1e-9) right.fixed.push_back(v);
  }
  Bench b({std::move(left), std::move(right)});
  for (int i = 0; i < 3; ++i) b.step();
  EXPECT_EQ(b.most_rows, 0u);
  for (const Tissue& t : b.tissues) EXPECT_LT(t.report().displacement, 1e-12);
}

/// A surface whose nodes have moved as they are told.
class Led final : public SoftBody {
 public:
  explicit Led(TissueModel model) : tissue_(std::move(*Tissue::create(std::move(model)))) {
    step_.assign(tissue_.surface().vertices(), Vector3d(0, 0, 0));
  }
  std::vector<Vector3d>& moves() { return step_; }
  void move_all(const Vector3d& by) { std::fill(step_.begin(), step_.end(), by); }
  const TriangleMesh& surface() const noexcept override { return tissue_.surface(); }
  std::size_t nodes() const noexcept override { return step_.size(); }
  const Vector3d* start() const noexcept override { return tissue_.start(); }
  const Vector3d* x() const noexcept override { return tissue_.x(); }
  double skin() const noexcept override { return tissue_.skin(); }
  void begin(double) noexcept override {}
  void linearise() noexcept override {}
  void push(std::uint32_t, const Vector3d&) noexcept override {}
  void solve() noexcept override {}
  const Vector3d* step() const noexcept override { return step_.data(); }
  Eigen::Matrix3d compliance(std::uint32_t, std::uint32_t) const noexcept override {
    return Eigen::Matrix3d::Identity();
  }
  void advance(double) noexcept override {}
  void go_back(double) noexcept override {}
  void finish() noexcept override {}
  void add_to(StateHash&) const noexcept override {}

 private:
  Tissue tissue_;
  std::vector<Vector3d> step_;
};

TEST(TissueOnTissue, IsLookedForAsFarAsPlacesComeNearerToEachOther) {
  Led below(block({0, 0, 0}, {1, 1, 1}, 4, 4, 4, -1)), above(block({0.1, 0.1, 1.2}, {0.8, 0.8, 1}, 4, 4, 4, 1));
  const Obstacle of_below = Obstacle::soft(below.surface()), of_above = Obstacle::soft(above.surface());
  const Obstacle* const obstacles[] = {&of_below, &of_above};
  SoftBody* soft[] = {&below, &above};
  TissueContacts contacts(512);
  const auto found = [&](double most) {  // 0.18 mm beyond their skins; with nothing moved within 0.05
    contacts.find({obstacles, 2, 0, soft}, {.apart = 0.05, .times = 2, .least = 0, .most = most});
    return contacts.contacts().size();
  };
  EXPECT_EQ(found(0.5), 0u);
  for (const double far : {0.1, 5.0}) {
    below.move_all({0, 0, far});
    above.move_all({0, 0, far});
    EXPECT_EQ(found(0.5), 0u) << "carried together by " << far << " mm";
  }
  below.move_all({0, 0, 0.06});
  above.move_all({0, 0, 0});
  EXPECT_EQ(found(0.5), 0u);
  above.move_all({0, 0, -0.01});
  const std::size_t all = found(0.5);
  EXPECT_GE(all, 25u) << "every node of the face that is the smaller";
  EXPECT_EQ(found(0.1), 0u) << "no further than told";
  // One node alone: what faces the triangles round it.
  below.move_all({0, 0, 0});
  above.move_all({0, 0, 0});
  std::uint32_t one = 0;
  while ((above.surface().vertex(one) - Vector3d(0.5, 0.5, 1.2)).norm() > 1e-9) ++one;
  above.moves()[one] = {0, 0, -0.07};
  const std::size_t some = found(0.5);
  EXPECT_GE(some, 1u);
  EXPECT_LT(some, all / 2);
  for (const TissueContact& c : contacts.contacts()) {
    const Vector3d on = place_of(c.contact, above.surface());
    EXPECT_LT((on - Vector3d(0.5, 0.5, 1.2)).norm(), 0.3) << "at its triangles";
  }
}

TEST(TissueOnTissue, AVesselThatFliesAtAnotherIsThrownBack) {
  guard::reset();
  for (const double speed : {5.0, 50.0, 200.0}) {
    TissueModel flying = vessel_end(0.3, 1, 0.05, false);
    flying.material.drag = 0;
    Bench b({vessel_end(0, -1, 0), std::move(flying)});
    b.settings.step.iterations = 12;
    b.settings.step.residual_target = 1e-4;
    const Tissue& t = b.tissues[1];
    const std::vector<Vector3d> v(t.nodes(), Vector3d(-speed, 0, 0));
    b.tissues[1].set_state({t.x(), t.nodes()}, v);
    for (int i = 0; i < 60; ++i) b.step();
    EXPECT_GT(b.most_rows, 0u);
    EXPECT_EQ(b.worst_overlap, 0);
    EXPECT_LT(b.worst_gap, 2e-4) << "of the 0.01 mm that surfaces keep";
    EXPECT_EQ(b.worst_inverted, 0);
    EXPECT_EQ(b.unproven, 0u);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

/// Two arms over each other, held where they meet: a slot of 0.12 mm between beams of 2 mm.
struct Fork {
  static constexpr double kLength = 2, kHeight = 0.2, kWidth = 0.4, kSlot = 0.12, kNarrow = 0.05;
  static constexpr int kAlong = 10, kAcross = 2;
  static TissueModel model(double slot = kSlot, bool held = true) {
    TissueModel m = tissue::bricks({.size = {kLength * (kAlong + 1) / kAlong, kWidth, 2 * kHeight + kSlot},
                                    .count = {kAlong + 1, kAcross, 3},
                                    .filled = [](int i, int, int k) { return i == 0 || k != 1; },
                                    .fixed = [held](int i, int, int) { return held && i <= 1; }});
    for (Vector3d& p : m.nodes) {
      const int level = static_cast<int>(std::lround(3 * p.z() / (2 * kHeight + kSlot)));
      p.z() = level == 0 ? 0 : level == 1 ? kHeight : level == 2 ? kHeight + slot : 2 * kHeight + slot;
    }
    m.material = {.young = kYoung, .poisson = 0.3, .density = 1e-3, .relaxation = 0, .drag = held ? 100.0 : 0.0};
    m.skin = 0.01;
    return m;
  }
  /// Nodes on the outer edge at the tip of the lower arm (0) or the upper (1), on the outside.
  static std::vector<std::uint32_t> tip(const TissueModel& m, int arm) {
    std::vector<std::uint32_t> out;
    const double z = arm == 0 ? 0 : 2 * kHeight + kSlot;
    for (std::uint32_t v = 0; v < m.nodes.size(); ++v)
      if (std::abs(m.nodes[v].x() - kLength * (kAlong + 1) / kAlong) < 1e-9 && std::abs(m.nodes[v].z() - z) < 1e-9)
        out.push_back(v);
    return out;
  }
};

/// Sum of what a surface's contacts with itself press with, both sides counted [uN].
double pressed(const Bench& b) {
  double sum = 0;
  for (const TissueContact& c : b.coupled.tissues().contacts())
    if (c.contact.pair.edge_a == c.contact.pair.edge_b) sum += c.contact.force.dot(c.contact.normal);
  return sum;
}

// Tips pressed together: each gives way by half of what the slot leaves, and the rest of the load is on the other.
TEST(TissueOnItself, ArmsPressedTogetherAreSpringsUntilTheyMeet) {
  const auto closed_by = [](double load, double* force) {
    Bench b({Fork::model()});
    b.settings.tissue_friction = 0;
    Tissue& t = b.tissues[0];
    for (const int arm : {0, 1}) {
      const std::vector<std::uint32_t> tip = Fork::tip(t.model(), arm);
      for (const std::uint32_t v : tip) t.load(v, {0, 0, (arm == 0 ? load : -load) / static_cast<double>(tip.size())});
    }
    for (int i = 0; i < 200; ++i) b.step();
    EXPECT_TRUE(b.last.converged);
    EXPECT_FALSE(t.surface().meets_itself());
    if (force) *force = pressed(b);
    const std::vector<std::uint32_t> low = Fork::tip(t.model(), 0), high = Fork::tip(t.model(), 1);
    return t.x()[low[1]].z() - t.model().nodes[low[1]].z() - (t.x()[high[1]].z() - t.model().nodes[high[1]].z());
  };
  // E b h^3 / 4 L^3 each, as a beam; the element bends within 2 % of it (TissueTheory).
  const double beam = kYoung * Fork::kWidth * std::pow(Fork::kHeight, 3) / (4 * std::pow(Fork::kLength, 3));
  const double light = 0.05;
  const double stiffness = 2 * light / closed_by(light, nullptr);
  EXPECT_NEAR(stiffness, beam, 0.04 * beam);
  for (const double load : {1.0, 4.0}) {
    double force = 0;
    const double closed = closed_by(load, &force);
    const double room = Fork::kSlot - 0.02;
    EXPECT_NEAR(closed, room, 0.02 * room) << load;
    EXPECT_NEAR(force, load - stiffness * room / 2, 0.02 * load) << load;
  }
}

// Nothing holds them and they fly at each other: what the one loses the other has, within a hundredth while they
// meet. Not all steps as violent as these converge; what those lose is a few hundredths, from speed to speed.
TEST(TissueOnItself, ArmsThatMeetKeepTheirMomentumAndRepeatTheirBits) {
  for (const double speed : {25.0, 35.0, 50.0}) {
    std::uint64_t hash[2] = {};
    for (std::uint64_t& h : hash) {
      Bench b({Fork::model(Fork::kNarrow, false)});
      Tissue& t = b.tissues[0];
      std::vector<Vector3d> v(t.nodes());
      for (std::size_t i = 0; i < v.size(); ++i)
        v[i] =
            Vector3d(1, 2, t.x()[i].z() > Fork::kHeight + 1e-9 ? -speed : 0.2 * speed) * (t.x()[i].x() / Fork::kLength);
      t.set_state({t.x(), t.nodes()}, v);
      const auto momentum = [&] {
        Vector3d sum = Vector3d::Zero();
        for (std::uint32_t i = 0; i < t.nodes(); ++i) sum += t.mass(i) * t.v()[i];
        return sum;
      };
      const Vector3d first = momentum();
      const double at_start = first.norm();
      double apart = 1e9;
      int pressed = 0;
      for (int i = 0; i < 12; ++i) {
        const Vector3d before = momentum();
        b.step();
        EXPECT_FALSE(t.surface().meets_itself()) << i;
        apart = std::min(apart, b.least_gap());
        if (i < 2) {
          EXPECT_NEAR((momentum() - first).norm(), 0, 0.01 * at_start) << speed << " mm/s: they meet";
        }
        if (!b.last.converged) continue;
        pressed += b.coupled.last_problem().count > 0 ? 1 : 0;
        // Forces that were not opposite would leave a fifth of it.
        EXPECT_NEAR((momentum() - before).norm(), 0, 0.02 * at_start) << speed << " mm/s, step " << i;
      }
      EXPECT_GT(b.most_rows, 0u);
      if (speed > 25) {  // at that the step in which they meet does not converge
        EXPECT_GT(pressed, 0) << speed;
      }
      EXPECT_LT((momentum() - first).norm(), 0.05 * at_start) << speed << " mm/s: steps that do not converge, too";
      EXPECT_LT(apart, 1e-3) << "they met";
      EXPECT_GT(apart, -2e-3);
      StateHash sum;
      t.add_to(sum);
      b.coupled.add_to(sum);
      h = sum.value();
    }
    EXPECT_EQ(hash[0], hash[1]);
  }
}

// A vessel pressed flat from outside by dead loads: the lumen's faces lie on each other, and part again.
TEST(TissueOnItself, AVesselPressedFlatKeepsItsLumensFacesApart) {
  tissue::Vessel v;
  v.length = 2, v.around = 20, v.along = 10;
  TissueModel model = *tissue::vessel_model(v);
  ASSERT_GT(model.skin, 0);
  Bench b({std::move(model)});
  b.settings.step.iterations = 12;
  b.settings.step.residual_target = 1e-4;
  Tissue& t = b.tissues[0];
  const Vector3d up = (t.x()[tissue::vessel_node(v, 8, 5, 0)] - t.x()[tissue::vessel_node(v, 8, 15, 0)]).normalized();
  for (const double load : {2000.0, 6000.0, 12000.0}) {
    t.clear_loads();
    for (int i = 6; i <= 10; ++i)
      for (int j = -2; j <= 2; ++j) {
        t.load(tissue::vessel_node(v, i, 5 + j, 1), -load / 25 * up);
        t.load(tissue::vessel_node(v, i, 15 + j, 1), load / 25 * up);
      }
    for (int i = 0; i < 40; ++i) {
      b.step();
      ASSERT_FALSE(t.surface().meets_itself()) << load << " step " << i;
    }
  }
  EXPECT_LT(b.least_gap(), 1e-3) << "it is shut: faces lie on each other";
  EXPECT_GT(pressed(b), 2000) << "of 12 mN on either side most is borne by the other side";
  EXPECT_EQ(b.worst_inverted, 0);
  EXPECT_EQ(b.unproven, 0u);
  t.clear_loads();
  for (int i = 0; i < 100; ++i) b.step();
  EXPECT_LT(t.report().displacement, 1e-3);
  EXPECT_EQ(pressed(b), 0);
}

}  // namespace
}  // namespace ligature::contact
