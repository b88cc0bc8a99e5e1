/// Strands on a body that gives way: a closed mesh on a spring, whose motion and forces are known in closed form.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "channel_oracle.hpp"
#include "sim/base/random.hpp"
#include "sim/contact/coupled_step.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/stops.hpp"
#include "sim/contact/tools.hpp"
#include "sim/world/build.hpp"

namespace ligature::contact {
namespace {

constexpr double kStep = 0.005;

TriangleMesh drum(double radius, double half_length, int sides) {
  std::vector<Vector3d> x;
  std::vector<TriangleMesh::Triangle> t;
  for (const double y : {-half_length, half_length})
    for (int i = 0; i < sides; ++i) {
      const double a = 2 * std::numbers::pi * i / sides;
      x.push_back({radius * std::cos(a), y, radius * std::sin(a)});
    }
  x.push_back({0, -half_length, 0});
  x.push_back({0, half_length, 0});
  const auto n = static_cast<std::uint32_t>(sides);
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t j = (i + 1) % n;
    t.push_back({i, n + i, n + j});
    t.push_back({i, n + j, j});
    t.push_back({i, j, 2 * n});
    t.push_back({n + j, n + i, 2 * n + 1});
  }
  return *TriangleMesh::create(x, t);
}

/// k u + c du/dt = force, the whole mesh moving as one.
class SprungMesh final : public SoftBody {
 public:
  SprungMesh(TriangleMesh mesh, double spring, double drag) : mesh_(std::move(mesh)), spring_(spring), drag_(drag) {
    for (std::size_t v = 0; v < mesh_.vertices(); ++v) rest_.push_back(mesh_.vertex(v));
    x_ = start_ = step_ = rest_;
    for (Vector3d& s : step_) s.setZero();
  }
  const TriangleMesh& surface() const noexcept override { return mesh_; }
  std::size_t nodes() const noexcept override { return x_.size(); }
  const Vector3d* start() const noexcept override { return start_.data(); }
  const Vector3d* x() const noexcept override { return x_.data(); }
  void begin(double dt) noexcept override {
    dt_ = dt;
    start_ = x_;
  }
  void linearise() noexcept override {
    force_ = -spring_ * (x_[0] - rest_[0]) - drag_ / dt_ * (x_[0] - start_[0]);
    contact_.setZero();
  }
  void push(std::uint32_t, const Vector3d& force) noexcept override { contact_ += force; }
  void solve() noexcept override {
    for (Vector3d& s : step_) s = (force_ + contact_) / stiffness();
  }
  const Vector3d* step() const noexcept override { return step_.data(); }
  Eigen::Matrix3d compliance(std::uint32_t, std::uint32_t) const noexcept override {
    return Eigen::Matrix3d::Identity() / stiffness();
  }
  void advance(double fraction) noexcept override {
    for (std::size_t v = 0; v < x_.size(); ++v) x_[v] += fraction * step_[v];
    mesh_.deform(x_.data());
  }
  void go_back(double fraction) noexcept override {
    for (std::size_t v = 0; v < x_.size(); ++v) x_[v] = start_[v] + fraction * (x_[v] - start_[v]);
    mesh_.deform(x_.data());
  }
  void finish() noexcept override {}
  void add_to(StateHash& hash) const noexcept override { hash.add(x_[0].x()); }

  Vector3d displacement() const { return x_[0] - rest_[0]; }
  Vector3d contact_force() const { return contact_; }
  /// Where the spring would have it.
  void pull_to(const Vector3d& by) {
    for (Vector3d& r : rest_) r += by;
  }

 private:
  double stiffness() const { return spring_ + drag_ / dt_; }
  TriangleMesh mesh_;
  double spring_ = 0, drag_ = 0, dt_ = kStep;
  std::vector<Vector3d> rest_, x_, start_, step_;
  Vector3d force_{0, 0, 0}, contact_{0, 0, 0};
};

/// One thread of nylon and one soft body.
struct Bench {
  world::Thread thread;
  SprungMesh body;
  Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* body_list = &obstacle;
  SoftBody* soft_list = &body;
  ThreadSystem system;
  CoupledStep coupled;
  CoupledSettings settings;
  CoupledOutcome last;

