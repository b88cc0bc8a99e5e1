/// The needle: a stiff, curved end of a thread. Its mechanics against theory.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/rod/rod.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

using std::numbers::pi;
using Kind = Place::Kind;
using Hold = ClampParams::Hold;

constexpr double kSteel = 200e9, kSteelDensity = 7.85e-3;  // [Pa], [g/mm^3]

NeedleParams steel(double arc_mm, double arc_rad, double wire_mm) {
  NeedleParams n;
  n.name = "needle";
  n.arc_mm = arc_mm;
  n.arc_rad = arc_rad;
  n.wire_mm = wire_mm;
  n.at_last = true;
  n.toward = {0, 1, 0};
  n.material = round_thread(kSteel, 0.28, kSteelDensity, wire_mm, 0);
  return n;
}

/// A thread along x whose needle begins at the origin and bends towards y, in so many segments a millimetre.
ThreadParams with_needle(const NeedleParams& needle, double thread_mm, double segment_mm, double drag = kStaticDrag) {
  ThreadParams t = nylon({{-thread_mm, 0, 0}, {0, 0, 0}}, kTen0, 10, drag);
  t.segment_mm = segment_mm;
  t.needle = needle;
  return t;
}

// ------------------------------------------------------------------------------------------------------- mechanics

// Every kind of section boundary: within an edge, at a vertex, at both ends.
TEST(RodSections, GradientAndHessianAreThoseOfTheEnergy) {
  using namespace rod;
  Random random(3);
  for (const double to : {0.37, 0.5, 0.8}) {
    const std::size_t n = 9;
    std::vector<Vector3d> x(n, Vector3d::Zero());
    for (std::size_t i = 1; i < n; ++i)
      x[i] = x[i - 1] + 0.1 * Vector3d(1, 0.4 * random.normal(), 0.4 * random.normal()).normalized();
    RodModel m;
    m.angles_unknown = true;
    m.rest_length = 0.1;
    m.stretch_stiffness = 50;
    m.bend_stiffness = 0.7;
    m.twist_stiffness = 0.4;
    m.radius = 0.01;
    m.drag.assign(n, 1.0);
    m.rest_curvature.assign(n, {0.3, -0.2});
    m.sections = make_sections(m, {{.from = 0, .to = to, .stretch = 700, .bend = 30, .twist = 21, .radius = 0.05}});
    Twist start(x, false, 1);
    ASSERT_TRUE(start.hold_frame(n - 1));
    for (std::size_t i = 0; i + 1 < n; ++i) start.set_theta(i, 0.3 * random.normal());
    const std::size_t rows = 4 * n;
    const auto at = [&](const Eigen::VectorXd& by) {
      std::vector<Vector3d> moved = x;
      for (std::size_t i = 0; i < n; ++i) moved[i] += by.segment<3>(static_cast<Eigen::Index>(4 * i));
      Twist twist = start;
      twist.carry(start, moved);
      for (std::size_t i = 0; i + 1 < n; ++i)
        twist.set_theta(i, start.theta(i) + by[static_cast<Eigen::Index>(4 * i + 3)]);
      return std::pair(moved, twist);
    };
    BlockBand<4> band(n);
    Eigen::VectorXd none = Eigen::VectorXd::Zero(static_cast<Eigen::Index>(rows)), g = none;
    add_elastic<4>(m, x, start, Hessian::exact, 1, nullptr, g.data(), &band);
    const double h = 1e-6;
    for (Eigen::Index r = 0; r < static_cast<Eigen::Index>(rows); ++r) {
      Eigen::VectorXd by = none;
      by[r] = h;
      const auto [xp, tp] = at(by);
      const auto [xm, tm] = at(-by);
      const double slope = (elastic_energy(m, xp, tp).sum() - elastic_energy(m, xm, tm).sum()) / (2 * h);
      EXPECT_NEAR(g[r], slope, 1e-6 * (1 + std::abs(slope))) << "row " << r << " to " << to;
    }
    // v.H.v is the second difference of the energy along v, frames carried straight.
    for (int k = 0; k < 20; ++k) {
      Eigen::VectorXd v = none, hv = none;
      for (double& c : v) c = 0.01 * random.normal();
      v[static_cast<Eigen::Index>(rows - 1)] = 0;  // no edge
      band.multiply(v.data(), hv.data());
      const double part = 1e-2;
      const auto [xp, tp] = at(part * v);
      const auto [xm, tm] = at(-part * v);
      const double curved =
          (elastic_energy(m, xp, tp).sum() - 2 * elastic_energy(m, x, start).sum() + elastic_energy(m, xm, tm).sum()) /
          (part * part);
      EXPECT_NEAR(v.dot(hv), curved, 1e-4 * std::abs(curved));
    }
    EXPECT_DOUBLE_EQ(m.radius_at(0, 0.25), 0.05);
    EXPECT_DOUBLE_EQ(m.radius_at(n - 1), to < 0.8 ? 0.01 : 0.05);
  }
}

