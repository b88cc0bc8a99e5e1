#include "sim/rod/energy.hpp"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <cmath>
#include <functional>
#include <limits>
#include <vector>

#include "sim/base/random.hpp"

namespace ligature::rod {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;
using Matrix6d = Eigen::Matrix<double, 6, 6>;
using Vector6d = Eigen::Matrix<double, 6, 1>;

constexpr double kLength = 0.2, kStiffness = 3.0;

// ------------------------------------------------------------------------------------------ laws, regimes, derivatives

Vector3d random_vector(Random& random, double size) {
  return size * Vector3d(random.normal(), random.normal(), random.normal());
}
Vector3d random_unit(Random& random) {
  return random_vector(random, 1).normalized();
}

// Two edges of about rest length: straight at rest, bent by 1e-8, bent and stretched at random, nearly folded back.
struct Regime {
  const char* name;
  double size;       // of the disturbance
  double tolerance;  // of a numeric derivative, relative to the natural scale of the function
};
// Numeric derivatives below err by rounding/step = 1e-16/4e-3 of what the function is there. Near rest that is a small
// part of the natural scale, and the values compared are small too; at random the higher derivatives grow with the
// turn.
constexpr Regime kRegimes[] = {{"rest", 0.0, 1e-12}, {"tiny", 1e-8 * kLength, 1e-12}, {"random", 0.5 * kLength, 1e-9}};

struct Edges {
  Vector3d e, f;
};
Edges edges(Random& random, double size) {
  for (;;) {
    const Vector3d t = random_unit(random), e = kLength * t + random_vector(random, size),
                   f = kLength * t + random_vector(random, size);
    // Turned by less than 127 degrees and no tiny edge: the step of the differences is 4e-3 of kLength.
    if (e.norm() > 0.5 * kLength && f.norm() > 0.5 * kLength && e.dot(f) > -0.6 * e.norm() * f.norm()) return {e, f};
  }
}

// d function(v)/dv (rows: components of the function) by central differences of sixth order.
MatrixXd derivative(const std::function<VectorXd(const VectorXd&)>& function, const VectorXd& at) {
  constexpr double h = 2e-3 * kLength;
  MatrixXd J(function(at).size(), at.size());
  for (Eigen::Index i = 0; i < at.size(); ++i) {
    const auto along = [&](double step) {
      VectorXd v = at;
      v[i] += step;
      const double up = v[i] - at[i];  // the step that was really made
      VectorXd w = at;
      w[i] -= up;
      return VectorXd((function(v) - function(w)) / (2 * up));
    };
    J.col(i) = 1.5 * along(h) - 0.6 * along(2 * h) + 0.1 * along(3 * h);
  }
  return J;
}

VectorXd scalar(double v) {
  return VectorXd::Constant(1, v);
}
Vector6d both(const Vector3d& e, const Vector3d& f) {
  return (Vector6d() << e, f).finished();
}
Vector6d gradient_of(const VertexTerm& term) {
  return both(term.gradient_e, term.gradient_f);
}
Matrix6d hessian_of(const VertexTerm& term) {
  Matrix6d H;
  H << term.hessian_ee, term.hessian_ef, term.hessian_ef.transpose(), term.hessian_ff;
  return H;
}

// Rounding of the products of which a Hessian is made: 1e-13 of its largest entry.
void expect_semidefinite(const MatrixXd& H) {
  EXPECT_LE((H - H.transpose()).norm(), 1e-13 * H.norm());
  const Eigen::SelfAdjointEigenSolver<MatrixXd> eigen(H);
  EXPECT_GE(eigen.eigenvalues().minCoeff(), -1e-13 * eigen.eigenvalues().cwiseAbs().maxCoeff());
}

// --------------------------------------------------------------------------------------------------------------
// stretch

TEST(Stretch, GradientAndExactHessianAreDerivatives) {
  Random random(1);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Vector3d e = edges(random, regime.size).e;
      const auto term = stretch(e, kLength, kStiffness, Hessian::exact);
      EXPECT_DOUBLE_EQ(term.energy, stretch_energy(e, kLength, kStiffness));
      const MatrixXd g =
          derivative([](const VectorXd& v) { return scalar(stretch_energy(v, kLength, kStiffness)); }, e);
      EXPECT_LT((g.transpose() - term.gradient).norm(), regime.tolerance * kStiffness) << regime.name;
      const MatrixXd H = derivative(
          [](const VectorXd& v) -> VectorXd { return stretch(v, kLength, kStiffness, Hessian::exact).gradient; }, e);
      EXPECT_LT((H - term.hessian).norm(), regime.tolerance * kStiffness / kLength) << regime.name;
      EXPECT_EQ(term.hessian, term.hessian.transpose());
    }
}

TEST(Stretch, CompressedEdgeIsSoftAcrossExactlyAndNotAtAllWhenPositive) {
  const Vector3d e = 0.5 * kLength * Vector3d::UnitX();
  const auto exact = stretch(e, kLength, kStiffness, Hessian::exact);
  EXPECT_DOUBLE_EQ(exact.hessian(1, 1), -kStiffness / kLength);  // EA (1/l0 - 1/|e|)
  const auto positive = stretch(e, kLength, kStiffness, Hessian::positive);
  EXPECT_EQ(positive.hessian(1, 1), 0);
  EXPECT_DOUBLE_EQ(positive.hessian(0, 0), kStiffness / kLength);
  EXPECT_EQ(exact.gradient, positive.gradient);
}

