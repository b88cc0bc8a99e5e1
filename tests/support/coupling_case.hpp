#pragma once
/// Coupling problems on invented threads: banded matrices, contacts at random, the inverse behind Coupling's interface.
#include <Eigen/Dense>
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/contact/coupling.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/rod/band.hpp"

namespace ligature::coupling_case {

using Eigen::Index;
using Eigen::Matrix3d;
using Eigen::MatrixXd;
using Eigen::Vector3d;
using Eigen::VectorXd;

/// A^-1 of a factored band, less Z Z^T where a rank-one term sigma g g^T was added to it (Woodbury).
/// D = 1: the same scalar band for all three axes; D = 4: a fourth unknown at every vertex.
template <int D>
class BandInverse final : public contact::ThreadInverse {
 public:
  rod::BlockBand<D> band;
  VectorXd correction;  ///< empty, or Z: (own rows of all vertices)

  explicit BandInverse(std::size_t most) : band(most) {}
  std::size_t rows() const noexcept override { return kRows; }
  void widen(std::size_t& first, std::size_t& last) const noexcept override { band.widen(first, last); }
  void solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept override {
    if (correction.size() == 0) return solve_band(b, count, first, last);
    const std::size_t n = band.vertices(), window = (last + n - first) % n + 1;
    const auto z = [&](std::size_t row) {
      return correction[static_cast<Index>((first + row / kRows) % n * kRows + row % kRows)];
    };
    double along[64] = {};
    assert(count <= 64);  // Coupling asks for fewer
    for (std::size_t r = 0; r < kRows * window; ++r)
      for (std::size_t k = 0; k < count; ++k) along[k] += z(r) * b[r * count + k];
    solve_band(b, count, first, last);
    for (std::size_t r = 0; r < kRows * window; ++r)
      for (std::size_t k = 0; k < count; ++k) b[r * count + k] -= z(r) * along[k];
  }
  bool couples = true;  ///< or columns have to be solved
  bool couple(rod::ContactSide* sides, std::size_t count, std::size_t contacts, double* w, std::size_t stride,
              double* work) const noexcept override {
    return couples && correction.size() == 0 && band.couple(sides, count, contacts, w, stride, work);
  }
  /// Adds sigma g g^T to the factored band's matrix.
  void add_rank_one(const VectorXd& g, double sigma) {
    correction = g;
    solve_band(correction.data(), 1, 0, band.vertices() - 1, true);
    correction *= std::sqrt(sigma / (1 + sigma * g.dot(correction)));
  }

 private:
  static constexpr std::size_t kRows = D == 4 ? 4 : 3;
  void solve_band(double* b, std::size_t count, std::size_t first, std::size_t last, bool whole = false) const {
    const std::size_t own = D == 1 ? 3 * count : count;
    whole ? band.solve(b, own) : band.solve_window(b, own, first, last);
  }
};

/// Sums of squares over three neighbours, as bending is, and a diagonal. The same matrix dense, of the unknowns as
/// solve_window() has them.
template <int D>
MatrixXd fill(rod::BlockBand<D>& band, std::size_t n, bool closed, std::size_t middle, Random& random,
              double spread = 1e2) {
  constexpr Index own = D == 4 ? 4 : 3, copies = own / D;
  band.restart(n, closed, middle);
  const Index size = static_cast<Index>(n) * own;
  const bool is_dense = size <= 2000;
  MatrixXd dense = is_dense ? MatrixXd::Zero(size, size) : MatrixXd();
  const auto add = [&](std::size_t i, std::size_t j, const typename rod::BlockBand<D>::Block& block) {
    if (i == j)
      band.add(i, block);
    else
      band.add(i, j, block);
    if (!is_dense) return;
    for (Index r = 0; r < D; ++r)
      for (Index c = 0; c < D; ++c)
        for (Index axis = 0; axis < copies; ++axis) {
          const Index row = static_cast<Index>(i) * own + r + axis, column = static_cast<Index>(j) * own + c + axis;
          dense(row, column) += block(r, c);
          if (i != j) dense(column, row) += block(r, c);
        }
  };
  for (std::size_t i = 0; i < n; ++i) {
    MatrixXd J(2, 3 * D);
    for (double& v : J.reshaped()) v = random.normal() * std::pow(spread, random.uniform(0, 0.5));
    const MatrixXd H = J.transpose() * J;
    add(i, i, 0.4 * rod::BlockBand<D>::Block::Identity());
    for (std::size_t r = 0; r < 3; ++r)
      for (std::size_t s = 0; s <= r; ++s) {
        if (!closed && i + r >= n) continue;
        add((i + r) % n, (i + s) % n, H.block<D, D>(static_cast<Index>(r) * D, static_cast<Index>(s) * D));
      }
  }
  return dense;
}

inline Matrix3d random_axes(Random& random) {
  Matrix3d m;
  for (double& v : m.reshaped()) v = random.normal();
  Matrix3d q = m.householderQr().householderQ();
  return q;
}

/// W by definition: J, then the dense inverses. @param row_of_vertex rows of a vertex in each dense matrix
inline MatrixXd dense_coupling(const std::vector<contact::Strand>& strands, const std::vector<MatrixXd>& matrices,
                               const std::vector<contact::StrandContact>& contacts, const std::vector<Matrix3d>& axes) {
  const auto size = static_cast<Index>(3 * contacts.size());
  MatrixXd w = MatrixXd::Zero(size, size);
  for (std::size_t s = 0; s < strands.size(); ++s) {
    const Index own = matrices[s].rows() / static_cast<Index>(strands[s].vertices);
    MatrixXd jt = MatrixXd::Zero(matrices[s].rows(), size);
    for (std::size_t i = 0; i < contacts.size(); ++i) {
      const auto side = [&](std::size_t strand, std::size_t edge, double place, double sign) {
        if (strand != s) return;
        const auto column = static_cast<Index>(3 * i);
        const contact::Blend b = contact::blend_at(strands[s], edge, place);
        for (std::size_t k = 0; k < 3; ++k)
          jt.block<3, 3>(static_cast<Index>(b.vertex[k]) * own, column) += sign * b.weight[k] * axes[i];
        if (!strands[s].turns || contacts[i].pair.strand_b == contact::kNoStrand) return;
        // The angle between the middles of two edges is that of both; it takes the surface along, radius away.
        const auto edges = static_cast<Index>(strands[s].edges());
        const Vector3d tangent = contact::curve_at(strands[s], static_cast<double>(edge) + place).d1.normalized();
        const Eigen::RowVector3d arm =
            tangent.cross(-sign * strands[s].radius * contacts[i].normal).transpose() * axes[i];
        const double from = static_cast<double>(edge) + place - 0.5, part = from - std::floor(from);
        for (const Index k : {Index{0}, Index{1}}) {
          Index e = static_cast<Index>(std::floor(from)) + k;
          e = strands[s].closed ? (e + edges) % edges : std::clamp(e, Index{0}, edges - 1);
          jt.block<1, 3>(e * own + 3, column) += sign * (k == 0 ? 1 - part : part) * arm;
        }
      };
      side(contacts[i].pair.strand_a, contacts[i].pair.edge_a, contacts[i].sa, 1);
      side(contacts[i].pair.strand_b, contacts[i].pair.edge_b, contacts[i].sb, -1);
    }
    w += jt.transpose() * matrices[s].ldlt().solve(jt);
  }
  return w;
}

}  // namespace ligature::coupling_case
