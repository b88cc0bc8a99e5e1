/// The pass along the whole rod against its terms one after another (energy.hpp), which have tests of their own.
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/rod/rod.hpp"

namespace ligature::rod {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Case {
  std::size_t n;
  bool closed, held, twisted, lagged;
  Hessian kind;
  bool graded = false;

  std::string name() const {
    return std::to_string(n) + (closed ? " closed" : " open") + (held ? " held" : "") + (twisted ? " twisted" : "") +
           (lagged ? " lagged" : "") + (graded ? " graded" : "") +
           (kind == Hessian::exact      ? " exact"
            : kind == Hessian::positive ? " positive"
                                        : " none");
  }
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const std::size_t n : {2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 11u, 12u, 13u, 30u, 31u, 32u, 33u})
    for (const bool closed : {false, true})
      for (const bool held : {false, true})
        for (const bool twisted : {false, true})
          for (const bool lagged : {false, true})
            for (const Hessian kind : {Hessian::exact, Hessian::positive, Hessian::none}) {
              if (closed && n < BlockBand<3>::kFewestClosed) continue;
              if (twisted && !closed && !held) continue;  // nothing keeps it
              if (held && n < 4) continue;
              for (const bool graded : {false, true}) all.push_back({n, closed, held, twisted, lagged, kind, graded});
            }
  return all;
}

/// A crumpled rod: edges 0.3 to 2 times as long as at rest, turns up to beyond a right angle.
struct Rod {
  RodModel model;
  std::vector<Vector3d> x;
  Twist twist;
  std::vector<double> tension;

  Rod(const Case& c, std::uint64_t seed) : x(shape(c, seed)), twist(x, c.closed, 2) {
    Random random(seed + 1);
    model.closed = c.closed;
    model.rest_length = 0.1;
    model.stretch_stiffness = 5e3;
    model.bend_stiffness = 16;
    model.twist_stiffness = 11;
    model.drag.assign(c.n, 1.0);
    if (c.graded) {
      model.node = {0};
      for (std::size_t i = 0; i < model.edges(); ++i)
        model.node.push_back(model.node.back() + std::exp2(std::floor(random.uniform(-1, 3))));
      twist.set_nodes(model.node);
    }
    if (c.closed && c.twisted) twist.insert(0.8);
    if (c.held) {
      EXPECT_TRUE(twist.hold_frame(0));
      EXPECT_TRUE(twist.hold_frame(c.n / 2));
      if (c.twisted) {
        const Vector3d t = (twist.frame_tangent(0) + Vector3d(0.1, -0.2, 0.1)).normalized();
        const Vector3d d = twist.frame_director(0) + 0.7 * t.cross(twist.frame_director(0));
        twist.set_frame(0, t, (d - d.dot(t) * t).normalized());
      }
    }
    if (needs_frames(model, twist)) twist.find_spans(model.rest_length);
    for (std::size_t i = 0; i < model.edges(); ++i) tension.push_back(random.uniform(-500, 900));
  }

 private:
  static std::vector<Vector3d> shape(const Case& c, std::uint64_t seed) {
    Random random(seed);
    std::vector<Vector3d> x(c.n, Vector3d::Zero());
    const auto unit = [&] {
      return Vector3d(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)).normalized();
    };
    for (std::size_t i = 0; i < c.n; ++i) {
      const double angle = 6.28 * static_cast<double>(i) / static_cast<double>(c.n);
      if (c.closed)
        x[i] = 0.016 * static_cast<double>(c.n) * Vector3d(std::cos(angle), std::sin(angle), 0) + 0.03 * unit();
      else if (i > 0)
        x[i] = x[i - 1] + random.uniform(0.03, 0.2) * (Vector3d(1, 0, 0) + 0.95 * unit()).normalized();
    }
    return x;
  }
};

struct Sums {
  VectorXd gradient;
  MatrixXd hessian;
  double stretch = 0, bend = 0, largest = 0;
};