TEST(Stretch, PositiveHessianIsSemidefiniteAndExactWhereTaut) {
  Random random(2);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Vector3d e = edges(random, regime.size).e;
      const auto positive = stretch(e, kLength, kStiffness, Hessian::positive);
      expect_semidefinite(positive.hessian);
      const double apart = (positive.hessian - stretch(e, kLength, kStiffness, Hessian::exact).hessian).norm();
      if (e.norm() >= kLength) {
        EXPECT_EQ(apart, 0);
      }
      // Near rest they differ by the geometric part, which is the strain (below 1e-7 here).
      if (regime.size < 1e-6) {
        EXPECT_LT(apart, 1e-7 * kStiffness / kLength) << regime.name;
      }
    }
}

// -------------------------------------------------------------------------------------------------------- bend,
// straight

constexpr double kBendScale = kStiffness / (kLength * kLength);  // of a bending force, EI/l^2

TEST(BendStraight, GradientAndExactHessianAreDerivatives) {
  Random random(3);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const auto term = bend_straight(e, f, kLength, kStiffness, Hessian::exact);
      EXPECT_DOUBLE_EQ(term.energy, bend_straight_energy(e, f, kLength, kStiffness));
      const MatrixXd g = derivative(
          [](const VectorXd& v) { return scalar(bend_straight_energy(v.head<3>(), v.tail<3>(), kLength, kStiffness)); },
          both(e, f));
      EXPECT_LT((g.transpose() - gradient_of(term)).norm(), regime.tolerance * kBendScale) << regime.name;
      const MatrixXd H = derivative(
          [](const VectorXd& v) -> VectorXd {
            return gradient_of(bend_straight(v.head<3>(), v.tail<3>(), kLength, kStiffness, Hessian::exact));
          },
          both(e, f));
      EXPECT_LT((H - hessian_of(term)).norm(), regime.tolerance * kBendScale / kLength) << regime.name;
      EXPECT_EQ(term.hessian_ee, term.hessian_ee.transpose());
      EXPECT_EQ(term.hessian_ff, term.hessian_ff.transpose());
    }
}

TEST(BendStraight, EnergyIsThatOfTheCurvatureBinormal) {
  Random random(4);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const double kb2 = curvature_binormal(e, f).squaredNorm();
      // 4 ulp times the cancellation of 1 + cos, which is above 0.4 here.
      EXPECT_NEAR(bend_straight_energy(e, f, kLength, kStiffness), 0.5 * kStiffness / kLength * kb2,
                  1e-14 * kStiffness / kLength * kb2);
      EXPECT_NEAR(std::sqrt(kb2), 2 * std::tan(0.5 * std::atan2(e.cross(f).norm(), e.dot(f))), 1e-14 * (1 + kb2));
    }
}

TEST(BendStraight, SmallAngleKeepsItsDigits) {
  // A turn of 1e-8 between edges along an axis: E = EI/(2l) angle^2, force EI/l^2 angle. 1 - cos would be 0 here.
  const Vector3d e(kLength, 0, 0), f(kLength, 1e-8 * kLength, 0);
  const auto term = bend_straight(e, f, kLength, kStiffness, Hessian::exact);
  EXPECT_NEAR(term.energy, 0.5 * kStiffness / kLength * 1e-16, 1e-14 * kStiffness / kLength * 1e-16);
  EXPECT_NEAR(term.gradient_f.y(), kBendScale * 1e-8, 1e-14 * kBendScale * 1e-8);
  EXPECT_NEAR(term.gradient_e.y(), -kBendScale * 1e-8, 1e-14 * kBendScale * 1e-8);
}

TEST(BendStraight, PositiveHessianIsSemidefiniteAndThatOfGaussNewton) {
  Random random(5);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const auto positive = bend_straight(e, f, kLength, kStiffness, Hessian::positive);
      expect_semidefinite(hessian_of(positive));
      const MatrixXd J = derivative(
          [](const VectorXd& v) -> VectorXd { return curvature_binormal(v.head<3>(), v.tail<3>()); }, both(e, f));
      EXPECT_LT((hessian_of(positive) - kStiffness / kLength * J.transpose() * J).norm(),
                regime.tolerance * kBendScale / kLength)
          << regime.name;
      const auto exact = bend_straight(e, f, kLength, kStiffness, Hessian::exact);
      EXPECT_EQ(positive.energy, exact.energy);
      EXPECT_EQ(positive.gradient_e, exact.gradient_e);
      EXPECT_EQ(positive.gradient_f, exact.gradient_f);
      // The second derivatives of kb times kb: first order in the angle.
      const double apart = (hessian_of(positive) - hessian_of(exact)).norm();
      if (regime.size == 0) {
        EXPECT_LT(apart, 1e-14 * kBendScale / kLength);
      }
      if (regime.size < 1e-6) {
        EXPECT_LT(apart, 1e-7 * kBendScale / kLength) << regime.name;
      }
    }
}