  static world::ThreadParams nylon(const std::vector<Vec3>& points, double diameter, double segment) {
    world::ThreadParams p;
    p.points = points;
    p.diameter_mm = diameter;
    p.segment_mm = segment;
    p.inertial = false;
    p.material.stretch_stiffness = 2.5e9 * 1e-6 * std::numbers::pi / 4 * diameter * diameter * 1e6;
    p.material.bend_stiffness = 2.5e9 * std::numbers::pi / 64 * std::pow(diameter, 4);
    p.material.twist_stiffness = p.material.bend_stiffness / 1.4;
    p.material.drag = 1e-3;
    return p;
  }
  Bench(const world::ThreadParams& p, SprungMesh mesh)
      : thread(world::build_thread(p, 0, {}, world::resample(p).size())),
        body(std::move(mesh)),
        system(thread.x0.size(), 4, thread.state.twist),
        coupled(1, thread.x0.size(), 400) {
    settings.step.dt = kStep;
    settings.step.iterations = 60;
    settings.soft_friction = 0.2;
  }
  Strand strand() const {
    return {.x = thread.state.x.data(),
            .vertices = thread.state.x.size(),
            .radius = thread.model.radius,
            .rest_length = thread.model.rest_length,
            .thread = 0};
  }
  void step() {
    thread.x0 = thread.state.x;
    const Strand s = strand();
    coupled.on_meshes().remember();
    coupled.near(&s, 1, 1.0);
    coupled.near_bodies(&s, 1, {&body_list, 1, 0, &soft_list}, 1.0);
    const StepProblem problem{&thread.model, &thread.x0, &thread.state, &thread.drive, nullptr, 0};
    InlineExecutor executor;
    last = coupled.solve(&system, &problem, &s, 1, settings, executor, {});
    coupled.contacts().remember();
    for (std::size_t i = 0; i < thread.x0.size(); ++i) thread.state.v[i] = (thread.state.x[i] - thread.x0[i]) / kStep;
  }
  /// Nearest that the centreline is to the surface; negative inside [mm].
  double nearest() const {
    double least = 1e9;
    for (std::size_t i = 0; i + 1 < thread.state.x.size(); ++i) {
      const Vector3d &p = thread.state.x[i], &q = thread.state.x[i + 1];
      const double inside = body.surface().nearest(p, 5).distance;
      least = std::min({least, inside, inside < 0 ? inside : body.surface().nearest(p, q, 5).distance});
    }
    return least;
  }
};

std::vector<Vec3> over(double radius, double down) {  // half round a drum, and down on both sides
  std::vector<Vec3> points{{-radius, 0, -down}};
  for (int i = 0; i <= 24; ++i) {
    const double a = std::numbers::pi * (1 - i / 24.0);
    points.push_back({radius * std::cos(a), 0, radius * std::sin(a)});
  }
  points.push_back({radius, 0, -down});
  return points;
}

TEST(SoftBody, GivesWayByWhatTheThreadPullsOverItsStiffness) {
  constexpr double kPull = 400, kSpring = 5000;  // [uN], [uN/mm]
  Bench b(Bench::nylon(over(1.06, 1.5), 0.1, 0.1), SprungMesh(drum(1, 0.5, 48), kSpring, 10));
  b.thread.drive.load.front() = b.thread.drive.load.back() = {0, 0, -kPull};
  for (int i = 0; i < 60; ++i) b.step();
  EXPECT_TRUE(b.last.converged);
  EXPECT_LT(b.last.iterations, 30);
  EXPECT_NEAR(b.body.displacement().z(), -2 * kPull / kSpring, 1e-5 * kPull / kSpring);
  EXPECT_NEAR(b.body.displacement().y(), 0, 1e-9);
  Vector3d on_thread = Vector3d::Zero();
  for (const BodyContact& c : b.coupled.on_meshes().contacts()) on_thread += c.contact.force;
  EXPECT_NEAR((on_thread + b.body.contact_force()).norm(), 0, 1e-9 * kPull);
  EXPECT_NEAR(on_thread.z(), 2 * kPull, 1e-3 * kPull);
  EXPECT_GT(b.nearest(), 0.05 * (1 - 0.02));
}

TEST(SoftBody, GoesBackWhenTheThreadLetsGo) {
  Bench b(Bench::nylon(over(1.06, 1.5), 0.1, 0.1), SprungMesh(drum(1, 0.5, 48), 5000, 10));
  b.thread.drive.load.front() = b.thread.drive.load.back() = {0, 0, -400};
  for (int i = 0; i < 30; ++i) b.step();
  b.thread.drive.load.front() = b.thread.drive.load.back() = Vector3d::Zero();
  for (int i = 0; i < 60; ++i) b.step();
  EXPECT_NEAR(b.body.displacement().norm(), 0, 1e-3);
}

// 100 times as soft a body under the same threads: the coupling must know by how much it gives way.
TEST(SoftBody, ConvergesWhetherItIsSoftOrStiff) {
  for (const double spring : {1e3, 1e5, 1e7}) {
    Bench b(Bench::nylon(over(1.06, 1.5), 0.1, 0.1), SprungMesh(drum(1, 0.5, 48), spring, 1e-3 * spring));
    b.thread.drive.load.front() = b.thread.drive.load.back() = {0, 0, -0.05 * std::min(spring, 1e4)};
    int steps = 0, worst = 0;
    for (int i = 0; i < 40; ++i) {
      b.step();
      steps += b.last.converged ? 1 : 0;
      worst = std::max(worst, b.last.iterations);
    }
    EXPECT_GE(steps, 38) << "spring of " << spring << " uN/mm, most linearisations " << worst;
  }
}

TEST(SoftBody, WhatBoundedWorkLeavesOfAStepTheNextOnesMakeGood) {
  constexpr double kPull = 400, kSpring = 5000;  // [uN], [uN/mm]
  Bench b(Bench::nylon(over(1.06, 1.5), 0.1, 0.1), SprungMesh(drum(1, 0.5, 48), kSpring, 10));
  b.thread.drive.load.front() = b.thread.drive.load.back() = {0, 0, -kPull};
  b.settings.most_work = 1;
  int unconverged = 0;
  for (int i = 0; i < 400; ++i) {
    b.step();
    EXPECT_EQ(b.last.motion, 1.0);
    EXPECT_LE(b.last.iterations, 1);
    EXPECT_GT(b.nearest(), 0);
    unconverged += b.last.converged ? 0 : 1;
  }
  EXPECT_GT(unconverged, 0);
  EXPECT_NEAR(b.body.displacement().z(), -2 * kPull / kSpring, 0.002 * kPull / kSpring);
}

TEST(SoftBody, HitByAFastThreadOrHittingOneIsNeverEntered) {
  for (const double diameter : {0.025, 0.1}) {
    std::vector<Vec3> points{{-3, 0, 1.5}, {3, 0, 1.5}};
    Bench b(Bench::nylon(points, diameter, 0.1), SprungMesh(drum(1, 0.5, 24), 300, 0.5));
    const std::size_t last = b.thread.state.x.size() - 1;
    Random random(3);
    double deepest = 1e9, cut = 0;
    for (int i = 0; i < 120; ++i) {
      // The ends are thrown down at 200 mm/s and up again, the body against them.
      const double z = i % 40 < 20 ? -1.0 : 1.0;
      b.thread.drive.held.clear();
      for (const std::size_t v : {std::size_t{0}, last})
        b.thread.drive.held.push_back({v, b.thread.state.x[v] + Vector3d(0, random.uniform(-0.2, 0.2), z)});
      b.body.pull_to({0, 0, -0.7 * z});
      b.step();
      EXPECT_TRUE(b.last.finite);
      cut += b.last.motion < 1 ? 1 : 0;
      deepest = std::min(deepest, b.nearest());
    }
    EXPECT_GT(deepest, 0) << "diameter " << diameter << ", steps cut short " << cut;
    EXPECT_LT(deepest, 0.6 * diameter) << "they never met";
  }
}

/// A surface that goes where it is told and yields to no force, though it says that it does.
class Stamp final : public SoftBody {
 public:
  explicit Stamp(TriangleMesh mesh) : mesh_(std::move(mesh)) {
    for (std::size_t v = 0; v < mesh_.vertices(); ++v) x_.push_back(mesh_.vertex(v));
    start_ = to_ = step_ = x_;
  }
  void go(const Vector3d& by) {
    for (Vector3d& t : to_) t += by;
  }
  const TriangleMesh& surface() const noexcept override { return mesh_; }
  std::size_t nodes() const noexcept override { return x_.size(); }
  const Vector3d* start() const noexcept override { return start_.data(); }
  const Vector3d* x() const noexcept override { return x_.data(); }
  void begin(double) noexcept override { start_ = x_; }
  void linearise() noexcept override {}
  void push(std::uint32_t, const Vector3d&) noexcept override {}
  void solve() noexcept override {
    for (std::size_t v = 0; v < x_.size(); ++v) step_[v] = to_[v] - x_[v];
  }
  const Vector3d* step() const noexcept override { return step_.data(); }
  Eigen::Matrix3d compliance(std::uint32_t, std::uint32_t) const noexcept override {
    return 1e-6 * Eigen::Matrix3d::Identity();
  }
  void lead(std::uint32_t node, const Vector3d& step) noexcept override { step_[node] = step; }
  void advance(double fraction) noexcept override {
    for (std::size_t v = 0; v < x_.size(); ++v) x_[v] += fraction * step_[v];
    mesh_.deform(x_.data());
  }
  void go_back(double fraction) noexcept override {
    for (std::size_t v = 0; v < x_.size(); ++v) x_[v] = start_[v] + fraction * (x_[v] - start_[v]);
    mesh_.deform(x_.data());
  }
  void finish() noexcept override {}
  void add_to(StateHash&) const noexcept override {}

