#pragma once
/// Symmetric band of DxD blocks, two off-diagonal blocks on each side: the shape that a rod's implicit step has,
/// because bending at a vertex touches both neighbours. A closed rod wraps round.
///
///   | D0 .  .          F4 E5 |
///   | E0 D1 .  .          F5 |     block (i+1, i) = E_i, block (i+2, i) = F_i, indices modulo the number of vertices;
///   | F0 E1 D2 .  .          |     the upper half is the transpose; the corners are there for a closed rod only
///   |    F1 E2 D3 .  .       |
///   |       F2 E3 D4 .       |
///   | F4 E5    F3 E4 D5      |     (six vertices)
///
/// Factored in place as L D L^T in double (its entries differ by 1e11): the band column by column, scalar half
/// bandwidth 3D - 1; of a closed rod the last two vertices are a dense border, eliminated at the end by their Schur
/// complement. Elimination runs from both ends to the middle at once, the two ends as the two lanes of one register: it
/// is bound by the latency of pivot after pivot, which the lanes share, and no entry is filled in that one end alone
/// would not fill. What is left, two vertices in the middle and the border, is the dense core. D = 3: positions; D = 4:
/// positions and the angle of the edge that follows; D = 1: the scalar simplification.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <vector>

namespace ligature::rod {

template <int D>
class BlockBand {
 public:
  using Block = Eigen::Matrix<double, D, D>;
  static constexpr std::size_t kFewestClosed = 5;  ///< vertices of a closed rod
  /// Where entry (r, c) of a vertex's block column stands: rows of the vertex itself (r >= c), of the next two after.
  static constexpr int place(int r, int c) { return c * 3 * D - c * (c + 1) / 2 + r; }
  static constexpr int kColumn = place(3 * D - 1, D - 1) + 1;

  /// Takes the memory for `most` vertices (and a border); everything zero.
  explicit BlockBand(std::size_t most = 0);
  BlockBand(const BlockBand&) = default;
  BlockBand(BlockBand&&) noexcept = default;
  /// Copies what is in use. @rt from one with as much memory: O(vertices), no allocation
  BlockBand& operator=(const BlockBand& other);
  BlockBand& operator=(BlockBand&&) noexcept = default;
  /// Uses only the first `vertices` block rows of that memory, zeroed. @pre closed: vertices >= kFewestClosed
  void restart(std::size_t vertices, bool closed) noexcept;
  std::size_t vertices() const noexcept;
  bool closed() const noexcept;

  /// Adds to block (i, i). The lower triangle is read.
  void add(std::size_t i, const Block& block) noexcept;
  void add_diagonal(std::size_t i, const Eigen::Matrix<double, D, 1>& diagonal) noexcept;
  /// Adds to block (i, j), and its transpose to (j, i). @pre i != j, at most two apart (round the ring when closed)
  void add(std::size_t i, std::size_t j, const Block& block) noexcept;
  /// Adds to the blocks (i, i), (i+1, i) and (i+2, i) at once, but for those beyond an open rod's end.
  /// values: (kColumn), entry (r, c) at values[place(r, c) stride]
  void add_column(std::size_t i, const double* values, std::size_t stride) noexcept;

  /// y = A x before factor(). x, y: (D vertices)
  void multiply(const double* x, double* y) const noexcept;
  /// Prescribes the value of scalar unknown `row`: moves its column to the right-hand side b, then clears row and
  /// column but for a unit diagonal, and b[row] = value. b: (D vertices), or null when the value is zero everywhere.
  void prescribe(std::size_t row, double value, double* b) noexcept;

  /// Pivots that are not above `floor` times the largest diagonal entry are raised to it and uncoupled from what is
  /// eliminated later, so that a solve is finite.
  /// @returns how many were raised; 0 for a positive definite matrix.
  /// @rt O(vertices), no allocation
  int factor(double floor = 1e-14) noexcept;
  /// Solves A X = B in place for `count` right-hand sides, after factor(); as often as wanted.
  /// B: (D vertices x count), row by row: entry (r, k) at b[r count + k]. Each further one costs a fraction of the
  /// first. Every right-hand side's answer has the same bits, whatever is solved beside it.
  /// @rt O(vertices count), no allocation
  void solve(double* b, std::size_t count = 1) const noexcept;