TEST(BendStraight, StraightRodHasNoForceAndARightAngleTwiceTheTangent) {
  const Vector3d x = kLength * Vector3d::UnitX(), y = kLength * Vector3d::UnitY();
  EXPECT_EQ(bend_straight(x, x, kLength, kStiffness, Hessian::exact).gradient_e.norm(), 0.0);
  EXPECT_NEAR(curvature_binormal(x, y).norm(), 2 * std::tan(0.25 * M_PI), 1e-15);
}

TEST(BendStraight, EnergyGrowsUpToTheFold) {
  const Vector3d e = kLength * Vector3d::UnitX();
  double last = 0;
  for (double away = 1; away > 1e-9; away *= 0.5) {  // angle from the fold
    const Vector3d f = kLength * Vector3d(-std::cos(away), std::sin(away), 0);
    const double now = bend_straight_energy(e, f, kLength, kStiffness);
    EXPECT_GE(now, last) << away;
    last = now;
  }
}

// --------------------------------------------------------------------------------------------------------------
// holonomy

// Of v normal to a. Written anew: the reference must not come from the code under test.
Vector3d parallel_transport(const Vector3d& v, const Vector3d& a, const Vector3d& b) {
  return v - v.dot(b) / (1 + a.dot(b)) * (a + b);
}

// m of the edges e, f whose reference directors were u0, w0 at e0, f0 and moved by parallel transport straight from
// there.
struct Base {
  Vector3d e, f, u, w;
  double twist(const Vector3d& e1, const Vector3d& f1) const {
    const Vector3d te = e1.normalized(), tf = f1.normalized();
    const Vector3d u1 = parallel_transport(u, e.normalized(), te), w1 = parallel_transport(w, f.normalized(), tf);
    const Vector3d carried = parallel_transport(u1, te, tf);
    return std::atan2(carried.cross(w1).dot(tf), carried.dot(w1));
  }
};
Base base(Random& random, double size) {
  const auto [e, f] = edges(random, size);
  const Vector3d u = e.cross(random_unit(random)).normalized();
  // A frame of its own for f, at most a right angle off, so that no difference crosses the branch of atan2.
  const Vector3d tf = f.normalized(), w = parallel_transport(u, e.normalized(), tf);
  const double angle = random.uniform(-1, 1);
  return {e, f, u, std::cos(angle) * w + std::sin(angle) * tf.cross(w)};
}

TEST(Holonomy, GradientIsThatOfTheTwistOfCarriedFrames) {
  Random random(6);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Base b = base(random, regime.size);
      const MatrixXd g =
          derivative([&](const VectorXd& v) { return scalar(b.twist(v.head<3>(), v.tail<3>())); }, both(b.e, b.f));
      EXPECT_LT((g.transpose() - gradient_of(holonomy(b.e, b.f))).norm(), regime.tolerance / kLength) << regime.name;
    }
}

// Second difference of the twist itself, not of the gradient: off the base the gradient of m has a further part, the
// area between base, state and motion, whose derivative is the antisymmetric half of d(kb/2|e|)/de.
double second_difference(const std::function<double(const VectorXd&)>& function, const VectorXd& at,
                         const VectorXd& v) {
  constexpr double h = 0.008 * kLength;
  const double f0 = function(at);
  const auto pair = [&](double k) { return function(at + k * h * v) - 2 * f0 + function(at - k * h * v); };
  return (1.5 * pair(1) - 0.15 * pair(2) + pair(3) / 90) / (h * h);
}

TEST(Holonomy, HessianIsThatOfTheTwistOfCarriedFrames) {
  Random random(7);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Base b = base(random, regime.size);
      const auto twist = [&](const VectorXd& v) { return b.twist(v.head<3>(), v.tail<3>()); };
      const Matrix6d H = hessian_of(holonomy(b.e, b.f));
      Matrix6d numeric;
      for (int r = 0; r < 6; ++r)
        for (int c = 0; c < 6; ++c) {
          const Vector6d vr = Vector6d::Unit(r), vc = Vector6d::Unit(c);
          numeric(r, c) = 0.25 * (second_difference(twist, both(b.e, b.f), vr + vc) -
                                  second_difference(twist, both(b.e, b.f), vr - vc));
        }
      // Rounding, 1e-15/0.008^2; at random the high derivatives in the truncation.
      EXPECT_LT((H - numeric).norm() * kLength * kLength, regime.size < 1e-6 ? 1e-10 : 1e-7) << regime.name;
    }
}

TEST(Holonomy, HessianIsTheSymmetricPartOfTheDerivativeOfTheGradient) {
  Random random(8);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const auto [e, f] = edges(random, regime.size);
      const Matrix6d J = derivative(
          [](const VectorXd& v) -> VectorXd { return gradient_of(holonomy(v.head<3>(), v.tail<3>())); }, both(e, f));
      const Matrix6d H = hessian_of(holonomy(e, f));
      const double scale = 1 / (kLength * kLength);
      EXPECT_LT((H - 0.5 * (J + J.transpose())).norm(), regime.tolerance * scale) << regime.name;
      // Mixed second derivatives commute, those of one edge do not: a director carried around a loop turns.
      EXPECT_LT((J.topRightCorner<3, 3>() - J.bottomLeftCorner<3, 3>().transpose()).norm(), regime.tolerance * scale);
      const Matrix3d skew = J.topLeftCorner<3, 3>() - J.topLeftCorner<3, 3>().transpose();
      EXPECT_GT(skew.norm(), 0.1 * scale);
    }
}

