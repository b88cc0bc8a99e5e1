#include "sim/rod/writhe.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "tests/sim/curves.hpp"

namespace ligature::rod {
namespace {

Points mirrored(Points x) {
  for (Vector3d& p : x) p.z() = -p.z();
  return x;
}

// Torus knot that winds twice round the axis and three times round the tube: a trefoil.
Vector3d trefoil(double s) {
  const double r = 2 + std::cos(6 * pi * s);
  return {r * std::cos(4 * pi * s), r * std::sin(4 * pi * s), -std::sin(6 * pi * s)};
}

Points trefoil_polygon(std::size_t n) {
  Points x;
  for (std::size_t i = 0; i < n; ++i) x.push_back(trefoil(static_cast<double>(i) / static_cast<double>(n)));
  return x;
}

// Gauss' double integral of the smooth trefoil, midpoint rule on shifted grids: no polygon in it.
double gauss_integral_of_trefoil(int n) {
  const double h = 1.0 / n, d = 1e-5;
  Points p, dp, q, dq;
  for (int i = 0; i < n; ++i) {
    const double s = i * h, u = (i + 0.5) * h;
    p.push_back(trefoil(s));
    dp.push_back((trefoil(s + d) - trefoil(s - d)) / (2 * d));
    q.push_back(trefoil(u));
    dq.push_back((trefoil(u + d) - trefoil(u - d)) / (2 * d));
  }
  double sum = 0;
  for (std::size_t i = 0; i < p.size(); ++i)
    for (std::size_t j = 0; j < q.size(); ++j) {
      const Vector3d w = p[i] - q[j];
      sum += w.dot(dp[i].cross(dq[j])) / std::pow(w.norm(), 3) * h * h;
    }
  return sum / (4 * pi);
}

TEST(Writhe, OfATrefoilMatchesGaussIntegral) {
  const double gauss = gauss_integral_of_trefoil(600);
  EXPECT_NEAR(std::abs(gauss), 3.4, 0.2);
  const double coarse = writhe_closed(trefoil_polygon(100)), fine = writhe_closed(trefoil_polygon(200));
  EXPECT_NEAR(fine, gauss, 2e-3);
  EXPECT_NEAR((coarse - gauss) / (fine - gauss), 4.0, 0.1);  // second order
  EXPECT_NEAR(writhe_closed(mirrored(trefoil_polygon(100))), -coarse, 1e-13);
}

// A piece of curve for the numeric integral: a segment, or a ray that u in (0, 1) covers.
struct Piece {
  Vector3d from, along;
  int kind = 0;  // 0 segment, 1 ray out of the curve, -1 ray into it