/// Deflection at the end under a small load there; what is of the second order goes.
Vec3 yields(ThreadParams t, Place::Kind clamped, const Place& loaded, Vec3 load) {
  Vec3 out;
  for (const double sign : {1.0, -1.0}) {
    ThreadParams one = t;
    one.clamps = {clamp_at(clamped, Hold::frame)};
    ForceParams f = force_at(Kind::first, sign * load);
    f.at = loaded;
    one.forces = {f};
    WorldParams p = thread_world();
    p.threads = {one};
    World world = make_world(p);
    const auto before = world.shape(0);
    const Rest rest = settle(world);
    EXPECT_TRUE(rest.reached) << rest.residual << " after " << rest.steps;
    const auto after = world.shape(0);
    std::size_t vertex = 0;
    if (loaded.kind == Kind::last) vertex = after.x.size() - 1;
    if (loaded.kind == Kind::arc)
      while (after.s_mm[vertex] < loaded.s_mm - 1e-6) ++vertex;
    out = out + (sign * 0.5) * (after.x[vertex] - before.x[vertex]);
  }
  return out;
}

TEST(RodSections, ATwoSectionCantileverBendsAsBeamTheorySays) {
  for (const double young : {20e9, kSteel})
    for (const bool at_wire : {true, false}) {
      NeedleParams n = steel(2.03, 0, 0.03);  // the seam lies within an edge
      n.material = round_thread(young, 0.28, kSteelDensity, n.wire_mm, 0);
      const double a = n.arc_mm, b = 3;
      for (const double segment : {0.1, 0.05, 0.025}) {
        const ThreadParams t = with_needle(n, b, segment);
        const double wire = n.material.bend_stiffness, thread = t.material.bend_stiffness, load = 1e-3 * thread;
        // Stiffness at the clamped end and at the loaded one.
        const double near = at_wire ? wire : thread, far = at_wire ? thread : wire, lf = at_wire ? b : a, whole = a + b;
        const double theory = load * (std::pow(lf, 3) / far + (std::pow(whole, 3) - std::pow(lf, 3)) / near) / 3;
        const Place end{.kind = at_wire ? Kind::first : Kind::last};
        const Vec3 got = yields(t, at_wire ? Kind::last : Kind::first, end, {0, 0, load});
        const double off = got.z / theory - 1;
        EXPECT_LT(std::abs(off), segment > 0.06 ? 0.01 : 0.004);
      }
    }
}

// An arc of radius R clamped at its point, loaded where the thread begins, which trails free. Castigliano's theorem.
TEST(Needle, IsACurvedBeamInItsPlaneAndAcrossIt) {
  const double phi = 3 * pi / 4;
  for (const double wire : {0.05, 0.13}) {
    NeedleParams n = steel(5, phi, wire);
    const double R = n.arc_mm / phi, bend = n.material.bend_stiffness, twist = n.material.twist_stiffness,
                 stretch = n.material.stretch_stiffness;
    const double ss = phi / 2 - std::sin(2 * phi) / 4, cc = 1.5 * phi - 2 * std::sin(phi) + std::sin(2 * phi) / 4,
                 sc = 1 - std::cos(phi) - std::sin(phi) * std::sin(phi) / 2;
    const double load = 1e-3 * bend / (R * R), unit = load * R * R * R / bend, small = bend / (stretch * R * R);
    double before[4] = {};
    for (const double segment : {0.25, 0.125, 0.0625}) {
      const ThreadParams t = with_needle(n, 1, segment);
      const Place swage{.kind = Kind::arc, .s_mm = 1};
      const Vec3 x = (1 / unit) * yields(t, Kind::last, swage, {load, 0, 0});
      const Vec3 y = (1 / unit) * yields(t, Kind::last, swage, {0, load, 0});
      const Vec3 z = (1 / unit) * yields(t, Kind::last, swage, {0, 0, load});
      const double theory[4] = {cc + small * (phi / 2 + std::sin(2 * phi) / 4), ss + small * ss,
                                -sc + small * 0.5 * std::sin(phi) * std::sin(phi), ss + cc * bend / twist};
      const double got[4] = {x.x, y.y, x.y, z.z};
      for (int k = 0; k < 4; ++k) {
        const double off = got[k] / theory[k] - 1;
        EXPECT_LT(std::abs(off), 0.01);
        if (segment < 0.2) {
          EXPECT_LT(std::abs(off), std::max(0.4 * std::abs(before[k]), 1e-5)) << "second order";
        }
        before[k] = off;
      }
    }
  }
}