TEST(Holonomy, TwistEnergyHasTheHessianOfBothParts) {
  // E = GJ/(2l) m^2 with frames carried from the state: GJ/l (g g^T + m H).
  Random random(9);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const Base b = base(random, regime.size);
      const double s = kStiffness / kLength, m = b.twist(b.e, b.f);
      const auto energy = [&](const VectorXd& v) { return 0.5 * s * std::pow(b.twist(v.head<3>(), v.tail<3>()), 2); };
      const auto term = holonomy(b.e, b.f);
      const Vector6d g = gradient_of(term);
      const Matrix6d H = s * (g * g.transpose() + m * hessian_of(term));
      for (int k = 0; k < 10; ++k) {
        const Vector6d v = both(random_vector(random, 0.5), random_vector(random, 0.5));
        const double numeric = second_difference(energy, both(b.e, b.f), v);
        EXPECT_NEAR(numeric, v.dot(H * v), (regime.size < 1e-6 ? 1e-10 : 1e-7) * kBendScale / kLength) << regime.name;
      }
    }
}

// --------------------------------------------------------------------------------------- joint with frames as unknowns

using Vector8d = Eigen::Matrix<double, 8, 1>;
using Matrix8d = Eigen::Matrix<double, 8, 8>;

Directors turned(const Directors& d, double theta) {
  return {std::cos(theta) * d.d1 + std::sin(theta) * d.d2, std::cos(theta) * d.d2 - std::sin(theta) * d.d1};
}
Directors carried(const Directors& d, const Vector3d& from, const Vector3d& to) {
  const Vector3d a = from.normalized(), b = to.normalized();
  return {parallel_transport(d.d1, a, b), parallel_transport(d.d2, a, b)};
}
Directors about(const Vector3d& edge, const Vector3d& director) {
  return {director, edge.normalized().cross(director)};
}

// A joint with material frames of its own; states are reached from it by (e, f, theta_e, theta_f).
struct Jointed {
  Base base;
  double twist;  // m, several turns
  JointLaw law;

  Directors de() const { return about(base.e, base.u); }
  Vector8d at() const { return (Vector8d() << base.e, base.f, 0, 0).finished(); }
  JointTerm term(Hessian kind) const { return joint(base.e, base.f, de(), twist, law, kind); }
  double moved_twist(const VectorXd& v) const {
    return twist + base.twist(v.head<3>(), v.segment<3>(3)) - base.twist(base.e, base.f) + v[7] - v[6];
  }
  Directors moved_de(const VectorXd& v) const { return turned(carried(de(), base.e, v.head<3>()), v[6]); }
  double energy(const VectorXd& v) const {
    return joint_energy(v.head<3>(), v.segment<3>(3), moved_de(v), moved_twist(v), law);
  }
  VectorXd strains(const VectorXd& v) const {
    return (Vector3d() << material_curvature(v.head<3>(), v.segment<3>(3), moved_de(v), moved_twist(v)), moved_twist(v))
        .finished();
  }
};
constexpr double kTwistStiffness = 2.0;
Jointed jointed(Random& random, double size) {
  return {base(random, size),
          random.uniform(-9, 9),
          {kLength, kStiffness, kTwistStiffness, {random.normal(), random.normal()}, random.uniform(-9, 9)}};
}
// The same at rest.
Jointed relaxed(Jointed j) {
  j.law.rest_curvature = material_curvature(j.base.e, j.base.f, j.de(), j.twist);
  j.law.rest_twist = j.twist;
  return j;
}
// d/d(e, f, theta, theta) in units of l, l, 1, 1.
Vector8d weights() {
  return (Vector8d() << Vector6d::Constant(kLength), 1, 1).finished();
}
// Differences in units of kLength for all eight: theta in steps as large as the angles that the edges make.
Vector8d scaled(const Jointed& j, const VectorXd& v) {
  return j.at() + weights().cwiseProduct(Vector8d(v)) / kLength;
}

TEST(Joint, GradientIsThatOfTheEnergyOfCarriedFrames) {
  Random random(10);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Jointed j = jointed(random, regime.size);
      const JointTerm term = j.term(Hessian::exact);
      EXPECT_DOUBLE_EQ(term.energy, j.energy(j.at()));
      EXPECT_DOUBLE_EQ(term.energy, term.bend_energy + term.twist_energy);
      const MatrixXd g =
          derivative([&](const VectorXd& v) { return scalar(j.energy(scaled(j, v))); }, Vector8d::Zero()) * kLength;
      // Energies of some hundred: rounding 1e-16/4e-3 of them.
      EXPECT_LT((g.transpose() - weights().cwiseProduct(term.gradient)).norm(),
                std::max(regime.tolerance, 1e-12 * (1 + term.energy)) * kStiffness / kLength)
          << regime.name;
    }
}

