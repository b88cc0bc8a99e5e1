#pragma once
/// The thesis's way to the coupling matrix (section 3.7.2, Algorithm 1), for tests and benchmarks: blocks G(n -> i) of
/// A^-1 between the vertices that contacts touch, by recursion outwards from each vertex; then J G J^T.
///
/// A is an open thread's, dense 3x3 blocks D, O+-, O++-- of its band. Equations (3.67) to (3.78); where A is symmetric
/// G(i -> n) is the transpose of G(n -> i), so that one of its two directions is enough. That is used here.
#include <Eigen/Dense>
#include <algorithm>
#include <vector>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/strand.hpp"
#include "sim/rod/band.hpp"

namespace ligature::coupling_case {

class ThesisCoupling {
 public:
  using Matrix3 = Eigen::Matrix3d;
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  /// The lower blocks of column i: (i, i), (i+1, i), (i+2, i).
  struct Column {
    Matrix3 own = Matrix3::Zero(), next = Matrix3::Zero(), after = Matrix3::Zero();
  };

  /// Eliminates from both ends: M+, M++ of (3.68)-(3.70) from the first vertex on, M-, M-- of (3.71) from the last.
  void factor(const std::vector<Column>& a) {
    const std::size_t n = a.size();
    up_.resize(n), up2_.resize(n), down_.resize(n), down2_.resize(n), a_ = a;
    for (std::size_t i = 0; i < n; ++i) {
      Matrix3 t = lower(i, 1), d = a[i].own;  // T_i+ = O- + O-- M+_(i-2)
      if (i >= 2) {
        t += lower(i, 2) * up_[i - 2];
        d += lower(i, 2) * up2_[i - 2];
      }
      if (i >= 1) d += t * up_[i - 1];
      const Matrix3 k = -d.inverse();
      up_[i] = k * (upper(i, 1) + (i >= 1 ? Matrix3(t * up2_[i - 1]) : Matrix3(Matrix3::Zero())));
      up2_[i] = k * upper(i, 2);
    }
    for (std::size_t i = n; i-- > 0;) {
      Matrix3 t = upper(i, 1), d = a[i].own;
      if (i + 2 < n) {
        t += upper(i, 2) * down_[i + 2];
        d += upper(i, 2) * down2_[i + 2];
      }
      if (i + 1 < n) d += t * down_[i + 1];
      const Matrix3 k = -d.inverse();
      down_[i] = k * (lower(i, 1) + (i + 1 < n ? Matrix3(t * down2_[i + 1]) : Matrix3(Matrix3::Zero())));
      down2_[i] = k * lower(i, 2);
    }
  }

  /// G between the vertices of `touched` (ascending): block (i, n), i >= n, lower triangle of blocks.
  void solve(const std::vector<std::size_t>& touched, Matrix& g) const {
    const std::size_t m = touched.size(), n = a_.size();
    g.resize(static_cast<Eigen::Index>(3 * m), static_cast<Eigen::Index>(3 * m));
    // The last two vertices visited, of every column begun.
    std::vector<Matrix3> here(m), next(m);
    for (std::size_t s = 0; s < m; ++s) {
      const std::size_t i = touched[s];
      // Outwards from the vertex visited before to this one, for all columns begun: H of (3.78).
      if (s > 0) {
        const std::size_t j = touched[s - 1];
        Matrix3 h1 = Matrix3::Identity(), h2 = Matrix3::Zero(), h3 = Matrix3::Zero(), h4 = Matrix3::Identity();
        for (std::size_t k = j; k < i; ++k) {
          const Matrix3 m1 = k + 2 < n ? down_[k + 2] : Matrix3(Matrix3::Zero());
          const Matrix3 m2 = k + 2 < n ? down2_[k + 2] : Matrix3(Matrix3::Zero());
          const Matrix3 n3 = m1 * h3 + m2 * h1, n4 = m1 * h4 + m2 * h2;
          h1 = h3, h2 = h4, h3 = n3, h4 = n4;
        }
        for (std::size_t c = 0; c < s; ++c) {
          const Matrix3 x = h1 * here[c] + h2 * next[c], y = h3 * here[c] + h4 * next[c];
          here[c] = x, next[c] = y;
          g.block<3, 3>(static_cast<Eigen::Index>(3 * s), static_cast<Eigen::Index>(3 * c)) = x;
        }
      }
      // G(i -> i) and its neighbours, (3.72)-(3.75).
      const bool has_before = i >= 1, has_next = i + 1 < n;
      const Matrix3 zero = Matrix3::Zero(), one = Matrix3::Identity();
      const Matrix3 u1 = has_before ? up_[i - 1] : zero, u2 = has_before ? up2_[i - 1] : zero;
      const Matrix3 d1 = has_next ? down_[i + 1] : zero, d2 = has_next ? down2_[i + 1] : zero;
      const Matrix3 to_next = (one - d2 * u2).inverse() * (d1 + d2 * u1);
      const Matrix3 to_before = (one - u2 * d2).inverse() * (u1 + u2 * d1);
      Matrix3 sum = a_[i].own, b1 = lower(i, 1), b2 = upper(i, 1);
      if (i >= 2) sum += lower(i, 2) * up2_[i - 2], b1 += lower(i, 2) * up_[i - 2];
      if (i + 2 < n) sum += upper(i, 2) * down2_[i + 2], b2 += upper(i, 2) * down_[i + 2];
      if (has_before) sum += b1 * to_before;
      if (has_next) sum += b2 * to_next;
      here[s] = sum.inverse();
      next[s] = to_next * here[s];
      g.block<3, 3>(static_cast<Eigen::Index>(3 * s), static_cast<Eigen::Index>(3 * s)) = here[s];
    }
    for (Eigen::Index r = 0; r < g.rows(); ++r)
      for (Eigen::Index c = r + 1; c < g.cols(); ++c) g(r, c) = g(c, r);
  }