TEST(Needle, IsAtRestAsDrawn) {
  for (const bool last : {false, true})
    for (const double segment : {0.25, 0.17}) {
      NeedleParams n = steel(5, 3 * pi / 4, 0.1);
      n.at_last = last;
      ThreadParams t = with_needle(n, 20, segment);
      if (!last) std::swap(t.points[0], t.points[1]);
      WorldParams p = thread_world();
      p.threads = {t};
      World world = make_world(p);
      const auto before = world.shape(0).x;
      for (int k = 0; k < 5; ++k) world.step({});
      const auto after = world.shape(0).x;
      double moved = 0;
      for (std::size_t i = 0; i < after.size(); ++i) moved = std::max(moved, norm(after[i] - before[i]));
      EXPECT_LT(moved, 1e-8) << last << " " << segment;
      // The chord from swage to point.
      const double R = n.arc_mm / n.arc_rad, chord = 2 * R * std::sin(0.5 * n.arc_rad);
      const Vec3 tip = last ? before.back() : before.front();
      EXPECT_NEAR(norm(tip), chord, 0.002 * chord);
    }
}

// ---------------------------------------------------------------------------------------------------------- motion

TEST(Needle, FallsOntoThePlaneAndComesToRest) {
  for (const bool inertial : {true, false}) {
    NeedleParams n = steel(5, 3 * pi / 4, 0.1);
    ThreadParams t = with_needle(n, 30, 0.25, inertial ? 4e-5 : 3e-3);
    t.inertial = inertial;
    for (Vec3& x : t.points) x = x + Vec3{0, 0, 2};
    t.needle->toward = {0, 0.5, 1};
    WorldParams p = thread_world(0.005);
    p.solver.iterations = 50;
    p.gravity = {0, 0, -kGravity};
    p.obstacles.push_back({});
    p.threads = {t};
    World world = make_world(p);
    const auto energy = [&] {
      const ThreadMeasure m = world.measure(0, false);
      return m.kinetic_energy + m.potential_energy + m.bend_energy + m.stretch_energy + m.twist_energy;
    };
    world.step({});
    double speed = 1, before = energy();
    const double falls = std::abs(before);
    for (int k = 0; k < 300 && (k < 60 || speed > 1e-4); ++k) {
      ASSERT_FALSE(world.step({}).flags & step_non_finite_restored);
      const ThreadMeasure m = world.measure(0, false);
      speed = m.speed_max_mm_per_s;
      EXPECT_LT(m.elongation_max, 1e-3);
      if (!inertial) continue;
      const double now = energy();
      EXPECT_LT(now, before + 1e-4 * falls) << "step " << k;
      before = now;
    }
    if (inertial) {
      EXPECT_LT(speed, 1e-4);
    }
    const auto x = world.shape(0);
    double lowest_wire = 1e9, lowest_thread = 1e9;
    for (std::size_t i = 0; i < x.x.size(); ++i) {
      double& lowest = x.s_mm[i] >= 30 - 1e-9 ? lowest_wire : lowest_thread;
      lowest = std::min(lowest, x.x[i].z);
    }
    EXPECT_NEAR(lowest_wire, 0.05, 1e-4);
    EXPECT_NEAR(lowest_thread, 0.0125, 1e-4);
  }
}

// Steel on steel: only tissue is pierced, wherever it lies.
TEST(Needle, ItsPointPressedOnARigidMeshPiercesNothing) {
  WorldParams p = thread_world(0.005);
  p.solver.iterations = 30;
  p.threads = {with_needle(steel(2, 0, 0.1), 2, 0.1)};
  ClampParams hand = clamp_at(Kind::vertex, Hold::position);
  hand.at.vertex = 25;
  hand.velocity = {2, 0, 0};
  hand.until_s = 0.1;
  p.threads[0].clamps = {hand};
  ObstacleParams block;
  block.shape = ObstacleParams::Shape::mesh;
  for (const double x : {2.1, 3.0})
    for (const double y : {-1.0, 1.0})
      for (const double z : {-1.0, 1.0}) block.vertices.push_back({x, y, z});
  block.triangles = {{0, 1, 3}, {0, 3, 2}, {4, 7, 5}, {4, 6, 7}, {0, 5, 1}, {0, 4, 5},
                     {2, 3, 7}, {2, 7, 6}, {0, 2, 6}, {0, 6, 4}, {1, 7, 3}, {1, 5, 7}};
  p.obstacles.push_back(block);
  TissueParams far;
  far.name = "far";
  far.X_WV.p = {0, 50, 0};
  far.pierce_force = 1;
  p.tissues = {far};
  World world = make_world(p);
  double pressed = 0;
  for (int k = 0; k < 20; ++k) {
    EXPECT_FALSE(world.step({}).flags & step_pierced) << k;
    for (const ContactMeasure& c : world.contacts())
      if (c.other == ContactMeasure::Other::obstacle) pressed = std::max(pressed, c.normal_force);
  }
  EXPECT_GT(pressed, 100) << "the point met the block";
  EXPECT_TRUE(world.rings().empty());
}

}  // namespace
}  // namespace ligature::world