TEST(Joint, ExactHessianIsThatOfTheEnergyOfCarriedFrames) {
  Random random(11);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const Jointed j = jointed(random, regime.size);
      const JointTerm term = j.term(Hessian::exact);
      EXPECT_EQ(term.hessian, term.hessian.transpose());
      const auto energy = [&](const VectorXd& v) { return j.energy(scaled(j, v)); };
      const Matrix8d H = weights().asDiagonal() * term.hessian * weights().asDiagonal();
      Matrix8d numeric;
      for (int r = 0; r < 8; ++r)
        for (int c = 0; c < 8; ++c) {
          const Vector8d vr = Vector8d::Unit(r), vc = Vector8d::Unit(c);
          numeric(r, c) = 0.25 * kLength * kLength *
                          (second_difference(energy, Vector8d::Zero(), vr + vc) -
                           second_difference(energy, Vector8d::Zero(), vr - vc));
        }
      // Rounding of a twist of 9 rad, 2e-15, over 0.008^2, times the moment.
      EXPECT_LT((H - numeric).norm(), (regime.size < 1e-6 ? 1e-9 : 1e-7) * (kStiffness / kLength + term.energy))
          << regime.name;
    }
}

TEST(Joint, PositiveHessianIsGaussNewtonAndExactAtRest) {
  Random random(12);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Jointed j = jointed(random, regime.size);
      const JointTerm term = j.term(Hessian::positive);
      EXPECT_EQ(term.gradient, j.term(Hessian::exact).gradient);
      expect_semidefinite(term.hessian);
      const MatrixXd J =
          derivative([&](const VectorXd& v) { return j.strains(scaled(j, v)); }, Vector8d::Zero()) * kLength;
      const Vector3d K = Vector3d(kStiffness, kStiffness, kTwistStiffness) / kLength;
      const Matrix8d H = weights().asDiagonal() * term.hessian * weights().asDiagonal();
      // Rounding of a twist of 9 rad, 2e-15, over 4e-3.
      EXPECT_LT((H - J.transpose() * K.asDiagonal() * J).norm(), std::max(1e-11, regime.tolerance) * K.sum())
          << regime.name;
      const Jointed rest = relaxed(j);
      EXPECT_EQ(rest.term(Hessian::exact).hessian, rest.term(Hessian::positive).hessian);
      EXPECT_EQ(rest.term(Hessian::exact).gradient.norm(), 0);
      EXPECT_EQ(rest.term(Hessian::exact).energy, 0);
    }
}

TEST(Joint, MaterialCurvatureIsTheBinormalInTheDirectorsMidway) {
  Random random(13);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Jointed j = jointed(random, regime.size);
      const Vector3d kb = curvature_binormal(j.base.e, j.base.f);
      const Eigen::Vector2d k = material_curvature(j.base.e, j.base.f, j.de(), j.twist);
      const Directors of_f = turned(carried(j.de(), j.base.e, j.base.f), j.twist);  // and from the other side
      for (const Directors& d : {turned(j.de(), 0.5 * j.twist), turned(of_f, -0.5 * j.twist)}) {
        EXPECT_NEAR(k[0], kb.dot(d.d2), 1e-14 * (1 + kb.norm()));
        EXPECT_NEAR(k[1], -kb.dot(d.d1), 1e-14 * (1 + kb.norm()));
      }
    }
}

TEST(Joint, BendsAsWithoutFramesHoweverTwisted) {
  Random random(14);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      Jointed j = jointed(random, regime.size);
      j.law.rest_curvature.setZero(), j.law.twist_stiffness = 0;
      const JointTerm term = j.term(Hessian::exact);
      const auto bend = bend_straight(j.base.e, j.base.f, kLength, kStiffness, Hessian::exact);
      const double scale = 1e-13 * (kStiffness / kLength + bend.energy);
      EXPECT_NEAR(term.energy, bend.energy, scale);
      Vector8d g = Vector8d::Zero();
      g.head<6>() = gradient_of(bend);
      EXPECT_LT((term.gradient - g).cwiseProduct(weights()).norm(), 20 * scale) << regime.name;
      Matrix8d H = Matrix8d::Zero();
      H.topLeftCorner<6, 6>() = hessian_of(bend);
      EXPECT_LT((weights().asDiagonal() * (term.hessian - H) * weights().asDiagonal()).norm(), 200 * scale)
          << regime.name;
    }
}

// --------------------------------------------------------------------------------------------------- half element,
// clamp

TEST(HalfElement, LengthOfTheHeldTangentDoesNotMatter) {
  Random random(15);
  for (const Regime& regime : kRegimes)
    for (const double length : {0.01, 0.5, 7.0})
      for (const Hessian kind : {Hessian::exact, Hessian::positive}) {
        const Jointed j = jointed(random, regime.size);
        const Vector3d t = j.base.e.normalized(), f = j.base.f;
        const auto unit = bend_straight(t, f, kLength / 2, kStiffness, kind);
        const auto other = bend_straight(length * t, f, kLength / 2, kStiffness, kind);
        // Rounding of a unit vector, 1e-16, in all of them.
        const double scale = 1e-14 * kBendScale * (1 + unit.energy);
        EXPECT_NEAR(unit.energy, other.energy, scale);
        EXPECT_LT((unit.gradient_f - other.gradient_f).norm(), scale);
        EXPECT_LT((unit.hessian_ff - other.hessian_ff).norm(), 10 * scale / kLength);
        EXPECT_LT((t.cross(unit.gradient_e) - length * t.cross(other.gradient_e)).norm(), scale);
        const auto turn = holonomy(t, f), same = holonomy(length * t, f);
        EXPECT_LT((turn.gradient_f - same.gradient_f).norm(), 1e-14 / kLength);
        EXPECT_LT((turn.hessian_ff - same.hessian_ff).norm(), 1e-13 / (kLength * kLength));
        const auto a = joint(t, f, j.de(), j.twist, j.law, kind);
        const auto b = joint(length * t, f, j.de(), j.twist, j.law, kind);
        const double size = 1e-13 * a.hessian.norm();
        EXPECT_NEAR(a.energy, b.energy, 1e-14 * (1 + a.energy));
        EXPECT_LT((a.gradient - b.gradient).tail<5>().norm(), 1e-13 * (1 + a.gradient.norm()));
        EXPECT_LT(((a.hessian - b.hessian).bottomRightCorner<5, 5>().norm()), size);
      }
}

