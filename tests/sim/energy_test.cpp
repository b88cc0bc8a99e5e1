#include "sim/rod_old/energy.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <functional>

#include "sim/base/random.hpp"
#include "sim/rod_old/rod.hpp"
#include "sim/rod_old/twist.hpp"

namespace ligature::rod_old {
namespace {

Vector3d random_vector(Random& random, double size) {
  return size * Vector3d(random.normal(), random.normal(), random.normal());
}

// Edges of about rest length 0.2 at three regimes: straight at rest, bent by 1e-8, bent and stretched at random.
struct Regime {
  const char* name;
  double size;
};
constexpr Regime kRegimes[] = {{"rest", 0.0}, {"tiny", 1e-8}, {"random", 0.1}};
constexpr double kLength = 0.2;

struct Edges {
  Vector3d e, f;
};
Edges edges(Random& random, double size) {
  const Vector3d t = random_vector(random, 1).normalized();
  return {kLength * t + random_vector(random, size), kLength * t + random_vector(random, size)};
}

// Central difference of a vector function; the step is the cube root of rounding times the length scale.
constexpr double kStep = 6e-6 * kLength;
Eigen::MatrixXd numeric(const std::function<Eigen::VectorXd(const Vector3d&)>& function, const Vector3d& at) {
  Eigen::MatrixXd J(function(at).size(), 3);
  for (int i = 0; i < 3; ++i) {
    const Vector3d h = kStep * Vector3d::Unit(i);
    J.col(i) = (function(at + h) - function(at - h)) / (2 * kStep);
  }
  return J;
}
Eigen::VectorXd scalar(double v) {
  return Eigen::VectorXd::Constant(1, v);
}

void expect_semidefinite(const Eigen::MatrixXd& H) {
  EXPECT_LT((H - H.transpose()).norm(), 1e-12 * H.norm() + 1e-300);
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(H);
  EXPECT_GE(eigen.eigenvalues().minCoeff(), -1e-12 * eigen.eigenvalues().cwiseAbs().maxCoeff());
}

TEST(Stretch, ForceIsTheDerivativeOfTheEnergy) {
  Random random(1);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const Vector3d e = edges(random, regime.size).e;
      const auto term = stretch(e, kLength, 7.0);
      EXPECT_DOUBLE_EQ(term.energy, stretch_energy(e, kLength, 7.0));
      const auto J = numeric([](const Vector3d& v) { return scalar(stretch(v, kLength, 7.0).energy); }, e);
      EXPECT_LT((J.transpose() - term.gradient).norm(), 1e-8 * 7.0) << regime.name;
    }
}

TEST(Stretch, HessianIsExactWhenTautAndSemidefiniteAlways) {
  Random random(2);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const Vector3d e = edges(random, regime.size).e;
      const auto term = stretch(e, kLength, 7.0);
      expect_semidefinite(term.hessian);
      if (e.norm() < kLength * (1 + 1e-6) && regime.size > 1e-6)
        continue;  // compressed: the geometric part is left out
      const auto H = numeric([](const Vector3d& v) { return stretch(v, kLength, 7.0).gradient; }, e);
      EXPECT_LT((H - term.hessian).norm(), 1e-4 * 7.0 / kLength) << regime.name;
    }
}

TEST(Bend, ForceIsTheDerivativeOfTheEnergy) {
  Random random(3);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const auto term = bend_straight(e, f, kLength, 3.0);
      const double scale = 3.0 / (kLength * kLength) * (1 + term.energy);
      EXPECT_NEAR(term.energy, bend_straight_energy(e, f, kLength, 3.0), 1e-14 * (1 + term.energy));
      const auto J_e = numeric([&](const Vector3d& v) { return scalar(bend_straight(v, f, kLength, 3.0).energy); }, e);
      const auto J_f = numeric([&](const Vector3d& v) { return scalar(bend_straight(e, v, kLength, 3.0).energy); }, f);
      EXPECT_LT((J_e.transpose() - term.gradient_e).norm(), 1e-7 * scale) << regime.name;
      EXPECT_LT((J_f.transpose() - term.gradient_f).norm(), 1e-7 * scale) << regime.name;
    }
}

