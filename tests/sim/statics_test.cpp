// Rods in equilibrium and in contact, against closed forms (ORACLES).
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/contact/constraint.hpp"
#include "sim/contact/implicit_step.hpp"

namespace ligature::contact {
namespace {

constexpr double kBend = 1.0, kLoadedLength = 1.0;

struct Beam {
  rod::RodModel model;
  rod::RodState state;
  std::vector<Vector3d> x0;
  Drive drive;
};

Beam beam(const std::vector<Vector3d>& x, double rest_length, std::size_t frames = 0) {
  const std::size_t n = x.size();
  Beam b{.model = {}, .state = {x, {}, {}, rod::Twist(x, false, frames)}, .x0 = x, .drive = {}};
  b.model.rest_length = rest_length;
  b.model.mass.assign(n, 0);
  b.model.weight_mass.assign(n, 0);
  b.model.drag.assign(n, 0);
  b.state.v.assign(n, Vector3d::Zero());
  b.state.ease.assign(n, 0);
  b.drive.load.assign(n, Vector3d::Zero());
  return b;
}

// A straight beam along x of unit length, clamped at its first vertex.
Beam cantilever(std::size_t segments) {
  const double l = kLoadedLength / static_cast<double>(segments);
  std::vector<Vector3d> x;
  for (std::size_t i = 0; i <= segments; ++i) x.push_back(Vector3d(static_cast<double>(i) * l, 0, 0));
  Beam b = beam(x, l, 1);
  b.model.radius = 0.01;
  b.model.stretch_stiffness = 1e5;  // strain 1e-5 under the loads below
  b.model.bend_stiffness = kBend;
  b.model.drag.assign(x.size(), 1e-9);
  b.state.twist.hold_frame(0);
  b.drive.held.push_back({0, x[0]});
  return b;
}

Vector3d tip_under(Beam& b, double load) {
  ThreadSystem system(b.x0.size(), 0, b.state.twist);
  ImplicitStep step(b.x0.size(), b.state.twist);
  const StepSettings settings{.dt = 1, .iterations = 60, .residual_target = 1e-9};
  for (int k = 1; k <= 20; ++k) {
    b.drive.load.back() = {0, 0, -load * std::min(1.0, k / 10.0)};
    b.x0 = b.state.x;
    const StepOutcome out = step.solve(system, {&b.model, &b.x0, &b.state, &b.drive, nullptr, 0}, settings);
    EXPECT_TRUE(out.converged) << out.residual;
  }
  return b.state.x.back();
}

struct Elastica {
  double a, x_tip, drop;
};
constexpr Elastica kElastica[] = {{0.5, .98408, .16214}, {1, .94357, .30172}, {2, .83936, .49346}, {5, .61237, .71379}};

TEST(Cantilever, MatchesTheElasticaWithinOnePercentAtFiftySegments) {
  for (const Elastica& known : kElastica) {
    Beam b = cantilever(50);
    const Vector3d tip = tip_under(b, known.a * kBend);
    EXPECT_NEAR(tip.x(), known.x_tip, 0.01 * known.x_tip) << known.a;
    EXPECT_NEAR(-tip.z(), known.drop, 0.01 * known.drop) << known.a;
  }
}

TEST(Cantilever, ErrorFallsWithTheSquareOfTheSegment) {
  double before = 0;
  for (std::size_t segments : {10u, 20u, 40u}) {
    Beam b = cantilever(segments);
    const double error = std::abs(-tip_under(b, 2 * kBend).z() - 0.49346);
    if (before > 0) {
      EXPECT_LT(error, before / 3) << segments;
    }
    before = error;
  }
}

// Edges of 1, 2, 4 and 8 units, the finest at the clamp, beside one another as many as may be; every so often in
// between.
Beam graded_cantilever(std::size_t units, std::size_t period) {
  std::vector<double> node{0};
  const auto in = [&](double at) { return std::fmod(at, static_cast<double>(period)); };
  double size = 1;
  while (node.back() + 0.5 < static_cast<double>(units)) {
    const double at = node.back();
    const double wanted = std::clamp(std::min(in(at), static_cast<double>(period) - in(at)), 1.0, 8.0);
    size = std::min(2 * size, std::exp2(std::floor(std::log2(wanted))));
    node.push_back(std::min(at + size, static_cast<double>(units)));
  }
  std::vector<Vector3d> x;
  for (double at : node) x.push_back(Vector3d(at / static_cast<double>(units) * kLoadedLength, 0, 0));
  Beam b = beam(x, kLoadedLength / static_cast<double>(units), 1);
  b.model.node = node;
  b.model.radius = 0.01;
  b.model.stretch_stiffness = 1e5;
  b.model.bend_stiffness = kBend;
  b.model.drag.assign(x.size(), 1e-9);
  b.state.twist.set_nodes(node);
  b.state.twist.hold_frame(0);
  b.drive.held.push_back({0, x[0]});
  return b;
}

TEST(Cantilever, OfUnequalEdgesMatchesTheElastica) {
  for (const Elastica& known : kElastica) {
    Beam b = graded_cantilever(200, 64);
    ASSERT_LT(b.x0.size(), 60u);
    const Vector3d tip = tip_under(b, known.a * kBend);
    EXPECT_NEAR(tip.x(), known.x_tip, 2e-3 * known.x_tip) << known.a;
    EXPECT_NEAR(-tip.z(), known.drop, 2e-3 * known.drop) << known.a;
  }
}

TEST(Cantilever, OfUnequalEdgesHasAnErrorThatFallsWithTheSquareOfTheSegment) {
  double before = 0;
  for (std::size_t fineness : {1u, 2u, 4u}) {
    Beam b = graded_cantilever(64 * fineness, 32);
    const double error = std::abs(-tip_under(b, 2 * kBend).z() - 0.49346);
    if (before > 0) {
      EXPECT_LT(error, before / 3) << fineness;
    }
    before = error;
  }
}

// ------------------------------------------------------------------------------------------------- contact law

Constraint bench(double mu) {
  Constraint c;
  c.friction = mu;
  c.k = 1e4;
  c.engaged = true;
  return c;
}

TEST(Constraint, ForceIsMinusTheDerivativeOfThePotential) {
  Random random(1);
  for (int i = 0; i < 200; ++i) {
    Constraint c = bench(0.3);
    if (i % 3 == 0) c.kind = Constraint::Kind::grip, c.bound = 2, c.stiffer = 30;
    c.normal = Vector3d(random.normal(), random.normal(), random.normal()).normalized();
    c.force = (i % 3 == 0 ? 0.0 : 5.0) * c.normal;
    c.settled = true;
    if (i % 2 == 0)  // over an arm on one side or both
      for (std::size_t k = 0; k < (i % 4 == 0 ? 2 : 1); ++k)
        c.leaving[k] = {c.normal.unitOrthogonal() * (k == 0 ? 1.0 : -1.0), 0.7, k == 0 ? 1.0 : 2.0};
    c.sliding = i % 2 == 0;
    c.anchor = 1e-4 * Vector3d(random.normal(), random.normal(), random.normal());
    const Vector3d at = 3e-4 * Vector3d(random.normal(), random.normal(), random.normal());
    const Response r = respond(c, at);
    Vector3d numeric;
    for (int k = 0; k < 3; ++k) {
      const Vector3d h = 1e-9 * Vector3d::Unit(k);
      numeric[k] = -(potential(c, at + h, r) - potential(c, at - h, r)) / 2e-9;
    }
    if (c.kind == Constraint::Kind::contact && r.force.dot(c.normal) < 0) continue;  // pulls: on its way out
    EXPECT_LT((numeric - r.force).norm(), 1e-4 * (1 + r.force.norm())) << i;
    EXPECT_LT((r.stiffness - r.stiffness.transpose()).norm(), 1e-12 * r.stiffness.norm() + 1e-300);
  }
}

// A grip from which a strand of this tension goes at this angle to one side of the faces, over an arm, and another the
// other way; the place is strained by as much as holds both.
GripAt drawn_over_arms(double mu, double tension, double angle, double other, double other_angle) {
  Constraint grip = bench(mu);
  grip.kind = Constraint::Kind::grip;
  grip.settled = true;
  grip.bound = 1;
  grip.stiffer = 30;
  grip.normal = Vector3d::UnitY();
  const double lifts = tension * std::sin(angle), others = other * std::sin(other_angle);
  grip.leaving[1] = {Vector3d::UnitX(), angle, lifts};
  grip.leaving[0] = {-Vector3d::UnitX(), other_angle, others};
  const double along = tension * std::cos(angle) - other * std::cos(other_angle);
  return grip_at(grip, Vector3d(along, (lifts + others) / grip.stiffer, 0) / grip.k);
}

// Eytelwein's law, whatever the angle: also without friction, along the faces and where a strand pulls at right angles
// to them, so that the faces bear nothing along themselves. Drawn out, and let in.
TEST(Constraint, OverAnArmAGripHoldsByEytelweinsLaw) {
  for (const double mu : {0.0, 0.1, 0.4})
    for (const double angle : {0.0, 1e-7, 0.3, 1.0, std::numbers::pi / 2})
      for (const double other : {0.0, 0.5, 3.0})
        for (const double other_angle : {0.0, 0.6, std::numbers::pi / 2}) {
          SCOPED_TRACE(testing::Message() << mu << ' ' << angle << ' ' << other << ' ' << other_angle);
          const double most = (1 + other * std::exp(mu * other_angle)) * std::exp(mu * angle);
          const double least = (other * std::exp(-mu * other_angle) - 1) * std::exp(-mu * angle);
          const auto slides = [&](double tension) {
            return drawn_over_arms(mu, tension, angle, other, other_angle).slid.x();
          };
          EXPECT_EQ(slides(0.999 * most), 0);
          EXPECT_GT(slides(1.001 * most), 0);
          if (least <= 0) continue;
          EXPECT_EQ(slides(1.001 * least), 0);
          EXPECT_LT(slides(0.999 * least), 0);
          const GripAt holds = drawn_over_arms(mu, most, angle, other, other_angle);
          EXPECT_NEAR(holds.force.x(), other * std::cos(other_angle) - most * std::cos(angle), 1e-9 * most);
          EXPECT_NEAR(holds.force.y(), -other * std::sin(other_angle) - most * std::sin(angle), 1e-9 * most);
        }
}

// A free light rod of three vertices on a plane.
Beam block(double mass, double v0x) {
  Beam b = beam({{0, 0, 0.1}, {1, 0, 0.1}, {2, 0, 0.1}}, 1);
  b.model.radius = 0.1;
  b.model.stretch_stiffness = 1e4;
  b.model.bend_stiffness = 1e2;
  b.model.mass.assign(3, mass);
  b.model.weight_mass.assign(3, mass);
  b.state.v.assign(3, Vector3d(v0x, 0, 0));
  return b;
}

// Slides it on the plane z = 0 under this gravity; the mean residual stays at rounding. Returns the last velocity.
Vector3d slide(Beam& b, const Vector3d& gravity, double mu, double dt, int steps) {
  ThreadSystem system(3, 3, b.state.twist);
  ImplicitStep step(3, b.state.twist);
  const StepSettings settings{.dt = dt, .iterations = 50, .residual_target = 1e-10};
  for (std::size_t i = 0; i < 3; ++i) b.drive.load[i] = b.model.weight_mass[i] * gravity;
  std::vector<Constraint> contacts(3, bench(mu));
  for (int k = 0; k < steps; ++k) {
    b.x0 = b.state.x;
    for (std::uint32_t i = 0; i < 3; ++i) {
      Constraint& c = contacts[i];
      c.vertex = i;
      c.offset = 0.1;
      c.anchor = b.x0[i];
      c.engaged = true;
      c.flipped = c.sliding = false;
    }
    const StepOutcome out = step.solve(system, {&b.model, &b.x0, &b.state, &b.drive, contacts.data(), 3}, settings);
    EXPECT_TRUE(out.finite);
    for (const Constraint& c : contacts) {
      const double normal = c.force.z(), across = c.force.head<2>().norm();
      EXPECT_LE(across, mu * normal * (1 + 1e-12));
    }
    for (std::size_t i = 0; i < 3; ++i) b.state.v[i] = (b.state.x[i] - b.x0[i]) / dt;
  }
  return b.state.v[1];
}

TEST(Friction, StartedAcrossASlopeOfItsAngleItEndsDownhillAtHalfTheSpeed) {
  // tan(slope) = mu: downhill pull and friction are equal, so v + v.downhill is conserved. A friction pyramid fails.
  const double mu = 0.3, angle = std::atan(mu), g = 9810;
  Beam b = block(1e-3, 100);
  const Vector3d v = slide(b, g * Vector3d(0, std::sin(angle), -std::cos(angle)), mu, 1e-4, 4000);
  EXPECT_NEAR(v.y(), 50, 0.5);  // implicit Euler at 1e-4 of 0.034 s: first order, 0.3 %
  EXPECT_NEAR(v.x(), 0, 0.5);
}

TEST(Friction, SticksBelowTheAngleInEveryDirectionWithoutCreep) {
  const double mu = 0.3;
  for (double direction : {0.0, 0.4, 0.785398, 1.2, 1.5708}) {
    const double angle = std::atan(0.99 * mu);
    const Vector3d g =
        9810 * Vector3d(std::sin(angle) * std::cos(direction), std::sin(angle) * std::sin(direction), -std::cos(angle));
    Beam b = block(1e-3, 0);
    slide(b, g, mu, 5e-3, 10);
    const Vector3d early = b.state.x[1];
    slide(b, g, mu, 5e-3, 400);
    EXPECT_LT((b.state.x[1] - early).norm(), 1e-6) << direction;
    const double steep = std::atan(1.01 * mu);
    const Vector3d h =
        9810 * Vector3d(std::sin(steep) * std::cos(direction), std::sin(steep) * std::sin(direction), -std::cos(steep));
    Beam s = block(1e-3, 0);
    const Vector3d v = slide(s, h, mu, 5e-3, 40);
    // a = g (sin - mu cos), for 0.2 s
    EXPECT_NEAR(v.norm(), 0.2 * 9810 * (std::sin(steep) - mu * std::cos(steep)), 0.02) << direction;
  }
}

}  // namespace
}  // namespace ligature::contact