// The held frame (unit tangent t, director u) stands for e or for f and turns rigidly.
enum class Side { before, behind };
Matrix3d rotation(const Vector3d& w) {
  return w.norm() > 0 ? Eigen::AngleAxisd(w.norm(), w.normalized()).toRotationMatrix() : Matrix3d(Matrix3d::Identity());
}
Base turned_frame(Base b, Side side, const Vector3d& w) {
  const Matrix3d R = rotation(w);
  if (side == Side::before) {
    b.e = R * b.e, b.u = R * b.u;
  } else {
    b.f = R * b.f, b.w = R * b.w;
  }
  return b;
}

TEST(ClampTorque, IsTheDerivativeOfTheEnergyWhenTheHeldFrameTurns) {
  Random random(16);
  for (const Regime& regime : kRegimes)
    for (const Side side : {Side::before, Side::behind})
      for (int i = 0; i < 20; ++i) {
        Jointed j = jointed(random, regime.size);
        Vector3d& held = side == Side::before ? j.base.e : j.base.f;
        held.normalize();
        const Vector3d t = held;
        const auto energy = [&](const VectorXd& w) {
          const Base b = turned_frame(j.base, side, Vector3d(w / kLength));
          const double twist = j.twist + b.twist(b.e, b.f) - j.base.twist(j.base.e, j.base.f);
          return scalar(joint_energy(b.e, b.f, about(b.e, b.u), twist, j.law));
        };
        const MatrixXd numeric = derivative(energy, Vector3d::Zero()) * kLength;
        const JointTerm term = j.term(Hessian::exact);
        const Vector3d torque = side == Side::before ? clamp_torque(t, term.gradient.head<3>(), term.gradient[6])
                                                     : clamp_torque(t, term.gradient.segment<3>(3), term.gradient[7]);
        // Rounding of energies of some hundred, over 4e-3.
        EXPECT_LT((numeric.transpose() - torque).norm(),
                  std::max(regime.tolerance, 1e-12 * (1 + term.energy)) * kStiffness / kLength)
            << regime.name;
      }
}

TEST(ClampTorque, OfAStraightRestShapeTakesBendAndTwistTogether) {
  Random random(17);
  for (const Regime& regime : kRegimes)
    for (const Side side : {Side::before, Side::behind})
      for (int i = 0; i < 20; ++i) {
        Base b = base(random, regime.size);
        Vector3d& held = side == Side::before ? b.e : b.f;
        held.normalize();
        const double s = kTwistStiffness / (kLength / 2);
        const auto energy = [&](const VectorXd& w) {
          const Base moved = turned_frame(b, side, Vector3d(w / kLength));
          const double m = moved.twist(moved.e, moved.f);
          return scalar(bend_straight_energy(moved.e, moved.f, kLength / 2, kStiffness) + 0.5 * s * m * m);
        };
        const MatrixXd numeric = derivative(energy, Vector3d::Zero()) * kLength;
        const auto bend = bend_straight(b.e, b.f, kLength / 2, kStiffness, Hessian::exact), turn = holonomy(b.e, b.f);
        const double M = s * b.twist(b.e, b.f);
        const Vector3d torque = side == Side::before ? clamp_torque(b.e, bend.gradient_e + M * turn.gradient_e, -M)
                                                     : clamp_torque(b.f, bend.gradient_f + M * turn.gradient_f, M);
        EXPECT_LT((numeric.transpose() - torque).norm(), 4 * regime.tolerance * kStiffness / kLength) << regime.name;
      }
}

// -------------------------------------------------------------------------------------------- invariance, balance,
// limits