 private:
  TriangleMesh mesh_;
  std::vector<Vector3d> x_, start_, to_, step_;
};

// The guard allows the edges under the stamp no move at all: what hangs beside it bends all the same.
TEST(SoftBody, WhatIsPressedOnClampedEdgesHoldsNothingElseUp) {
  constexpr double kLoad = 250;  // [uN]
  double end[2] = {};
  for (const bool stamped : {false, true}) {
    Bench b(Bench::nylon({{-1.5, 0, 0}, {4, 0, 0}}, 0.1, 0.1), SprungMesh(drum(1, 0.5, 24), 1, 1));
    Stamp stamp(drum(1, 0.5, 24));
    b.obstacle = Obstacle::soft(stamp.surface());
    b.soft_list = &stamp;
    stamp.go({0, 0, 1.06});
    stamp.begin(kStep), stamp.solve(), stamp.advance(1), stamp.begin(kStep);
    if (stamped) stamp.go({0, 0, -0.1});  // to 0.04 mm below the centreline
    const std::vector<Vector3d> at = b.thread.state.x;
    const std::size_t last = at.size() - 1;
    double least = 1e9;
    for (int i = 0; i < 80; ++i) {
      if (i == 40) b.thread.drive.load[last] = {0, 0, -kLoad};
      b.thread.drive.held.clear();
      for (std::size_t k = 0; at[k].x() < 1.55; ++k)
        b.thread.drive.held.push_back({static_cast<std::uint32_t>(k), at[k]});
      b.step();
      ASSERT_TRUE(b.last.finite);
      EXPECT_EQ(b.last.unproven, 0u);
      if (i >= 40) {
        EXPECT_EQ(b.last.motion, 1) << i;
      }
      for (const HeldVertex& h : b.thread.drive.held) EXPECT_EQ(b.thread.state.x[h.vertex], at[h.vertex]);
      for (std::size_t k = 0; k < last; ++k)
        least = std::min(least, stamp.surface().nearest(b.thread.state.x[k], b.thread.state.x[k + 1], 5).distance);
    }
    EXPECT_GT(least, 0);
    EXPECT_EQ(least < 0.01, stamped) << "it is pressed far into the thread";
    end[stamped] = b.thread.state.x[last].z();
  }
  EXPECT_LT(end[0], -0.1);
  EXPECT_NEAR(end[1], end[0], 1e-5);
}

TEST(SoftBody, LooksAtWhatPassesItsSurface) {
  Random random(7);
  int passing = 0, proven = 0;
  for (int round = 0; round < 400; ++round) {
    SprungMesh body(drum(1, 0.5, 12), 1, 0);
    body.linearise();
    body.push(0, 1.5 * Vector3d(random.normal(), random.normal(), random.normal()));
    body.solve();
    std::vector<Vector3d> x, x1;
    Vector3d place(random.uniform(-2, 2), random.uniform(-1, 1), random.uniform(1.1, 1.6));
    for (int i = 0; i < 6; ++i) {
      x.push_back(place);
      place += Vector3d(random.uniform(0, 0.3), random.uniform(-0.2, 0.2), random.uniform(-0.1, 0.3));
      x1.push_back(x.back() + 0.6 * Vector3d(random.normal(), random.normal(), random.normal()));
    }
    const Strand s{.x = x.data(), .vertices = x.size(), .radius = 0.05, .rest_length = 0.2};
    const Vector3d* to = x1.data();
    const SoftVerdict verdict = look_soft(&s, 1, &to, body, {body.step()});
    if (verdict.inside > 0) continue;
    double nearest_before_cut = 1e9;
    bool enters = false;
    for (int k = 0; k <= 400; ++k) {
      const double t = k / 400.0;
      double nearest = 1e9;
      for (std::size_t i = 0; i + 1 < x.size(); ++i) {
        const Vector3d p = x[i] + t * (x1[i] - x[i]) - t * body.step()[0];
        const Vector3d q = x[i + 1] + t * (x1[i + 1] - x[i + 1]) - t * body.step()[0];
        nearest = std::min(nearest, body.surface().nearest(p, q, 9).distance);
      }
      enters = enters || nearest < 1e-9;
      if (t <= verdict.fraction) nearest_before_cut = std::min(nearest_before_cut, nearest);
    }
    EXPECT_GT(nearest_before_cut, 0) << "round " << round;
    EXPECT_FALSE(enters && verdict.fraction == 1) << "round " << round;
    passing += enters ? 1 : 0;
    proven += verdict.fraction == 1 ? 1 : 0;
  }
  EXPECT_GT(passing, 40);
  EXPECT_GT(proven, 40);
}

// Contact pushes out what has come in; the guard must not hold it there, however near to the surface it lies.
TEST(SoftGuard, LetsWhatIsInsideComeOut) {
  SprungMesh body(drum(1, 1, 24), 100, 0);
  body.begin(kStep);
  body.linearise();
  body.solve();
  for (const double deep : {0.02, 1e-6, 1e-14}) {
    std::vector<Vector3d> out, in;
    for (const double y : {-0.2, -0.1, 0.0, 0.1, 0.2})
      out.emplace_back(0, y, 1 + deep), in.emplace_back(0, y, 1 - deep);
    const auto look = [&](const std::vector<Vector3d>& from, double by) {
      std::vector<Vector3d> x1 = from;
      for (Vector3d& p : x1) p.z() += by;
      const Strand s{.x = from.data(), .vertices = from.size(), .radius = 0.05, .rest_length = 0.1};
      const Vector3d* to = x1.data();
      return look_soft(&s, 1, &to, body, {body.step()});
    };
    EXPECT_EQ(look(in, 0.1).fraction, 1) << deep;
    EXPECT_GT(look(in, 0.1).inside, 0u) << deep;
    EXPECT_EQ(look(out, 0.1).fraction, 1) << deep;
    EXPECT_EQ(look(out, 0.1).inside, 0u) << deep;
    EXPECT_LT(look(out, -0.1).fraction, 0.5) << deep;
  }
}

TEST(SoftGuard, LooksAtWhatOfAnEdgeLiesBesideAHole) {
  SprungMesh body(drum(1, 1, 24), 100, 0);
  body.begin(kStep);
  body.linearise();
  body.solve();
  std::vector<Vector3d> x;
  for (const double y : {-0.2, -0.1, 0.0, 0.1, 0.2}) x.emplace_back(0, y, 1.02);
  const Strand s{.x = x.data(), .vertices = x.size(), .radius = 0.05, .rest_length = 0.1};
  const std::vector<Passage> holes{{0, 0, -1, 0.7, 0}, {0, 0, 0.5, 1.4, 0}, {0, 0, 3.3, 3.7, 0}, {0, 1, 0, 4, 0}};
  // Down by as much as the curve of heights says, at every vertex.
  const auto look = [&](const std::array<double, 5>& by, std::vector<Stopped>* stopped = nullptr) {
    std::vector<Vector3d> x1 = x;
    for (std::size_t i = 0; i < x1.size(); ++i) x1[i].z() -= by[i];
    const Vector3d* to = x1.data();
    return look_soft(&s, 1, &to, body, {body.step()}, 1, &holes, 0, kCentrelineKept, stopped);
  };
  EXPECT_EQ(look({0.1, 0, 0, 0, 0}).fraction, 1) << "in the hole";
  EXPECT_EQ(look({0.1, 0.028, 0, 0, 0}).fraction, 1) << "in the hole, and 0.6 of it where it lies beside: above";
  std::vector<Stopped> stopped;
  stopped.reserve(64);
  EXPECT_NEAR(look({0.1, 0.1, 0, 0, 0}, &stopped).fraction, 0.175 / 0.6, 0.03) << "0.06 where it lies beside the hole";
  ASSERT_FALSE(stopped.empty());
  for (const Stopped& at : stopped) {
    EXPECT_EQ(at.edge, 1u);
    EXPECT_DOUBLE_EQ(at.from, 0.4);
    EXPECT_EQ(at.to, 1);
  }
  for (const std::size_t end : {3u, 4u}) {  // either side of a hole within one edge
    std::array<double, 5> by{};
    by[end] = 0.05;
    stopped.clear();
    EXPECT_LT(look(by, &stopped).fraction, 1);
    const auto in_last = [](const Stopped& at) { return at.edge == 3; };
    const auto of_last = std::find_if(stopped.begin(), stopped.end(), in_last);
    ASSERT_NE(of_last, stopped.end());
    EXPECT_NEAR(of_last->from, end == 3 ? 0 : 0.7, 1e-12);
    EXPECT_NEAR(of_last->to, end == 3 ? 0.3 : 1, 1e-12);
  }
}

// However near two places are, what they keep is less than they have, and more than nothing.
TEST(SoftGuard, KeepsOfADistanceHalfOrAThousandthOfWhatItShall) {
  constexpr double kKept = 1e-3;
  EXPECT_EQ(least_apart(1, kKept), kKept);
  EXPECT_EQ(least_apart(1e-3, kKept), 0.5e-3);
  EXPECT_EQ(least_apart(1.5e-6, kKept), 1e-6);
  double before = 0;
  for (double d = 1e-12; d < 1e-1; d *= 1.01) {
    EXPECT_LT(least_apart(d, kKept), d);
    EXPECT_GE(least_apart(d, kKept), 0.5 * std::min(d, 2 * kKept) * (d < 2e-6 ? 0 : 1));
    EXPECT_GE(least_apart(d, kKept), before * (d < 1e-6 ? 0.99 : 1)) << d;
    before = std::max(before, least_apart(d, kKept));
  }
  // Half of half of it and so on ends where there is still a direction.
  double d = 1e-2;
  for (int k = 0; k < 1000; ++k) d = least_apart(d, kKept);
  EXPECT_GT(d, 1e-7);
}

/// A drum and an edge over its rim, at a height.
struct OverRim {
  SprungMesh body{drum(1, 0.5, 24), 100, 0};
  Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* body_list = &obstacle;
  SoftBody* soft_list = &body;
  std::vector<Vector3d> x{{0, -0.1, 0}, {0, 0.1, 0}};
  std::vector<BodyContact> threads, tools;
  std::vector<TissueContact> tissues;
  std::vector<Passage> passages;