  /// W of contacts within this one thread, (3.79)-(3.82).
  void couple(const std::vector<contact::StrandContact>& contacts, const std::vector<Matrix3>& axes, Matrix& w) {
    touched_.clear();
    for (const auto& c : contacts)
      for (const contact::Blend& b : {blend(c.pair.edge_a, c.sa), blend(c.pair.edge_b, c.sb)})
        touched_.insert(touched_.end(), b.vertex, b.vertex + 3);
    std::sort(touched_.begin(), touched_.end());
    touched_.erase(std::unique(touched_.begin(), touched_.end()), touched_.end());
    solve(touched_, g_);
    number_.assign(a_.size(), 0);
    for (std::size_t s = 0; s < touched_.size(); ++s) number_[touched_[s]] = static_cast<Eigen::Index>(3 * s);
    const auto m = static_cast<Eigen::Index>(contacts.size());
    y_.resize(3 * m, g_.cols());
    w.resize(3 * m, 3 * m);
    for (Eigen::Index i = 0; i < m; ++i) {
      const auto e = ends(contacts[static_cast<std::size_t>(i)]);
      y_.middleRows<3>(3 * i).noalias() =
          axes[static_cast<std::size_t>(i)].transpose() *
          (e.weight[0] * g_.middleRows<3>(e.row[0]) + e.weight[1] * g_.middleRows<3>(e.row[1]) +
           e.weight[2] * g_.middleRows<3>(e.row[2]) + e.weight[3] * g_.middleRows<3>(e.row[3]) +
           e.weight[4] * g_.middleRows<3>(e.row[4]) + e.weight[5] * g_.middleRows<3>(e.row[5]));
    }
    for (Eigen::Index j = 0; j < m; ++j) {
      const auto e = ends(contacts[static_cast<std::size_t>(j)]);
      for (Eigen::Index i = j; i < m; ++i) {
        Matrix3 sum = e.weight[0] * y_.block<3, 3>(3 * i, e.row[0]);
        for (int k = 1; k < 6; ++k) sum += e.weight[k] * y_.block<3, 3>(3 * i, e.row[k]);
        w.block<3, 3>(3 * i, 3 * j) = sum * axes[static_cast<std::size_t>(j)];
      }
    }
    for (Eigen::Index r = 0; r < w.rows(); ++r)
      for (Eigen::Index c = r + 1; c < w.cols(); ++c) w(r, c) = w(c, r);
  }

 private:
  struct Ends {
    Eigen::Index row[6];
    double weight[6];
  };
  contact::Blend blend(std::size_t edge, double at) const { return contact::blend_at(a_.size(), false, edge, at); }
  Ends ends(const contact::StrandContact& c) const {
    const contact::Blend a = blend(c.pair.edge_a, c.sa), b = blend(c.pair.edge_b, c.sb);
    Ends e;
    for (std::size_t k = 0; k < 3; ++k) {
      e.row[k] = number_[a.vertex[k]], e.weight[k] = a.weight[k];
      e.row[3 + k] = number_[b.vertex[k]], e.weight[3 + k] = -b.weight[k];
    }
    return e;
  }
  /// Block (i, i - apart) and (i, i + apart); zero beyond the ends.
  Matrix3 lower(std::size_t i, std::size_t apart) const {
    if (i < apart) return Matrix3::Zero();
    return apart == 1 ? a_[i - 1].next : a_[i - 2].after;
  }
  Matrix3 upper(std::size_t i, std::size_t apart) const {
    if (i + apart >= a_.size()) return Matrix3::Zero();
    return (apart == 1 ? a_[i].next : a_[i].after).transpose();
  }

  std::vector<Column> a_;
  std::vector<Matrix3> up_, up2_, down_, down2_;
  std::vector<std::size_t> touched_;
  std::vector<Eigen::Index> number_;
  Matrix g_, y_;
};

/// Of a band before it is factored.
inline std::vector<ThesisCoupling::Column> columns_of(const rod::BlockBand<3>& band) {
  const std::size_t n = band.vertices();
  std::vector<ThesisCoupling::Column> columns(n);
  std::vector<double> x(3 * n), y(3 * n);
  // Columns five vertices apart share no row.
  for (std::size_t first = 0; first < 15; ++first) {
    std::fill(x.begin(), x.end(), 0.0);
    for (std::size_t c = first; c < x.size(); c += 15) x[c] = 1;
    band.multiply(x.data(), y.data());
    for (std::size_t c = first; c < x.size(); c += 15) {
      const std::size_t i = c / 3;
      const auto column = static_cast<Eigen::Index>(c % 3);
      for (std::size_t r = 0; r < 3; ++r) {
        const auto row = static_cast<Eigen::Index>(r);
        columns[i].own(row, column) = y[3 * i + r];
        if (i + 1 < n) columns[i].next(row, column) = y[3 * (i + 1) + r];
        if (i + 2 < n) columns[i].after(row, column) = y[3 * (i + 2) + r];
      }
    }
  }
  return columns;
}

}  // namespace ligature::coupling_case