TEST(Energies, TurnWithTheFrame) {
  Random random(18);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 20; ++i) {
      const Jointed j = jointed(random, regime.size);
      const Matrix3d R = rotation(random_vector(random, 2));
      Matrix6d R6 = Matrix6d::Zero();
      R6.topLeftCorner<3, 3>() = R6.bottomRightCorner<3, 3>() = R;
      Matrix8d R8 = Matrix8d::Identity();
      R8.topLeftCorner<6, 6>() = R6;
      const Vector3d &e = j.base.e, &f = j.base.f, Re = R * e, Rf = R * f;
      const Matrix8d W = weights().asDiagonal();
      for (const Hessian kind : {Hessian::exact, Hessian::positive}) {
        // Rounding of the turned vectors, some 1e-16, in units of the law's scale.
        const auto s = stretch(e, kLength, kStiffness, kind), Rs = stretch(Re, kLength, kStiffness, kind);
        EXPECT_NEAR(s.energy, Rs.energy, 1e-14 * kStiffness * kLength);
        EXPECT_LT((R * s.gradient - Rs.gradient).norm(), 1e-14 * kStiffness);
        EXPECT_LT((R * s.hessian * R.transpose() - Rs.hessian).norm(), 1e-13 * kStiffness / kLength);
        const auto b = bend_straight(e, f, kLength, kStiffness, kind),
                   Rb = bend_straight(Re, Rf, kLength, kStiffness, kind);
        const double size = 1e-13 * (kStiffness / kLength + b.energy);
        EXPECT_NEAR(b.energy, Rb.energy, size);
        EXPECT_LT((R6 * gradient_of(b) - gradient_of(Rb)).norm() * kLength, 10 * size);
        EXPECT_LT((R6 * hessian_of(b) * R6.transpose() - hessian_of(Rb)).norm() * kLength * kLength, 100 * size);
        const Directors Rde{R * j.de().d1, R * j.de().d2};
        const auto t = j.term(kind), Rt = joint(Re, Rf, Rde, j.twist, j.law, kind);
        EXPECT_NEAR(t.energy, Rt.energy, 1e-13 * (1 + t.energy));
        EXPECT_LT((W * (R8 * t.gradient - Rt.gradient)).norm(), 1e-13 * (kStiffness / kLength + t.gradient.norm()));
        EXPECT_LT((W * (R8 * t.hessian * R8.transpose() - Rt.hessian) * W).norm(),
                  1e-13 * (kStiffness / kLength + (W * t.hessian * W).norm()));
      }
      const auto h = holonomy(e, f), Rh = holonomy(Re, Rf);
      EXPECT_LT((R6 * gradient_of(h) - gradient_of(Rh)).norm(), 1e-13 / kLength);
      EXPECT_LT((R6 * hessian_of(h) * R6.transpose() - hessian_of(Rh)).norm(), 1e-12 / (kLength * kLength));
    }
}

TEST(Energies, OfOneJointHaveNoTorque) {
  Random random(19);
  for (const Regime& regime : kRegimes)
    for (int i = 0; i < 50; ++i) {
      const Jointed j = jointed(random, regime.size);
      const Vector3d &e = j.base.e, &f = j.base.f, te = e.normalized(), tf = f.normalized();
      EXPECT_LT(e.cross(stretch(e, kLength, kStiffness, Hessian::exact).gradient).norm(), 1e-15 * kStiffness * kLength);
      const auto bend = bend_straight(e, f, kLength, kStiffness, Hessian::exact);
      const Vector3d torque = e.cross(bend.gradient_e);
      EXPECT_LE((torque + f.cross(bend.gradient_f)).norm(), 1e-14 * torque.norm());  // of itself, even at 1e-8
      // The frame of an edge that the whole turns by w turns by w.t against the carried one.
      const auto turn = holonomy(e, f);
      EXPECT_LT((e.cross(turn.gradient_e) + f.cross(turn.gradient_f) - te + tf).norm(), 1e-14);
      const Vector8d g = j.term(Hessian::exact).gradient;
      EXPECT_LT((e.cross(g.head<3>()) + f.cross(g.segment<3>(3)) + g[6] * te + g[7] * tf).norm(), 1e-13 * g.norm());
    }
}

// A rod with its frames: its own vertices, material angles, twists; the first vertex clamped, and one in the middle.
TEST(Energies, OfAWholeRodBalanceWithWhatItsFramesHold) {
  Random random(20);
  const std::size_t n = 40;
  std::vector<Vector3d> x, force(n, Vector3d::Zero());
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(kLength * static_cast<double>(i) * Vector3d::UnitX() + random_vector(random, 0.06));
  std::vector<Directors> d;
  std::vector<double> moment(n - 1, 0.0);
  for (std::size_t i = 0; i + 1 < n; ++i) {
    const Vector3d e = x[i + 1] - x[i];
    d.push_back(about(e, e.cross(random_unit(random)).normalized()));
  }
  const auto law = [&](double length) {
    return JointLaw{length, kStiffness, kTwistStiffness, {random.normal(), random.normal()}, random.normal()};
  };
  double size = 0;
  const auto pull = [&](std::size_t edge, const Vector3d& gradient) {
    force[edge] -= gradient, force[edge + 1] += gradient, size += gradient.norm();
  };
  Vector3d clamps = Vector3d::Zero();
  for (std::size_t i = 0; i + 1 < n; ++i) pull(i, stretch(x[i + 1] - x[i], kLength, 7e2, Hessian::exact).gradient);
  for (std::size_t v = 0; v + 1 < n; ++v) {
    const bool held = v == 0 || v == n / 2;
    const Vector3d f = x[v + 1] - x[v], t = held ? random_vector(random, 0.3) + Vector3d::UnitX() : f;
    const Directors frame = about(t, t.cross(random_unit(random)).normalized());
    if (held) {
      const Vector3d unit = t.normalized();
      const auto g = joint(unit, f, frame, random.normal(), law(kLength / 2), Hessian::exact).gradient;
      pull(v, g.segment<3>(3)), moment[v] += g[7];
      clamps += clamp_torque(unit, g.head<3>(), g[6]);
      if (v > 0) {
        const Vector3d e = x[v] - x[v - 1];
        const auto h = joint(e, unit, d[v - 1], random.normal(), law(kLength / 2), Hessian::exact).gradient;
        pull(v - 1, h.head<3>()), moment[v - 1] += h[6];
        clamps += clamp_torque(unit, h.segment<3>(3), h[7]);
      }
    } else {
      const Vector3d e = x[v] - x[v - 1];
      const auto g = joint(e, f, d[v - 1], random.normal(), law(kLength), Hessian::exact).gradient;
      pull(v - 1, g.head<3>()), pull(v, g.segment<3>(3));
      moment[v - 1] += g[6], moment[v] += g[7];
    }
  }
  // Turning the rod with all its frames changes no energy: forces, the moments dE/dtheta about their edges and the
  // torques of the clamps balance. Where theta is free it is at rest and dE/dtheta = 0, so that only held frames count.
  Vector3d sum = Vector3d::Zero(), torque = clamps;
  for (std::size_t i = 0; i < n; ++i) sum += force[i], torque += x[i].cross(force[i]);
  for (std::size_t i = 0; i + 1 < n; ++i) torque += moment[i] * (x[i + 1] - x[i]).normalized();
  EXPECT_GT(clamps.norm(), 1);
  EXPECT_LT(sum.norm(), 1e-14 * size);
  EXPECT_LT(torque.norm(), 1e-14 * size * kLength * static_cast<double>(n));
}