/// Term by term, dense. By edges first: d = (edge vectors) from x.
Sums reference(const Rod& rod, const Case& c, double scale) {
  const RodModel& m = rod.model;
  const auto n = static_cast<Index>(m.vertices()), edges = static_cast<Index>(m.edges());
  MatrixXd by_edges = MatrixXd::Zero(3 * edges, 3 * n);  // d(edge vectors)/dx
  for (Index i = 0; i < edges; ++i) {
    by_edges.block<3, 3>(3 * i, 3 * i) -= Matrix3d::Identity();
    by_edges.block<3, 3>(3 * i, 3 * ((i + 1) % n)) += Matrix3d::Identity();
  }
  VectorXd g = VectorXd::Zero(3 * edges);
  MatrixXd h = MatrixXd::Zero(3 * edges, 3 * edges);
  Sums out;
  const auto edge = [&](std::size_t i) -> Vector3d { return rod.x[m.next(i)] - rod.x[i]; };
  const Hessian kind = c.kind;
  for (std::size_t i = 0; i < m.edges(); ++i) {
    const EdgeTerm s = stretch(edge(i), m.edge_length(i), m.stretch_stiffness, kind);
    const auto at = static_cast<Index>(3 * i);
    out.stretch += s.energy;
    out.largest = std::max(out.largest, s.gradient.norm());
    g.segment<3>(at) += s.gradient;
    if (kind == Hessian::none) continue;
    h.block<3, 3>(at, at) += s.hessian;
    if (kind != Hessian::exact || !c.lagged) continue;
    const double length = edge(i).norm(), now = m.stretch_stiffness * (length / m.edge_length(i) - 1);
    const Vector3d t = edge(i) / length;
    h.block<3, 3>(at, at) += (rod.tension[i] - now) / length * (Matrix3d::Identity() - t * t.transpose());
  }
  const bool framed = needs_frames(m, rod.twist);
  for (std::size_t v = 0; v < m.vertices(); ++v) {
    const bool before = m.closed || v > 0, behind = m.closed || v + 1 < m.vertices();
    const auto ate = static_cast<Index>(3 * m.previous(v)), atf = static_cast<Index>(3 * v);
    const auto term = [&](const Vector3d& e, const Vector3d& f, bool moves_e, bool moves_f, double l, int half) {
      VertexTerm b = bend_straight(e, f, l, m.bend_stiffness, kind);
      out.bend += b.energy;
      const double moment = framed ? twist_moment(m, rod.twist, v, half) : 0.0;
      const VertexTerm turn = holonomy(e, f, Hessian::exact);
      b.gradient_e += moment * turn.gradient_e;
      b.gradient_f += moment * turn.gradient_f;
      out.largest = std::max(out.largest, (moves_e ? b.gradient_e : b.gradient_f).norm());
      if (moves_e) g.segment<3>(ate) += b.gradient_e;
      if (moves_f) g.segment<3>(atf) += b.gradient_f;
      if (kind == Hessian::none) return;
      if (kind == Hessian::exact) {
        b.hessian_ee += moment * turn.hessian_ee;
        b.hessian_ef += moment * turn.hessian_ef;
        b.hessian_ff += moment * turn.hessian_ff;
      }
      if (moves_e) h.block<3, 3>(ate, ate) += b.hessian_ee;
      if (moves_f) h.block<3, 3>(atf, atf) += b.hessian_ff;
      if (!moves_e || !moves_f) return;
      h.block<3, 3>(ate, atf) += b.hessian_ef;
      h.block<3, 3>(atf, ate) += b.hessian_ef.transpose();
    };
    if (framed && rod.twist.frame_held(v)) {
      const Vector3d& t = rod.twist.frame_tangent(v);
      if (before) term(edge(m.previous(v)), t, true, false, 0.5 * m.edge_length(m.previous(v)), 0);
      if (behind) term(t, edge(v), false, true, 0.5 * m.edge_length(v), 1);
    } else if (before && behind) {
      term(edge(m.previous(v)), edge(v), true, true, m.joint_length(v), 0);
    }
  }
  out.gradient = scale * by_edges.transpose() * g;
  out.hessian = scale * by_edges.transpose() * h * by_edges;
  return out;
}

double apart(const MatrixXd& a, const MatrixXd& b) {
  return (a - b).cwiseAbs().maxCoeff() / b.cwiseAbs().maxCoeff();
}

constexpr double kRounding = 3e-14;  // relative to the largest entry; a fold magnifies it