  explicit OverRim(double height) {
    threads.reserve(8), tools.reserve(8), tissues.reserve(8);
    lift(height);
  }
  void lift(double height) {
    for (Vector3d& p : x) p = Vector3d(0.01, p.y(), 1 + height);
  }
  Strand strand() const { return {.x = x.data(), .vertices = x.size(), .radius = 0.05, .rest_length = 0.2}; }
  Bodies bodies() { return {&body_list, 1, 0, &soft_list}; }
  std::uint32_t triangle() const { return body.surface().nearest({0.01, 0, 1.5}, 2).triangle; }
  const StrandContact& add(Stops& stops) {
    threads.clear();
    const Strand s = strand();
    stops.add_to(&s, {}, bodies(), passages, threads, tools, tissues);
    static const StrandContact none;
    return threads.empty() ? none : threads[0].contact;
  }
};

TEST(Stops, WhatAGuardStoppedIsAContactUntilItIsApart) {
  constexpr double kKept = 2.5e-3;
  OverRim scene(1e-3);
  Stops stops(16);
  const Strand s = scene.strand();
  const auto stop = [&] {
    stops.found().push_back({0, 0, 0, scene.triangle(), kKept});
    stops.keep(Stops::Of::thread, &s);
  };
  stop();
  ASSERT_EQ(stops.size(), 1u);
  const SegmentTriangle near = [&] {
    const TriangleMesh& mesh = scene.body.surface();
    const TriangleMesh::Triangle& t = mesh.triangle(scene.triangle());
    return closest(scene.x[0], scene.x[1], mesh.vertex(t[0]), mesh.vertex(t[1]), mesh.vertex(t[2]));
  }();
  StrandContact c = scene.add(stops);
  ASSERT_EQ(scene.threads.size(), 1u);
  EXPECT_EQ(c.kind, StrandContact::Kind::stop);
  EXPECT_GT(c.normal.dot((near.on_segment - near.on_triangle).normalized()), 1 - 1e-9);
  EXPECT_NEAR(c.gap, -Stops::kAskedFor * kKept, 1e-12) << "little is asked for at first";
  double asked = Stops::kAskedFor * kKept;
  for (int k = 0; k < 8; ++k) {
    stop();
    EXPECT_EQ(stops.size(), 1u) << "it is the same one";
    asked *= 2;
    c = scene.add(stops);
    EXPECT_NEAR(c.gap, -std::min(asked, 1.2 * kKept - near.distance), 1e-9) << "twice as much each time, up to all";
  }
  // Its force goes on, along the new normal, and only pressing.
  scene.threads[0].contact.force = 100 * c.normal + 30 * c.normal.unitOrthogonal();
  stops.recall(scene.threads, scene.tools, scene.tissues);
  scene.lift(2e-3);
  c = scene.add(stops);
  EXPECT_NEAR((c.force - 100 * c.normal).norm(), 0, 1e-6);
  scene.threads[0].contact.force = -10 * c.normal;
  stops.recall(scene.threads, scene.tools, scene.tissues);
  EXPECT_EQ(scene.add(stops).force.norm(), 0);
  // Apart by what is kept and more than is pushed to: forgotten.
  scene.lift(1.2 * kKept + kKept + 1e-3);
  scene.add(stops);
  EXPECT_EQ(scene.threads.size(), 0u);
  EXPECT_EQ(stops.size(), 0u);
  // So is what a strand that has been divided anew was stopped by.
  scene.lift(1e-3);
  stop();
  Strand anew = scene.strand();
  anew.division = s.division + 1;
  stops.begin(&anew, 1);
  EXPECT_EQ(stops.size(), 0u);
}

// A needle that was stopped as its point went in would press on the rim of its own hole.
TEST(Stops, WhatHasComeIntoAPassageIsStoppedNoMore) {
  OverRim scene(1e-3);
  Stops stops(16);
  const Strand s = scene.strand();
  stops.found().push_back({0, 0, 0, scene.triangle(), 2.5e-3});
  stops.keep(Stops::Of::thread, &s);
  const double at = scene.add(stops).sa;
  ASSERT_EQ(scene.threads.size(), 1u);
  scene.passages = {{0, 0, -1, at + 0.2, 0}};
  const double beside = scene.add(stops).sa;
  ASSERT_EQ(scene.threads.size(), 1u) << "what of the edge is outside yet may still meet it";
  EXPECT_GE(beside, at + 0.2);
  scene.passages = {{0, 1, -1, 2, 0}};
  scene.add(stops);
  EXPECT_EQ(scene.threads.size(), 1u) << "through another body";
  scene.passages = {{0, 0, -1, 2, 0}};
  scene.add(stops);
  EXPECT_EQ(scene.threads.size(), 0u);
  EXPECT_EQ(stops.size(), 0u);
}

/// A thread through a drum, in at the top and out at the bottom, that comes to the top at an angle from the axis of the
/// channel and goes from the bottom at another: the first vertex is outside above, the last below.
struct Channel : Bench {
  static constexpr double kDiameter = 0.025, kHole = 0.02, kLength = 3;
  struct Shape {
    double from = 0, to = 0;  ///< turning the same way: their sum is what the thread turns by [rad]
    double half = 1;          ///< of the channel's length [mm]
  };

  static world::ThreadParams through(const Shape& s, double segment) {
    return nylon({{kLength * std::sin(s.from), 0, s.half + kLength * std::cos(s.from)},
                  {0, 0, s.half},
                  {0, 0, -s.half},
                  {kLength * std::sin(s.to), 0, -s.half - kLength * std::cos(s.to)}},
                 kDiameter, segment);
  }
  Channel(double angle, double spring, double friction, double segment = 0.025)
      : Channel(Shape{.from = angle}, spring, friction, segment) {}
  Channel(const Shape& shape, double spring, double friction, double segment)
      : Bench(through(shape, segment), SprungMesh(drum(shape.half, 0.5, 12), spring, 1e-4 * spring)),
        from(std::sin(shape.from), 0, std::cos(shape.from)),
        to(std::sin(shape.to), 0, -std::cos(shape.to)) {
    settings.soft_friction = friction;
    settings.step.iterations = 100;
    thread.model.drag.assign(thread.model.drag.size(), 1e-6);
    for (const double z : {shape.half, -shape.half}) {
      const TriangleMesh::Nearest at = body.surface().nearest({0, 0, z}, 1);
      Ring r;
      r.on = {at.triangle, body.surface().weights(at.triangle, at.point)};
      r.radius = kHole;
      r.u = (z > 0 ? kLength : kLength + 2 * shape.half) / thread.model.rest_length;
      coupled.rings().list().push_back(r);
    }
    coupled.rings().renew();
  }
  /// Loads the first end, and leads the last away from the channel at this speed [mm/s].
  void pull(double load, double speed) {
    thread.drive.load.front() = load * from;
    const std::size_t end = thread.state.x.size() - 1;
    thread.drive.held.assign(1, {end, thread.state.x[end] + speed * kStep * to});
    step();
  }
  double tension(std::size_t edge) const {
    const double l = (thread.state.x[edge + 1] - thread.state.x[edge]).norm() / thread.model.rest_length;
    return thread.model.stretch_stiffness * (l - 1);
  }
  double first_tension() const { return tension(2); }
  double last_tension() const { return tension(thread.model.edges() - 3); }

  /// Where the last end is drawn to, against the channel's axis: bends put it somewhat aside [rad].
  double last_direction() const {
    const std::size_t end = thread.state.x.size() - 1;
    const Vector3d way = thread.state.x[end] - thread.state.x[end - 3];
    return std::atan2(way.x(), -way.z());
  }