TEST(Bend, HessianIsThatOfSquaredCurvatureWithoutSecondDerivatives) {
  Random random(4);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const auto term = bend_straight(e, f, kLength, 3.0);
      const Eigen::MatrixXd J_e =
          numeric([&](const Vector3d& v) -> Eigen::VectorXd { return curvature_binormal(v, f); }, e);
      const Eigen::MatrixXd J_f =
          numeric([&](const Vector3d& v) -> Eigen::VectorXd { return curvature_binormal(e, v); }, f);
      const double s = 3.0 / kLength, scale = s * (J_e.squaredNorm() + J_f.squaredNorm());
      EXPECT_LT((term.hessian_ee - s * J_e.transpose() * J_e).norm(), 1e-7 * scale) << regime.name;
      EXPECT_LT((term.hessian_ef - s * J_e.transpose() * J_f).norm(), 1e-7 * scale) << regime.name;
      EXPECT_LT((term.hessian_ff - s * J_f.transpose() * J_f).norm(), 1e-7 * scale) << regime.name;
      Eigen::MatrixXd H(6, 6);
      H << term.hessian_ee, term.hessian_ef, term.hessian_ef.transpose(), term.hessian_ff;
      expect_semidefinite(H);
    }
}

TEST(Bend, StraightRodHasNoForceAndARightAngleTwiceTheTangent) {
  const Vector3d x = kLength * Vector3d::UnitX(), y = kLength * Vector3d::UnitY();
  EXPECT_EQ(bend_straight(x, x, kLength, 3.0).gradient_e.norm(), 0.0);
  EXPECT_NEAR(curvature_binormal(x, y).norm(), 2 * std::tan(0.25 * M_PI), 1e-15);
}

// Directors that the rod carries when only its vertices move: parallel transport along with each edge.
Directors carried(const Directors& d, const Vector3d& from, const Vector3d& to) {
  const Vector3d a = from.normalized(), b = to.normalized();
  return {parallel_transport(d.d1, a, b), parallel_transport(d.d2, a, b)};
}
Directors directors(const Vector3d& e, Random& random) {
  const Vector3d t = e.normalized();
  const Vector3d d1 = t.cross(random_vector(random, 1)).normalized();
  return {d1, t.cross(d1)};
}

TEST(BendCurved, ForceIsTheDerivativeOfTheEnergyWithCarriedFrames) {
  Random random(5);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const Directors de = directors(e, random), df = carried(de, e, f);
      const Eigen::Vector2d rest(0.3 * random.normal(), 0.3 * random.normal());
      const auto term = bend_curved(e, f, de, df, rest, kLength, 3.0);
      const double scale = 3.0 / (kLength * kLength) * (1 + term.energy);
      const auto J_e = numeric(
          [&](const Vector3d& v) {
            return scalar(bend_curved(v, f, carried(de, e, v), df, rest, kLength, 3.0).energy);
          },
          e);
      const auto J_f = numeric(
          [&](const Vector3d& v) {
            return scalar(bend_curved(e, v, de, carried(df, f, v), rest, kLength, 3.0).energy);
          },
          f);
      EXPECT_LT((J_e.transpose() - term.gradient_e).norm(), 1e-7 * scale) << regime.name;
      EXPECT_LT((J_f.transpose() - term.gradient_f).norm(), 1e-7 * scale) << regime.name;
      Eigen::MatrixXd H(6, 6);
      H << term.hessian_ee, term.hessian_ef, term.hessian_ef.transpose(), term.hessian_ff;
      expect_semidefinite(H);
    }
}

TEST(BendCurved, IsBendStraightWhenTheRestShapeIs) {
  Random random(6);
  const auto [e, f] = edges(random, 0.1);
  const Directors de = directors(e, random);
  const auto a = bend_straight(e, f, kLength, 3.0);
  const auto b = bend_curved(e, f, de, carried(de, e, f), {0, 0}, kLength, 3.0);
  EXPECT_NEAR(a.energy, b.energy, 1e-12 * a.energy);
  EXPECT_LT((a.gradient_e - b.gradient_e).norm(), 1e-12 * a.gradient_e.norm());
}