  void at(double u, Vector3d& p, Vector3d& dp) const {
    const double t = kind == 0 ? u : kind > 0 ? u / (1 - u) : -(1 - u) / u;
    const double dt = kind == 0 ? 1.0 : kind > 0 ? 1 / ((1 - u) * (1 - u)) : 1 / (u * u);
    p = from + t * along;
    dp = dt * along;
  }
};

double numeric_writhe(const std::vector<Piece>& pieces, int n) {
  double sum = 0;
  Vector3d p, dp, q, dq;
  for (std::size_t i = 0; i < pieces.size(); ++i)
    for (std::size_t j = i + 2; j < pieces.size(); ++j)
      for (int k = 0; k < n; ++k) {
        pieces[i].at((k + 0.5) / n, p, dp);
        for (int l = 0; l < n; ++l) {
          pieces[j].at((l + 0.5) / n, q, dq);
          const Vector3d w = p - q;
          const double r2 = w.squaredNorm();
          sum += w.dot(dp.cross(dq)) / (r2 * std::sqrt(r2));
        }
      }
  return sum / (2 * pi * n * n);
}

TEST(Writhe, OfAnOpenPolygonWithRaysMatchesGaussIntegral) {
  std::mt19937 random(1);
  for (int trial = 0; trial < 5; ++trial) {
    const Points x = random_points(random, 5);
    const Vector3d t0 = random_vector(random).normalized(), t1 = random_vector(random).normalized();
    std::vector<Piece> pieces = {{x[0], t0, -1}};
    for (std::size_t i = 0; i < 4; ++i) pieces.push_back({x[i], x[i + 1] - x[i], 0});
    pieces.push_back({x[4], t1, 1});
    const double coarse = numeric_writhe(pieces, 100), fine = numeric_writhe(pieces, 200);
    EXPECT_NEAR(writhe_open(x, t0, t1), fine, 2 * std::abs(fine - coarse) + 2e-5) << trial;
    EXPECT_LT(std::abs(fine - coarse), 0.01);
  }
}

TEST(Writhe, PlanarCurveHasNone) {
  std::mt19937 random(2);
  for (int trial = 0; trial < 20; ++trial) {
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(trial, random_vector(random).normalized()));
    Points star;
    for (std::size_t i = 0; i < 60; ++i) {
      const double a = 2 * pi * static_cast<double>(i) / 60, r = i % 2 ? 1.0 : 0.3;
      star.push_back(Vector3d(1, 2, 3) + turn * Vector3d(r * std::cos(a), r * std::sin(a), 0));
    }
    EXPECT_NEAR(writhe_closed(star), 0.0, 1e-11);
    star.resize(40);
    EXPECT_NEAR(writhe_open(star, turn * -Vector3d::UnitX(), turn * -Vector3d::UnitY()), 0.0, 1e-11);
  }
}

// All of these lie in one plane, exactly: what crosses or overlaps there is neither over nor under.
TEST(Writhe, DegeneratePairsCountAsNone) {
  const auto p = [](double x, double y) { return Vector3d(x, y, 0); };
  EXPECT_EQ(writhe_closed({p(0, 0), p(1, 1), p(1, 0), p(0, 1)}), 0.0);                    // crosses itself
  EXPECT_EQ(writhe_closed({p(0, 0), p(1, 0), p(2, 0), p(1, 0), p(0.5, 0)}), 0.0);         // runs back over itself
  EXPECT_EQ(writhe_closed({p(0, 0), p(0, 0), p(1, 0), p(1, 1), p(1, 1), p(0, 1)}), 0.0);  // vertices that coincide
  EXPECT_EQ(writhe_closed({p(0, 0), p(1, 0), p(0, 0), p(0, 1)}), 0.0);                    // touches itself
  EXPECT_EQ(writhe_closed({p(0, 0), p(1, 0), p(0, 1)}), 0.0);
  EXPECT_EQ(writhe_closed({}), 0.0);
  EXPECT_EQ(writhe_open({}, Vector3d::UnitX(), Vector3d::UnitX()), 0.0);
  EXPECT_EQ(writhe_open({p(0, 0), p(0, 0)}, Vector3d::UnitX(), Vector3d::UnitX()), 0.0);
  EXPECT_EQ(writhe_open({p(0, 0), p(1, 0), p(2, 0), p(3, 0)}, Vector3d::UnitX(), Vector3d::UnitX()), 0.0);
  EXPECT_EQ(writhe_open({p(0, 0), p(1, 0), p(2, 0), p(3, 0)}, -Vector3d::UnitX(), Vector3d::UnitX()), 0.0);
  EXPECT_EQ(writhe_open({p(0, 0), p(1, 0), p(2, 1)}, Vector3d::UnitY(), -Vector3d::UnitY()), 0.0);
}

TEST(Writhe, IsAPropertyOfShapeAlone) {
  std::mt19937 random(3);
  for (double scale : {1e-6, 1.0, 1e6}) {
    const Points x = random_points(random, 30);
    const Vector3d t0 = random_vector(random).normalized(), t1 = random_vector(random).normalized();
    const double open = writhe_open(x, t0, t1), closed = writhe_closed(x);
    const Eigen::Quaterniond turn(Eigen::AngleAxisd(2.0, random_vector(random).normalized()));
    Points moved, back(x.rbegin(), x.rend());
    for (const Vector3d& p : x) moved.push_back(scale * (turn * p + Vector3d(1, 2, 3)));
    EXPECT_NEAR(writhe_closed(moved), closed, 1e-10);
    EXPECT_NEAR(writhe_open(moved, turn * t0, turn * t1), open, 1e-10);
    EXPECT_NEAR(writhe_closed(back), closed, 1e-12);
    EXPECT_NEAR(writhe_open(back, -t1, -t0), open, 1e-12);
    EXPECT_NEAR(writhe_closed(mirrored(x)), -closed, 1e-12);
    Points split;  // more vertices on the same curve
    for (std::size_t i = 0; i + 1 < x.size(); ++i) {
      split.push_back(x[i]);
      split.push_back(0.3 * x[i] + 0.7 * x[i + 1]);
    }
    split.push_back(x.back());
    EXPECT_NEAR(writhe_open(split, t0, t1), open, 1e-10);
  }
}

// Seen along z the first strand passes over the second one; turned counterclockwise by less than half a turn it has its
// direction: right-handed. Nearly flat, the curve has one crossing in almost all directions of view.
TEST(Writhe, RightHandedCrossingIsPositive) {
  for (double gap : {1e-3, 1e-9}) {
    const Points eight = {{-1, -1, gap}, {1, 1, gap}, {1, 2, 0},  {-1, 2, 0},
                          {-1, 1, 0},    {1, -1, 0},  {1, -2, 0}, {-1, -2, 0}};
    // over: (1, 1), under: (1, -1): over x under points down, left-handed
    EXPECT_NEAR(writhe_closed(eight), -1.0, 2 * gap);
    EXPECT_NEAR(writhe_closed(mirrored(eight)), 1.0, 2 * gap);
  }
}

// Tangents of a helix run round a circle at angle a from its axis: area 2 pi (1 - cos a) a turn, [Fuller 1978].
TEST(Writhe, OfAHelixIsTheAreaOfItsTangents) {
  for (int turns : {1, 5}) {
    for (double a : {0.3, 1.2}) {
      for (double hand : {1.0, -1.0}) {
        double error[2];
        for (int fine = 0; fine < 2; ++fine) {
          const int n = turns * (fine ? 80 : 40);
          Points x;
          for (int i = 0; i <= n; ++i) {
            const double s = 2 * pi * turns * i / n;
            x.emplace_back(std::cos(s), hand * std::sin(s), s / std::tan(a));
          }
          const Vector3d t(0, hand * std::sin(a), std::cos(a));
          error[fine] = writhe_open(x, t, t) - hand * turns * (1 - std::cos(a));
        }
        EXPECT_LT(std::abs(error[1]), 2e-3 * turns);
        EXPECT_NEAR(error[0] / error[1], 4.0, 0.1);
      }
    }
  }
}

}  // namespace
}  // namespace ligature::rod