  Vector3d from, to;
};

// Its error is that of the edges where the thread bends: 0.05 mm for bends of 0.05 mm are 9 %, a quarter of it 0.3 %.
TEST(Rings, AThreadThatSlidesRoundARimHasTheTensionRatioOfFriction) {
  const auto measure = [](double degrees, double mu, double segment) {
    Channel c(degrees * std::numbers::pi / 180, 1e9, mu, segment);
    for (int i = 0; i < 20; ++i) c.pull(20000, 0);
    for (int i = 0; i < 60; ++i) c.pull(20000, 2);
    EXPECT_TRUE(c.coupled.rings().contacts()[0].sliding);
    return c.last_tension() / c.first_tension();
  };
  for (const auto& [degrees, mu] : {std::pair{30.0, 0.3}, {60.0, 0.1}, {60.0, 0.3}, {90.0, 0.2}}) {
    const double turn = degrees * std::numbers::pi / 180, ratio = measure(degrees, mu, 0.025);
    EXPECT_NEAR(ratio, std::exp(mu * turn), 0.05 * ratio) << degrees << " degrees, mu " << mu;
  }
  EXPECT_NEAR(measure(30, 0.3, 0.0125), oracle::rim_ratio(std::numbers::pi / 6, 0.3), 0.005);
  EXPECT_NEAR(measure(90, 0.2, 0.0125), oracle::rim_ratio(std::numbers::pi / 2, 0.2), 0.005);
}

// exp(mu phi) is of threads that bend as they like. Channels as short as the bends (0.1 mm; sqrt(B/T) is 0.05 to 0.16)
// are levers for what is not: 60 degrees at the one rim press on the other, and the ratio is up to 1.8 times that.
TEST(Rings, AThreadThatIsStiffForItsChannelHasTheTensionRatioOfAnElastica) {
  using oracle::RimSide;
  struct Case {
    double from, to, mu, load;  // [degrees], 1, [uN]
    RimSide first, second;
  };
  for (const Case& c : {Case{60, 0, 0.3, 2000, RimSide::inner, RimSide::outer},
                        {0, 60, 0.3, 2000, RimSide::outer, RimSide::inner},
                        {0, 75, 0.2, 5000, RimSide::outer, RimSide::inner},
                        {50, 50, 0.6, 20000, RimSide::inner, RimSide::inner},
                        {45, 70, 0.15, 10000, RimSide::inner, RimSide::inner}}) {
    const double degree = std::numbers::pi / 180;
    Channel channel({.from = c.from * degree, .to = c.to * degree, .half = 0.05}, 1e9, c.mu, 0.0125);
    for (int i = 0; i < 20; ++i) channel.pull(c.load, 0);
    for (int i = 0; i < 60; ++i) channel.pull(c.load, 0.5);
    const auto theory =
        oracle::channel_ratio({.bending = 2.5e9 * std::numbers::pi / 64 * std::pow(Channel::kDiameter, 4),
                               .clearance = Channel::kHole - Channel::kDiameter / 2,
                               .length = 0.1,
                               .mu = c.mu,
                               .tension = c.load,
                               .from = -c.from * degree,
                               .to = channel.last_direction()},
                              c.first, c.second);
    ASSERT_TRUE(theory.has_value()) << c.from << " and " << c.to << " degrees";
    EXPECT_NEAR(channel.last_tension() / channel.first_tension(), *theory, 0.01 * *theory)
        << c.from << " and " << c.to << " degrees, mu " << c.mu << "; exp(mu phi) "
        << std::exp(c.mu * (c.from + c.to) * degree);
  }
}

// Vertices that pass the rim move the ratio by 0.4 % to and fro.
TEST(Rings, WithoutFrictionBothSidesPullAlikeAndTheThreadRunsBothWays) {
  Channel c(1, 1e9, 0);
  for (int i = 0; i < 20; ++i) c.pull(20000, 0);
  const double u = c.coupled.rings().list()[0].u;
  for (int i = 0; i < 60; ++i) c.pull(20000, 2);
  EXPECT_NEAR(c.last_tension() / c.first_tension(), 1, 6e-3);
  EXPECT_NEAR(c.coupled.rings().list()[0].u, u - 0.6 / c.thread.model.rest_length, 0.5);
  for (int i = 0; i < 60; ++i) c.pull(20000, -2);
  EXPECT_NEAR(c.last_tension() / c.first_tension(), 1, 6e-3);
  EXPECT_NEAR(c.coupled.rings().list()[0].u, u, 0.5);
}

TEST(Rings, WhatTheThreadPullsByIsWhatTheBodyFeels) {
  Channel c(1, 4e5, 0.2);
  for (int i = 0; i < 200; ++i) c.pull(20000, 0);
  Vector3d on_thread = Vector3d::Zero();
  for (const StrandContact& r : c.coupled.rings().contacts()) on_thread += r.force;
  EXPECT_LT((on_thread + c.body.contact_force()).norm(), 1e-9 * on_thread.norm());
  EXPECT_LT((-on_thread - 4e5 * c.body.displacement()).norm(), 1e-4 * on_thread.norm());
  const std::size_t last = c.thread.state.x.size() - 1;
  const Vector3d held = c.system.reaction(last);
  EXPECT_LT((held + 20000 * c.from + on_thread).norm(), 1e-3 * 20000);
}

TEST(Rings, HoldTheThreadWithinTheHole) {
  Channel c(1.2, 1e6, 0.2);
  for (int i = 0; i < 100; ++i) {
    c.pull(20000, i % 20 < 10 ? 20 : -20);
    for (const Ring& r : c.coupled.rings().list()) EXPECT_LT(r.aside, Channel::kHole - 0.5 * Channel::kDiameter + 1e-3);
  }
}

// Drawn in from both sides it would fold up in there, where it meets nothing: so a knot once ran into a wall.
TEST(Rings, AStrandHasNoRoomToGatherBetweenTheRingsOfAChannel) {
  Channel c(0.3, 1e9, 0.1, 0.05);
  // Else nothing keeps it from running through as a whole: what draws it in is in balance.
  c.thread.model.drag.assign(c.thread.model.drag.size(), 0.05);
  const auto& rings = c.coupled.rings().list();
  const auto inside = [&] { return (rings[1].u - rings[0].u) * c.thread.model.rest_length; };
  c.step();
  EXPECT_NEAR(inside(), 2, 1e-2);
  for (int i = 0; i < 40; ++i) {
    std::vector<Vector3d>& load = c.thread.drive.load;
    load.assign(load.size(), Vector3d::Zero());
    load[static_cast<std::size_t>(rings[0].u) + 3].z() = -5000;
    load[static_cast<std::size_t>(rings[1].u) - 2].z() = 5000;
    c.step();
    EXPECT_LT(inside(), 2 / 0.8 * 1.01);
  }
  EXPECT_GT(inside(), 2 / 0.8 * 0.99);
  // It bears what draws the strand in, but for what the strand's bends do.
  const StrandContact& strut = c.coupled.rings().struts()[0];
  EXPECT_NEAR(strut.normal.dot(strut.force), 5000, 500);
  EXPECT_TRUE(c.coupled.rings().struts()[1].force.isZero(0));
}

// Against second differences of the distance, for motions of strand and body in all directions.
TEST(Rings, TheForceOfARimTurnsAsTheSecondDerivativeOfTheDistanceSays) {
  SprungMesh body(drum(2, 1, 12), 1000, 10);
  const Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* const body_list[] = {&obstacle};
  SoftBody* const soft_list[] = {&body};
  const Bodies bodies{body_list, 1, 0, soft_list};
  const std::uint32_t triangle = 5;
  const TriangleMesh& mesh = body.surface();
  const Vector3d centre = (mesh.vertex(mesh.triangle(triangle)[0]) + mesh.vertex(mesh.triangle(triangle)[1]) +
                           mesh.vertex(mesh.triangle(triangle)[2])) /
                          3;
  Random random(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<Vector3d> x;
    for (int i = 0; i < 8; ++i) {
      const double u = i - 3.4;
      x.push_back(centre + Vector3d(0.05 * u, 0.004 * u * u + 0.012, 0.002 * u * u * random.uniform()));
    }
    Ring ring;
    ring.on = {triangle, Vector3d(1, 1, 1) / 3};
    ring.radius = 0.03;
    ring.u = 3.3;
    Rings rings(1);
    ASSERT_TRUE(rings.add(ring));
    const Strand strand{.x = x.data(), .vertices = x.size(), .radius = 0.0125, .rest_length = 0.05};
    rings.follow(&strand, bodies);
    StrandContact& contact = rings.contacts()[0];
    const double force = 100;
    contact.force = force * contact.normal;
    const Rings::Stiffness by = rings.stiffness(0, &strand);
    const Eigen::Matrix3d axes = rings.axes(0, &strand);
    const Blend at = blend_at(strand, contact.pair.edge_a, contact.sa);
    const Blend slope = slope_at(strand, contact.pair.edge_a, contact.sa);
    const std::vector<Vector3d> x0 = x;
    std::vector<Vector3d> by_x;
    for (std::size_t i = 0; i < x.size(); ++i) by_x.push_back({random.normal(), random.normal(), random.normal()});
    const Vector3d by_body(random.normal(), random.normal(), random.normal());
    Vector3d apart = -by_body, turned(0, 0, 0);
    for (int k = 0; k < 3; ++k) {
      apart += at.weight[k] * by_x[at.vertex[k]];
      turned += slope.weight[k] * by_x[slope.vertex[k]];
    }
    const double w = axes.col(2).dot(apart), s = -axes.col(0).dot(turned), r = axes.col(1).dot(apart);
    const double expected = by.round * r * r + by.along * w * w + 2 * by.both * w * s + by.slope * s * s;
    const double e = 1e-5;
    const auto distance = [&](double t) {
      for (std::size_t i = 0; i < x.size(); ++i) x[i] = x0[i] + t * (by_x[i] - by_body);
      rings.follow(&strand, bodies);
      return rings.list()[0].aside;
    };
    const double second = force * (distance(e) - 2 * distance(0) + distance(-e)) / (e * e);
    EXPECT_NEAR(second, expected, 1e-3 * (by.round + std::abs(by.both)) * apart.squaredNorm()) << round;
  }
}

TEST(Rings, AreLeftByAnEndThatIsPulledThrough) {
  Channel c(0.5, 1e7, 0.1);
  for (int i = 0; i < 400 && !c.coupled.rings().list()[0].left; ++i) c.pull(0, 2);
  EXPECT_TRUE(c.coupled.rings().list()[0].left);
  EXPECT_FALSE(c.coupled.rings().list()[1].left);
  for (int i = 0; i < 400 && !c.coupled.rings().list()[1].left; ++i) c.pull(0, 2);
  EXPECT_TRUE(c.coupled.rings().list()[1].left);
  for (int i = 0; i < 20; ++i) c.pull(0, 2);
  EXPECT_LT(c.last_tension(), 10);
}

/// A drum by itself, for holes in its side.
struct Wall {
  SprungMesh body{drum(2, 1, 12), 1000, 10};
  Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* obstacles[1] = {&obstacle};
  SoftBody* softs[1] = {&body};
  Bodies bodies{obstacles, 1, 0, softs};
};

// The end that has left the inner hole may already be in the outer one. What is inside is that end, not all the rest.
TEST(Rings, AnEndThatLeavesBothHolesAtOnceIsAllThatTheWallHolds) {
  Wall wall;
  const Bodies& bodies = wall.bodies;
  const TriangleMesh& mesh = wall.body.surface();
  const TriangleMesh::Nearest outer = mesh.nearest({0, 0, 2}, 1), inner = mesh.nearest({0, 0.3, 2}, 1);
  ASSERT_TRUE(outer.found && inner.found);
  constexpr int kVertices = 9;
  for (const bool last : {true, false})
    for (const bool outer_first : {true, false}) {
      // Its end is 0.01 mm before the outer hole's centre, and 0.31 mm before the inner one's.
      std::vector<Vector3d> x(kVertices);
      for (int i = 0; i < kVertices; ++i)
        x[static_cast<std::size_t>(last ? i : kVertices - 1 - i)] =
            outer.point + Vector3d(0, -0.01 - 0.05 * (kVertices - 1 - i), 0);
      const Strand strand{.x = x.data(), .vertices = x.size(), .radius = 0.0125, .rest_length = 0.05};
      Rings rings(2);
      for (const bool is_outer : {outer_first, !outer_first}) {
        const TriangleMesh::Nearest& at = is_outer ? outer : inner;
        Ring ring;
        ring.on = {at.triangle, mesh.weights(at.triangle, at.point)};
        ring.radius = 0.03;
        ring.u = last ? kVertices - 1 : 0;
        ring.to_last = last;
        ASSERT_TRUE(rings.add(ring));
      }
      rings.follow(&strand, bodies);
      for (const Ring& r : rings.list()) EXPECT_EQ(r.u, last ? kVertices - 1 : 0);
      EXPECT_NE(rings.list()[0].left, rings.list()[1].left);
      ASSERT_EQ(rings.passages().size(), 1u);
      const Passage& p = rings.passages()[0];
      EXPECT_TRUE(last ? p.from > kVertices - 3 && p.to >= kVertices - 1 : p.from <= 0 && p.to < 2)
          << p.from << " to " << p.to;
    }
}

// Through a wall that is crushed a strand may lie so obliquely that it is nearest to the second hole before the first.
TEST(Rings, OfAChannelKeepTheirOrderAlongTheStrand) {
  Wall wall;
  const Bodies& bodies = wall.bodies;
  const TriangleMesh& mesh = wall.body.surface();
  constexpr int kVertices = 21;
  for (const bool forward : {true, false}) {
    std::vector<Vector3d> x(kVertices);
    const auto place = [&](double along) {
      for (int i = 0; i < kVertices; ++i)
        x[static_cast<std::size_t>(i)] = Vector3d(0, 0.02 + along * 0.05 * (i - kVertices / 2), 2);
    };
    place(forward ? 1 : -1);
    const Strand strand{.x = x.data(), .vertices = x.size(), .radius = 0.0125, .rest_length = 0.05};
    Rings rings(2);
    for (const double y : {0.0, 0.04}) {
      const TriangleMesh::Nearest hole = mesh.nearest({0, y, 2}, 1);
      ASSERT_TRUE(hole.found);
      Ring ring;
      ring.on = {hole.triangle, mesh.weights(hole.triangle, hole.point)};
      ring.radius = 0.03;
      ring.u = kVertices / 2 + (forward ? 1 : -1) * (y - 0.02) / 0.05;
      ASSERT_TRUE(rings.add(ring));
    }
    rings.follow(&strand, bodies);
    const Ring &a = rings.list()[0], &b = rings.list()[1];
    EXPECT_NEAR(std::abs(a.u - b.u), 0.8, 1e-6);
    EXPECT_EQ(a.u < b.u, forward);
    place(forward ? -1 : 1);
    rings.follow(&strand, bodies);
    EXPECT_TRUE(forward ? a.u <= b.u : b.u <= a.u) << a.u << " " << b.u;
    ASSERT_EQ(rings.passages().size(), 1u);
    EXPECT_LT(rings.passages()[0].from, rings.passages()[0].to);
    place(forward ? 1 : -1);
    rings.follow(&strand, bodies);
    EXPECT_NEAR(std::abs(a.u - b.u), 0.8, 1e-6);
  }
}

// A ring of thread through the wall: what is in it goes from the hole that is ahead to the other, over the first vertex
// or not, and however much of the strand that is.
TEST(Rings, AClosedStrandIsInTheWallFromTheOneHoleToTheOther) {
  Wall wall;
  const TriangleMesh& mesh = wall.body.surface();
  constexpr int kVertices = 40;
  for (const double part : {0.2, 0.7})  // of the strand, in the wall
    for (const int first : {0, 3, 12, 20, 33, 39}) {
      // A circle about the surface: its lower part is in the wall.
      const double depth = std::cos(std::numbers::pi * part);
      std::vector<Vector3d> x;
      for (int i = 0; i < kVertices; ++i) {
        const double a = 2 * std::numbers::pi * (i + first + 0.5) / kVertices;  // 0: the lowest place
        x.emplace_back(0.3 * std::sin(a), 0, 2 + 0.3 * (depth - std::cos(a)));
      }
      const Strand strand{.x = x.data(),
                          .vertices = x.size(),
                          .closed = true,
                          .radius = 0.0125,
                          .rest_length = 0.6 * std::sin(std::numbers::pi / kVertices)};
      const auto place = [&](double turned) {  // of the circle, from its lowest place on [edges]
        const double u = turned * kVertices - first - 0.5;
        return u - kVertices * std::floor(u / kVertices);
      };
      const double enters = place(-0.5 * part), leaves = place(0.5 * part);
      Rings rings(2);
      for (const double u : {enters, leaves}) {
        const TriangleMesh::Nearest hole = mesh.nearest(curve_at(strand, u).p, 1);
        ASSERT_TRUE(hole.found);
        Ring ring;
        ring.on = {hole.triangle, mesh.weights(hole.triangle, hole.point)};
        ring.radius = 0.02;
        ring.u = u;
        ASSERT_TRUE(rings.add(ring));
      }
      // Which is ahead was found before the strand ran on over its first vertex.
      rings.list()[0].ahead = true, rings.list()[1].ahead = false;
      rings.follow(&strand, wall.bodies);
      const double wide = (0.02 + 0.0125) / strand.rest_length;
      for (int i = 0; i < kVertices; ++i) {
        double turned = (i + first + 0.5) / kVertices;
        turned -= std::round(turned);
        const double beyond = std::abs(turned) * kVertices - 0.5 * part * kVertices - wide;  // the passage's end [edges]
        if (std::abs(beyond) < 0.3) continue;
        EXPECT_EQ(passes(rings.passages(), 0, 0, i, i), beyond < 0) << part << ", vertex " << i << " of " << first;
      }
    }
}

TEST(Rings, GoWithAStrandThatIsDividedAnew) {
  Wall wall;
  const TriangleMesh& mesh = wall.body.surface();
  const TriangleMesh::Nearest hole = mesh.nearest({0, 0, 2}, 1);
  ASSERT_TRUE(hole.found);
  // Comes by the hole three times: the nearest place from another one's number would be another time's.
  std::vector<Vector3d> coarse, fine;
  for (int i = 0; i <= 30; ++i)
    coarse.emplace_back(0.1 * std::sin(0.6 * i), 0.02 * std::cos(0.6 * i), 2 + 0.002 * (i - 15));
  for (std::size_t i = 0; i < 30; ++i) {
    fine.push_back(coarse[i]);
    fine.push_back(0.5 * (coarse[i] + coarse[i + 1]));
  }
  fine.push_back(coarse.back());
  const Strand before{.x = coarse.data(), .vertices = coarse.size(), .radius = 0.0125, .rest_length = 0.06};
  const Strand after{.x = fine.data(), .vertices = fine.size(), .radius = 0.0125, .rest_length = 0.03};
  Rings rings(1);
  Ring ring;
  ring.on = {hole.triangle, mesh.weights(hole.triangle, hole.point)};
  ring.radius = 0.03;
  ring.u = 15.2;
  ASSERT_TRUE(rings.add(ring));
  rings.follow(&before, wall.bodies);
  const double u = rings.list()[0].u, arc = before.arc_at(u);
  ASSERT_NEAR(u, 15.7, 0.5);
  std::vector<EdgeMove> divided, joined;
  for (std::uint32_t e = 0; e < 30; ++e) divided.push_back({2 * e, 0, 2});
  for (std::uint32_t e = 0; e < 60; ++e) joined.push_back({e / 2, e % 2 ? 0.5 : 0, 0.5});
  rings.regrade(0, divided);
  EXPECT_NEAR(after.arc_at(rings.list()[0].u), arc, 1e-12);
  rings.follow(&after, wall.bodies);
  EXPECT_NEAR(after.arc_at(rings.list()[0].u), arc, 0.006);
  rings.regrade(0, joined);
  rings.follow(&before, wall.bodies);
  EXPECT_NEAR(rings.list()[0].u, u, 1e-9);
}

// A point drawn back along a wall may go by the side of its hole. Without the channel it would be in the wall.
TEST(Rings, AnEndThatGoesByTheSideOfItsLastHoleStaysInItsChannelUntilItIsOutside) {
  Wall wall;
  const Bodies& bodies = wall.bodies;
  const TriangleMesh& mesh = wall.body.surface();
  const TriangleMesh::Nearest hole = mesh.nearest({0, 0, 2}, 1);
  ASSERT_TRUE(hole.found);
  constexpr int kVertices = 9;
  for (const bool last : {true, false})
    for (const double height : {-0.01, 0.01}) {
      std::vector<Vector3d> x(kVertices);
      const auto place = [&](double above) {
        for (int i = 0; i < kVertices; ++i)
          x[static_cast<std::size_t>(last ? i : kVertices - 1 - i)] =
              hole.point + above * hole.normal + Vector3d(0, -0.05 - 0.05 * (kVertices - 1 - i), 0);
      };
      place(height);
      const Strand strand{.x = x.data(), .vertices = x.size(), .radius = 0.0125, .rest_length = 0.05};
      Ring ring;
      ring.on = {hole.triangle, mesh.weights(hole.triangle, hole.point)};
      ring.radius = 0.03;
      ring.u = last ? kVertices - 1 : 0;
      ring.to_last = last;
      Rings rings(2);
      ASSERT_TRUE(rings.add(ring));
      rings.follow(&strand, bodies);
      EXPECT_EQ(rings.list()[0].left, height > 0);
      EXPECT_EQ(rings.passages().size(), height > 0 ? 0u : 1u);
      place(0.01);
      rings.follow(&strand, bodies);
      EXPECT_TRUE(rings.list()[0].left);
      // Of two the other one is still there for it.
      place(height);
      Rings both(2);
      ASSERT_TRUE(both.add(ring));
      const TriangleMesh::Nearest inner = mesh.nearest({0, -0.3, 2}, 1);
      ring.on = {inner.triangle, mesh.weights(inner.triangle, inner.point)};
      ring.u = last ? kVertices - 6 : 5;
      ASSERT_TRUE(both.add(ring));
      both.follow(&strand, bodies);
      EXPECT_TRUE(both.list()[0].left);
      EXPECT_FALSE(both.list()[1].left);
    }
}

TEST(TriangleMesh, DeformedIsWhatItWouldBeMadeAnew) {
  TriangleMesh mesh = drum(1, 0.5, 16);
  Random random(5);
  std::vector<Vector3d> x;
  std::vector<TriangleMesh::Triangle> triangles;
  for (std::size_t v = 0; v < mesh.vertices(); ++v)
    x.push_back(mesh.vertex(v) + 0.05 * Vector3d(random.normal(), random.normal(), random.normal()) +
                Vector3d(3, 0, 0));
  for (std::size_t t = 0; t < mesh.triangles(); ++t) triangles.push_back(mesh.triangle(t));
  mesh.deform(x.data());
  const TriangleMesh fresh = *TriangleMesh::create(x, triangles);
  for (int i = 0; i < 300; ++i) {
    const Vector3d p(random.uniform(1, 5), random.uniform(-1, 1), random.uniform(-2, 2));
    const TriangleMesh::Nearest a = mesh.nearest(p, 3), b = fresh.nearest(p, 3);
    ASSERT_EQ(a.distance, b.distance);
    ASSERT_EQ(a.found, b.found);
    if (!a.found) continue;
    const Vector3d w = mesh.weights(a.triangle, a.point);
    Vector3d at = Vector3d::Zero();
    for (int k = 0; k < 3; ++k) at += w[k] * mesh.vertex(mesh.triangle(a.triangle)[static_cast<std::size_t>(k)]);
    EXPECT_LT((at - a.point).norm(), 1e-12);
    EXPECT_NEAR(w.sum(), 1, 1e-14);
  }
}

// The force at which an arm that has given way by d stays: Hooke's up to the most a hand presses with, then that.
TEST(Tools, PressesAsTheHandGivesWayAndNoHarderThanAHand) {
  constexpr double kCompliance = 5e-6;
  Tools tools(8);
  tools.add({0.1, 0.1}, kCompliance);
  const std::array<Vector3d, 2> to{Vector3d(0, 0, 0), Vector3d(1, 0, 0)};
  tools.lead(0, to.data());
  tools.begin(nullptr, 0, {});
  for (const double pushed : {1e4, 5e4, 9e4, 3e5, 3e5}) {
    tools.clear_forces();
    tools.push(0, {0, 0, pushed}, Tools::By::tissue);
    tools.advance(1);
    tools.clear_forces();
    const double d = tools.given(0).norm();
    EXPECT_GT(d, 0);
    EXPECT_NEAR(d / tools.compliance(0, Tools::By::tissue, 0, Tools::By::tissue), std::min(d / kCompliance, kMostPress),
                1e-6 * kMostPress);
  }
  EXPECT_GT(tools.given(0).norm(), 1);
}

// Two springs side by side: half of it each. What tissue between the arms pushes, one of them bears.
TEST(Tools, ClosedArmsBearWhatThreadsPushTogether) {
  constexpr double kCompliance = 5e-6, kPush = 1e4;
  constexpr Tools::By kThread = Tools::By::thread, kTissue = Tools::By::tissue;
  Tools tools(8);
  tools.add({0.1, 0.1}, kCompliance);
  tools.add({0.1, 0.1}, kCompliance);
  tools.add_filling({0.1, 0.1});
  const auto lead = [&](std::size_t tool, double y) {
    const std::array<Vector3d, 2> to{Vector3d(0, y, 0), Vector3d(1, y, 0)};
    tools.lead(tool, to.data());
  };
  lead(0, -0.1), lead(1, 0.1), lead(2, 0);
  const auto pushed = [&](std::size_t tool, Tools::By by) {
    tools.begin(nullptr, 0, {});
    tools.clear_forces();
    tools.push(tool, {0, kPush, 0}, by);
    std::array<double, 2> given{};
    tools.advance(1);
    for (std::size_t k = 0; k < 2; ++k) given[k] = tools.given(k).y();
    if (tools.body(2).there()) {
      EXPECT_DOUBLE_EQ(tools.given(2).y(), 0.5 * (given[0] + given[1]));
    }
    tools.go_back(0);
    return given;
  };
  const double half = 0.5 * kCompliance * kPush;
  for (std::size_t tool = 0; tool < 3; ++tool) EXPECT_EQ(pushed(tool, kThread), (std::array{half, half})) << tool;
  EXPECT_EQ(pushed(1, kTissue), (std::array{0.0, 2 * half}));
  // What one gives way by at a push on another is what the other does at a push on it.
  for (const Tools::By a : {kThread, kTissue})
    for (const Tools::By b : {kThread, kTissue})
      for (std::size_t i = 0; i < 2; ++i)
        for (std::size_t j = 0; j < 2; ++j)
          EXPECT_DOUBLE_EQ(tools.compliance(i, a, j, b), tools.compliance(j, b, i, a));
  EXPECT_DOUBLE_EQ(tools.compliance(0, kThread, 1, kThread), 0.5 * kCompliance);
  EXPECT_EQ(tools.compliance(0, kTissue, 1, kTissue), 0);

  tools.leave(2);  // open: each on its own
  EXPECT_EQ(pushed(0, kThread)[1], 0);
}

// Two closed arms along x with what lies between them, led to where a hand has them.
struct ClosedJaws {
  Tools tools{8};