// ------------------------------------------------------------------------------------------------- whole rod

RodModel model(std::size_t n) {
  RodModel m;
  m.radius = 0.1;
  m.stretch_stiffness = 7e3;
  m.bend_stiffness = 20;
  m.twist_stiffness = 14;
  m.rest_length = kLength;
  m.mass.assign(n, 0);
  m.weight_mass.assign(n, 0);
  m.drag.assign(n, 1);
  return m;
}
std::vector<Vector3d> wiggle(Random& random, std::size_t n) {
  std::vector<Vector3d> x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(kLength * double(i) * Vector3d::UnitX() + random_vector(random, 0.05));
  return x;
}

TEST(Rod, ForceIsTheDerivativeOfTheEnergy) {
  Random random(7);
  const std::size_t n = 8;
  const RodModel m = model(n);
  auto x = wiggle(random, n);
  const Twist twist(x);
  std::vector<Vector3d> gradient(n, Vector3d::Zero());
  BlockBand band(n);
  add_elastic(m, x, twist, gradient, band);
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      const double at = x[i][c];
      x[i][c] = at + kStep;
      const double above = elastic_energy(m, x, twist);
      x[i][c] = at - kStep;
      const double below = elastic_energy(m, x, twist);
      x[i][c] = at;
      EXPECT_NEAR(gradient[i][c], (above - below) / (2 * kStep), 1e-5 * (1 + gradient[i].norm()));
    }
}

TEST(Rod, InternalForcesConserveMomentumAndAngularMomentum) {
  Random random(8);
  const std::size_t n = 30;
  const auto x = wiggle(random, n);
  Twist twist(x);
  twist.hold(0, 0);
  twist.hold(n - 2, 5);
  twist.distribute(14, kLength);
  std::vector<Vector3d> gradient(n, Vector3d::Zero());
  BlockBand band(n);
  add_elastic(model(n), x, twist, gradient, band);
  Vector3d force = Vector3d::Zero(), torque = Vector3d::Zero();
  double size = 0;
  for (std::size_t i = 0; i < n; ++i)
    force += gradient[i], torque += x[i].cross(gradient[i]), size += gradient[i].norm();
  EXPECT_LT(force.norm(), 1e-13 * size);
  EXPECT_LT(torque.norm(), 1e-12 * size);
  // Twist moments: the forces cancel; their torque is the difference of the moments that the held ends put in.
  std::fill(gradient.begin(), gradient.end(), Vector3d::Zero());
  add_twist(x, twist, gradient);
  force.setZero(), torque.setZero(), size = 0;
  for (std::size_t i = 0; i < n; ++i)
    force += gradient[i], torque += x[i].cross(gradient[i]), size += gradient[i].norm();
  EXPECT_GT(size, 1);
  EXPECT_LT(force.norm(), 1e-13 * size);
  const double moment = twist.moment(1);
  const Vector3d ends = moment * ((x[1] - x[0]).normalized() - (x[n - 1] - x[n - 2]).normalized());
  EXPECT_LT((torque - ends).norm(), 1e-10 * size);
}

TEST(Rod, EnergyAndForcesTurnWithTheFrame) {
  Random random(9);
  const std::size_t n = 12;
  const auto x = wiggle(random, n);
  const Eigen::Quaterniond q = Eigen::Quaterniond(random.normal(), random.normal(), random.normal(), 1).normalized();
  std::vector<Vector3d> y;
  for (const auto& p : x) y.push_back(q * p + Vector3d(3, -5, 7));
  const Twist tx(x), ty(y);
  EXPECT_NEAR(elastic_energy(model(n), x, tx), elastic_energy(model(n), y, ty),
              1e-10 * elastic_energy(model(n), x, tx));
  std::vector<Vector3d> gx(n, Vector3d::Zero()), gy(n, Vector3d::Zero());
  BlockBand band(n);
  add_elastic(model(n), x, tx, gx, band);
  add_elastic(model(n), y, ty, gy, band);
  for (std::size_t i = 0; i < n; ++i) EXPECT_LT((q * gx[i] - gy[i]).norm(), 1e-9 * (1 + gx[i].norm()));
}