TEST(RodAssembly, IsTheSumOfItsTerms) {
  std::uint64_t seed = 1;
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.name());
    const Rod rod(c, seed += 7);
    constexpr double kScale = 0.7;
    const Sums sums = reference(rod, c, kScale);
    const auto size = static_cast<Index>(3 * c.n);
    VectorXd gradient = VectorXd::Constant(size, 3.0);  // what is there stays
    BlockBand<3> band(c.n);
    band.restart(c.n, c.closed);
    for (std::size_t i = 0; i < c.n; ++i) band.add(i, 2.0 * Matrix3d::Identity());
    const double largest =
        add_elastic<3>(rod.model, rod.x, rod.twist, c.kind, kScale, c.lagged ? rod.tension.data() : nullptr,
                       gradient.data(), c.kind == Hessian::none ? nullptr : &band);
    EXPECT_LT(apart(gradient, (sums.gradient.array() + 3.0).matrix()), kRounding);
    EXPECT_NEAR(largest, sums.largest, kRounding * sums.largest);
    MatrixXd dense(size, size);
    VectorXd one = VectorXd::Zero(size), column(size);
    for (Index k = 0; k < size; ++k) {
      one[k] = 1;
      band.multiply(one.data(), column.data());
      dense.col(k) = column;
      one[k] = 0;
    }
    EXPECT_LT(apart(dense, sums.hessian + 2.0 * MatrixXd::Identity(size, size)), kRounding);

    const Energies energies = elastic_energy(rod.model, rod.x, rod.twist);
    EXPECT_NEAR(energies.stretch, sums.stretch, kRounding * sums.stretch);
    EXPECT_NEAR(energies.bend, sums.bend, kRounding * sums.bend);
  }
}

TEST(RodAssembly, GivesTheSameForcesWithAndWithoutTheBand) {
  for (const std::size_t n : {7u, 40u}) {
    const Case c{n, false, false, false, false, Hessian::exact};
    const Rod rod(c, 3);
    VectorXd with = VectorXd::Zero(static_cast<Index>(3 * n)), without = with;
    BlockBand<3> band(n);
    add_elastic<3>(rod.model, rod.x, rod.twist, Hessian::exact, 1.0, nullptr, with.data(), &band);
    add_elastic<3>(rod.model, rod.x, rod.twist, Hessian::none, 1.0, nullptr, without.data(), nullptr);
    EXPECT_EQ(with, without);
  }
}

TEST(RodAssembly, LeavesAStraightRodOfItsRestLengthAtRest) {
  const std::size_t n = 41;
  RodModel model;
  model.rest_length = 0.125;
  model.stretch_stiffness = 6e5;
  model.bend_stiffness = 16;
  model.drag.assign(n, 1.0);
  std::vector<Vector3d> x;
  for (std::size_t i = 0; i < n; ++i) x.emplace_back(0, 0.125 * static_cast<double>(i), 0);
  const Twist twist(x, false, 0);
  VectorXd gradient = VectorXd::Zero(3 * n);
  EXPECT_EQ(add_elastic<3>(model, x, twist, Hessian::none, 1.0, nullptr, gradient.data(), nullptr), 0.0);
  EXPECT_EQ(gradient.cwiseAbs().maxCoeff(), 0.0);
  EXPECT_EQ(elastic_energy(model, x, twist).sum(), 0.0);
}

TEST(RodAssembly, StaysFiniteWhereAnEdgeHasNoLength) {
  const Case c{12, false, false, false, false, Hessian::exact};
  Rod rod(c, 5);
  rod.x[6] = rod.x[5];
  VectorXd gradient = VectorXd::Zero(36);
  BlockBand<3> band(12);
  add_elastic<3>(rod.model, rod.x, rod.twist, Hessian::exact, 1.0, rod.tension.data(), gradient.data(), &band);
  VectorXd product(36);
  const VectorXd ones = VectorXd::LinSpaced(36, 0.0, 1.0);
  band.multiply(ones.data(), product.data());
  EXPECT_TRUE(gradient.allFinite());
  EXPECT_TRUE(product.allFinite());
}

}  // namespace
}  // namespace ligature::rod