  ClosedJaws() {
    for (int k = 0; k < 2; ++k) tools.add({0.1, 0.1}, 5e-6);
    tools.add_filling({0.1, 0.1});
  }
  void lead(double x) {
    for (std::size_t k = 0; k < 3; ++k) {
      const double y = k == 0 ? -0.1 : k == 1 ? 0.1 : 0;
      const std::array<Vector3d, 2> to{Vector3d(x, y, 0), Vector3d(x + 1, y, 0)};
      tools.lead(k, to.data());
    }
  }
  double tip(std::size_t tool, double at) const { return tools.body(tool).nearest_sphere({-9, 0, 0}, at).centre.x(); }
};

// A hand that is far ahead of its arms closes and opens: what lies between the arms is where they are.
TEST(Tools, AFillingIsWhereItsArmsAreAndNotWhereTheHandIs) {
  ClosedJaws jaws;
  const auto step = [&](double x, double part) {
    jaws.lead(x);
    jaws.tools.begin(nullptr, 0, {});
    jaws.tools.finish(part);
  };
  step(0, 1);
  step(0.5, 0);  // nothing of that is let go
  for (const double x : {0.5, 1.0, 1.5}) {
    jaws.tools.leave(2);
    jaws.lead(x);
    jaws.tools.begin(nullptr, 0, {});
    ASSERT_TRUE(jaws.tools.body(2).there());
    for (const double at : {0.0, 0.5, 1.0}) EXPECT_NEAR(jaws.tip(2, at), jaws.tip(0, at), 1e-12) << x << " at " << at;
    jaws.tools.finish(0);
    EXPECT_EQ(jaws.tip(0, 0), 0);
    EXPECT_NEAR(jaws.tools.refused(), x, 1e-12);
  }
}

// Held apart by more than half of what an arm is thick they have a slit on either side of what would stand between them.
TEST(Tools, NothingFillsArmsThatAreHeldApart) {
  for (const double apart : {0.04, 0.16}) {
    ClosedJaws jaws;
    jaws.lead(0);
    for (int step = 0; step < 2; ++step) {
      jaws.tools.begin(nullptr, 0, {});
      jaws.tools.clear_forces();
      for (std::size_t k = 0; k < 2; ++k)
        jaws.tools.push(k, {0, (k == 0 ? -0.5 : 0.5) * apart / 5e-6, 0}, Tools::By::tissue);
      jaws.tools.advance(1);
      jaws.tools.finish(1);
    }
    jaws.tools.begin(nullptr, 0, {});
    EXPECT_NEAR((jaws.tools.given(1) - jaws.tools.given(0)).norm(), apart, 1e-12);
    EXPECT_EQ(jaws.tools.body(2).there(), apart < 0.1);
  }
}

// A thread that closed jaws hold lies where the filling is; let go there, it has to get out.
TEST(Tools, NothingFillsJawsWhereAThreadLiesUnheld) {
  ClosedJaws jaws;
  const std::vector<Vector3d> x{{0.5, 0, -0.05}, {0.5, 0, 0.05}};
  const Strand strand{.x = x.data(), .vertices = x.size(), .radius = 0.0125, .rest_length = 0.1};
  std::vector<Passage> held;
  for (std::uint32_t k = 0; k < 3; ++k) held.push_back({0, k, -1, 2, 0});
  for (const bool is_held : {true, false, true}) {
    jaws.lead(0);
    Bodies bodies;
    bodies.tools = 0;
    const std::vector<Passage> arms(held.begin(), held.begin() + 2);
    bodies.spared = is_held ? &held : &arms;
    jaws.tools.begin(&strand, 1, bodies);
    EXPECT_TRUE(jaws.tools.body(0).there() && jaws.tools.body(1).there());
    EXPECT_EQ(jaws.tools.body(2).there(), is_held);
    jaws.tools.finish(1);
  }
}

}  // namespace
}  // namespace ligature::contact