// ----------------------------------------------------------------------------------------------------- twist

TEST(Twist, TurnsBeyondTwoPiAreCountedAndSpreadEvenly) {
  std::vector<Vector3d> x;
  for (int i = 0; i < 11; ++i) x.push_back(0.2 * i * Vector3d::UnitX());
  Twist twist(x);
  twist.hold_director(0, twist.material(0).d1);
  const Vector3d start = twist.material(9).d1;
  for (int step = 0; step <= 300; ++step) {  // three turns, a hundredth at a time
    const double angle = 2 * M_PI * step / 100.0;
    twist.hold_director(9, Eigen::AngleAxisd(angle, Vector3d::UnitX()) * start);
    twist.distribute(14, 0.2);
  }
  EXPECT_NEAR(twist.turns(), 3, 1e-12);
  for (std::size_t i = 1; i < 10; ++i) EXPECT_NEAR(twist.joint(i), 6 * M_PI / 9, 1e-12);
  EXPECT_NEAR(twist.moment(5), 14 * twist.joint(5) / 0.2, 1e-9);
  twist.release(9);
  twist.distribute(14, 0.2);
  EXPECT_EQ(twist.turns(), 0);
  EXPECT_FALSE(twist.active());
}

TEST(Twist, ForceIsTheDerivativeOfTheTwistEnergy) {
  Random random(10);
  const std::size_t n = 9;
  auto x = wiggle(random, n);
  Twist held(x);
  held.hold(0, 0);
  held.hold(n - 2, 4.0);
  held.distribute(14, kLength);
  std::vector<Vector3d> gradient(n, Vector3d::Zero());
  add_twist(x, held, gradient);
  const auto energy = [&](const std::vector<Vector3d>& y) {
    Twist moved = held;
    moved.transport(y);  // held angles stay, the holonomy changes
    moved.distribute(14, kLength);
    double sum = 0;
    for (std::size_t i = 1; i + 1 < n; ++i) sum += 0.5 * 14 / kLength * moved.joint(i) * moved.joint(i);
    return sum;
  };
  // An edge whose frame is held turns it along by parallel transport, so the end vertices count too.
  for (std::size_t i = 0; i < n; ++i)
    for (int c = 0; c < 3; ++c) {
      auto above = x, below = x;
      above[i][c] += kStep, below[i][c] -= kStep;
      EXPECT_NEAR(gradient[i][c], (energy(above) - energy(below)) / (2 * kStep), 1e-5 * (1 + gradient[i].norm())) << i;
    }
}

TEST(Twist, LinkIsConservedWhileTheRodMovesBetweenHeldFrames) {
  // Held ends, the middle swings out and back: the twist it has then is the twist it had.
  std::vector<Vector3d> straight;
  for (int i = 0; i < 21; ++i) straight.push_back(0.2 * i * Vector3d::UnitX());
  Twist twist(straight);
  twist.hold(0, 0);
  twist.hold(19, 9);
  twist.distribute(14, 0.2);
  const double before = twist.turns();
  for (int step = 0; step <= 100; ++step) {
    auto x = straight;
    const double phase = 2 * M_PI * step / 100;
    for (int i = 2; i < 19; ++i) {
      const double bump = std::pow(std::sin(M_PI * (i - 1.5) / 17), 2) * std::sin(0.5 * phase);
      x[static_cast<std::size_t>(i)] += bump * Vector3d(0, std::cos(phase + 0.3 * i), std::sin(phase + 0.3 * i));
    }
    twist.transport(x);
    twist.distribute(14, 0.2);
  }
  twist.transport(straight);
  twist.distribute(14, 0.2);
  EXPECT_NEAR(twist.turns(), before, 1e-9);
}

}  // namespace
}  // namespace ligature::rod_old