TEST(Energies, OfAWholeTwistedRodBalanceWithTheMomentsAtItsEnds) {
  // Quasi-static: one moment M along the rod, held by the frames of the first and of the last edge.
  Random random(21);
  const std::size_t n = 40;
  const double M = 5;
  std::vector<Vector3d> x;
  for (std::size_t i = 0; i < n; ++i)
    x.push_back(kLength * static_cast<double>(i) * Vector3d::UnitX() + random_vector(random, 0.06));
  Vector3d sum = Vector3d::Zero(), torque = Vector3d::Zero();
  double size = 0;
  for (std::size_t v = 1; v + 1 < n; ++v) {
    const Vector3d e = x[v] - x[v - 1], f = x[v + 1] - x[v];
    const auto turn = holonomy(e, f), bend = bend_straight(e, f, kLength, kStiffness, Hessian::exact);
    const Vector3d ge = bend.gradient_e + M * turn.gradient_e, gf = bend.gradient_f + M * turn.gradient_f;
    sum += -ge + (ge - gf) + gf;
    torque += x[v - 1].cross(-ge) + x[v].cross(ge - gf) + x[v + 1].cross(gf);
    size += ge.norm() + gf.norm();
  }
  const Vector3d first = (x[1] - x[0]).normalized(), last = (x[n - 1] - x[n - 2]).normalized();
  EXPECT_LT(sum.norm(), 1e-14 * size);
  EXPECT_LT((torque - M * first + M * last).norm(), 1e-14 * size * kLength * static_cast<double>(n));
}

TEST(Energies, StayFiniteWhereEdgesFoldOrVanish) {
  const Vector3d x = kLength * Vector3d::UnitX();
  Random random(22);
  std::vector<Vector3d> all = {Vector3d::Zero(), x,          -x,      1e-31 * x, 1e-28 * x,
                               -1e-20 * x,       1e-200 * x, 1e3 * x, 1e100 * x};
  for (double off = 1e-17; off < 1; off *= 10) all.push_back(-x + off * kLength * Vector3d::UnitY());
  all.push_back(random_unit(random)), all.push_back(-all.back());
  const auto finite = [](const VertexTerm& term) {
    EXPECT_TRUE(std::isfinite(term.energy) && gradient_of(term).allFinite() && hessian_of(term).allFinite());
  };
  for (const Vector3d& e : all)
    for (const Hessian kind : {Hessian::exact, Hessian::positive}) {
      const auto term = stretch(e, kLength, kStiffness, kind);
      EXPECT_TRUE(std::isfinite(term.energy) && term.gradient.allFinite() && term.hessian.allFinite());
      if (kind == Hessian::positive) expect_semidefinite(term.hessian);
      for (const Vector3d& f : all) {
        const auto bend = bend_straight(e, f, kLength, kStiffness, kind);
        finite(bend);
        if (kind == Hessian::positive && e.norm() > 1e-3 && f.norm() > 1e-3) expect_semidefinite(hessian_of(bend));
        finite(holonomy(e, f));
        EXPECT_LT(curvature_binormal(e, f).norm(), 3e4);
        const Directors de = about(x, Vector3d::UnitY());
        const auto t = joint(e, f, de, 3.0, {kLength, kStiffness, kTwistStiffness, {0.1, 0.2}, 0.3}, kind);
        EXPECT_TRUE(std::isfinite(t.energy) && t.gradient.allFinite() && t.hessian.allFinite());
        EXPECT_EQ(t.hessian, t.hessian.transpose());
      }
    }
  const auto none = bend_straight(Vector3d::Zero(), x, kLength, kStiffness, Hessian::exact);
  EXPECT_EQ(gradient_of(none).norm(), 0);
  EXPECT_EQ(hessian_of(none).norm(), 0);
}

}  // namespace
}  // namespace ligature::rod