 private:
  static constexpr int kBorder = 2 * D;  ///< scalar rows of the border
  static constexpr int kCore = 4 * D;    ///< middle (2D), then border (2D)

  /// One block column of each end, side by side: lane 0 is vertex p, lane 1 the p-th from the other end, whose "next
  /// two" are the two before it. Before factor() A; after it L, and 1 / pivot on the diagonal.
  struct alignas(16) Columns {
    double at[kColumn][2];
  };
  /// The border's rows of the same two block columns: (2D x D)
  struct alignas(16) BorderRows {
    double at[kBorder * D][2];
  };

  /// Chain vertices (all but the border's) are numbered 0 .. chain_ - 1; one phantom follows where they are odd.
  std::size_t last() const noexcept { return 2 * half_ + 1; }
  bool has_phantom() const noexcept { return chain_ % 2 == 1; }
  /// The core's scalar row r as the far end counts: its next vertex is the middle's second.
  static constexpr int mirrored(int r) { return r < D ? r + D : r < 2 * D ? r - D : r; }
  /// The right-hand side's row of the core's scalar row r; null for the phantom's.
  double* core_row(int r, double* b, std::size_t stride) const noexcept {
    const auto v = static_cast<std::size_t>(r / D);
    const std::size_t vertex = v >= 2 ? chain_ + v - 2 : half_ + v < chain_ ? half_ + v : vertices_;
    return vertex < vertices_ ? b + (D * vertex + static_cast<std::size_t>(r % D)) * stride : nullptr;
  }
  /// The entry (r, c) of A, r and c scalar unknowns at most two vertices apart.
  double& entry(std::size_t r, std::size_t c) noexcept;
  /// visit(c) for every scalar unknown c at most two vertices from r.
  template <class Visit>
  void visit_row(std::size_t r, Visit&& visit) noexcept;
  // With X scalar rows of border, 0 or 2D.
  template <int X>
  int eliminate(double least) noexcept;
  template <int X, class View>
  void forward(const View& view, typename View::Value* core) const noexcept;
  template <int X, class View>
  void backward(const View& view, const typename View::Value* core) const noexcept;
  template <int X>
  void solve_one(double* b, std::size_t stride) const noexcept;
  template <int X>
  void solve_tile(double* b, std::size_t stride) const noexcept;

  std::size_t vertices_ = 0;
  bool closed_ = false;
  std::size_t chain_ = 0;  ///< vertices that are not border
  std::size_t half_ = 0;   ///< vertices eliminated from each end; half_ and half_ + 1 are the middle
  std::vector<Columns> columns_;
  std::vector<BorderRows> border_;
  std::array<std::array<double, kCore>, kCore> core_{};  ///< lower triangle
};

template <int D>
inline std::size_t BlockBand<D>::vertices() const noexcept {
  return vertices_;
}

template <int D>
inline bool BlockBand<D>::closed() const noexcept {
  return closed_;
}

template <int D>
inline void BlockBand<D>::add(std::size_t i, const Block& block) noexcept {
  assert(i < vertices_);
  if (i < half_ || (i > half_ + 1 && i < chain_)) {
    const bool back = i >= half_;
    double(*at)[2] = columns_[back ? last() - i : i].at;
    const int lane = back ? 1 : 0;
    for (int c = 0; c < D; ++c)
      for (int r = c; r < D; ++r) at[place(r, c)][lane] += block(r, c);
  } else {
    const auto first = static_cast<int>(i < chain_ ? i - half_ : 2 + i - chain_) * D;
    for (int c = 0; c < D; ++c)
      for (int r = c; r < D; ++r) core_[first + r][first + c] += block(r, c);
  }
}

template <int D>
inline void BlockBand<D>::add_diagonal(std::size_t i, const Eigen::Matrix<double, D, 1>& diagonal) noexcept {
  assert(i < vertices_);
  if (i < half_ || (i > half_ + 1 && i < chain_)) {
    const bool back = i >= half_;
    double(*at)[2] = columns_[back ? last() - i : i].at;
    for (int c = 0; c < D; ++c) at[place(c, c)][back ? 1 : 0] += diagonal[c];
  } else {
    const auto first = static_cast<int>(i < chain_ ? i - half_ : 2 + i - chain_) * D;
    for (int c = 0; c < D; ++c) core_[first + c][first + c] += diagonal[c];
  }
}

template <int D>
inline void BlockBand<D>::add(std::size_t i, std::size_t j, const Block& block) noexcept {
  assert(i != j && i < vertices_ && j < vertices_);
  const std::size_t low = std::min(i, j), high = std::max(i, j);
  const bool upper = i < j;  // the block given is the transpose of (high, low)
  if (high < chain_) {
    assert(high - low <= 2);
    if (low < half_) {
      double(*at)[2] = columns_[low].at;
      const int first = static_cast<int>(high - low) * D;
      for (int c = 0; c < D; ++c)
        for (int r = 0; r < D; ++r) at[place(first + r, c)][0] += upper ? block(c, r) : block(r, c);
    } else if (high > half_ + 1) {
      double(*at)[2] = columns_[last() - high].at;
      const int first = static_cast<int>(high - low) * D;
      for (int c = 0; c < D; ++c)
        for (int r = 0; r < D; ++r) at[place(first + r, c)][1] += upper ? block(r, c) : block(c, r);
    } else {
      for (int c = 0; c < D; ++c)
        for (int r = 0; r < D; ++r) core_[D + r][c] += upper ? block(c, r) : block(r, c);
    }
    return;
  }
  const auto first = static_cast<int>(high - chain_) * D;
  if (low < half_ || (low > half_ + 1 && low < chain_)) {
    const bool back = low >= half_;
    double(*at)[2] = border_[back ? last() - low : low].at;
    const int lane = back ? 1 : 0;
    for (int c = 0; c < D; ++c)
      for (int r = 0; r < D; ++r) at[(first + r) * D + c][lane] += upper ? block(c, r) : block(r, c);
  } else {
    const auto column = static_cast<int>(low < chain_ ? low - half_ : 2 + low - chain_) * D;
    for (int c = 0; c < D; ++c)
      for (int r = 0; r < D; ++r) core_[2 * D + first + r][column + c] += upper ? block(c, r) : block(r, c);
  }
}

template <int D>
inline void BlockBand<D>::add_column(std::size_t i, const double* values, std::size_t stride) noexcept {
  const auto value = [&](int r, int c) { return values[static_cast<std::size_t>(place(r, c)) * stride]; };
  if (i < half_) {
    double(*at)[2] = columns_[i].at;
    for (int p = 0; p < kColumn; ++p) at[p][0] += values[static_cast<std::size_t>(p) * stride];
  } else if (i > half_ + 1 && i + 2 < chain_) {
    Columns* own = columns_.data() + (last() - i);
    for (int c = 0; c < D; ++c)
      for (int r = c; r < D; ++r) own->at[place(r, c)][1] += value(r, c);
    for (int apart = 1; apart < 3; ++apart)  // transposed, in the column of the other
      for (int c = 0; c < D; ++c)
        for (int r = 0; r < D; ++r) own[-apart].at[place(D * apart + c, r)][1] += value(D * apart + r, c);
  } else {
    for (int apart = 0; apart < 3; ++apart) {
      const std::size_t row = i + static_cast<std::size_t>(apart);
      if (row >= vertices_ && !closed_) break;
      Block block = Block::Zero();
      for (int c = 0; c < D; ++c)
        for (int r = apart == 0 ? c : 0; r < D; ++r) block(r, c) = value(D * apart + r, c);
      if (apart == 0)
        add(i, block);
      else
        add(row % vertices_, i, block);
    }
  }
}

extern template class BlockBand<1>;
extern template class BlockBand<3>;
extern template class BlockBand<4>;

}  // namespace ligature::rod
