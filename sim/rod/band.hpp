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
///
/// Where the ends meet is free: right-hand sides that are zero but in a window round the middle cost as much as the
/// window is long, for both ends' substitutions begin at its borders. Away from the balance of an open rod the longer
/// end goes on alone (its factorisation takes up to twice as long); of a closed one the border moves, opposite.
#include <Eigen/Core>
#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ligature::rod {

/// A contact's hold on three vertices in a row of one rod: a force f in its axes is weight[e] axes f at vertex first +
/// e, and, where D = 4, a moment turn[e] arm.f on the edge that begins there.
struct ContactSide {
  std::uint32_t first = 0;
  std::uint32_t contact = 0;  ///< whose rows of the coupling matrix it is
  double weight[3] = {};
  const double* axes = nullptr;  ///< three columns of three, one after the other
  double turn[3] = {};
  double arm[3] = {};  ///< along the axes [mm]
};

/// Lower triangle of w += Y^T T, rows of Y and T `stride` apart as those of w. @param size of w, @param rank rows of Y
void add_outer(double* w, std::size_t stride, std::size_t size, const double* y, const double* t,
               std::size_t rank) noexcept;

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
  static constexpr std::size_t kBalanced = static_cast<std::size_t>(-1);
  /// Uses only the first `vertices` block rows of that memory, zeroed. @pre closed: vertices >= kFewestClosed
  /// @param middle a vertex that is eliminated last; kBalanced: as far from one end as from the other
  void restart(std::size_t vertices, bool closed, std::size_t middle = kBalanced) noexcept;
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

  /// Makes a window of vertices one that solve_window() takes: one that holds the middle and, of a closed rod, does not
  /// pass its border (else it becomes the whole ring). A window [first, last] with first > last goes round the ring.
  void widen(std::size_t& first, std::size_t& last) const noexcept;
  /// solve() for right-hand sides that are zero outside the window, of which only the answer inside is asked for; the
  /// same bits. B: (D vertices of the window x count), the row of vertex `first` first.
  /// @pre the window is as widen() makes it. @rt O(vertices of the window * count), no allocation
  void solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept;

  /// Adds J A^-1 J^T to the lower triangle of w, after factor(), J the sides of contacts, without solving for columns:
  ///
  ///   A^-1 = [ends, the middle held]^-1 + P M^-1 P^T
  ///
  /// M the factored core, P what the ends' vertices do when the middle's two move. The first has no entries between the
  /// ends; inside the band they follow by Takahashi's recursion from the middle outwards, from there on by back
  /// substitution alone. A stretch without contacts so costs a back substitution of 2D columns.
  /// Source: [Takahashi 1973].
  /// @param sides first ascending                                                                     (count)
  /// @param w rows `stride` apart, 3 contacts of them; stride a multiple of 4, at least that
  /// @param work scratch, work_of_couple(count, stride) doubles
  /// @returns false for a closed rod, fewer than six vertices, D below 3: nothing is done then
  /// @rt O(vertices + count (vertices from the middle to the outermost side + count) + contacts^2), no allocation
  bool couple(const ContactSide* sides, std::size_t count, std::size_t contacts, double* w, std::size_t stride,
              double* work) const noexcept;
  static constexpr std::size_t work_of_couple(std::size_t count, std::size_t stride) {
    return 9 * D * count + (3 * D + 3) * (3 * count + 2 * D + 8) + 4 * D * stride;
  }

 private:
  static constexpr int kBorder = 2 * D;  ///< scalar rows of the border
  static constexpr int kCore = 4 * D;    ///< middle (2D), then border (2D)

  /// One block column of each end, side by side: lane 0 is the end at vertex 0, lane 1 the other, whose "next two" are
  /// the two before it. Before factor() A; after it L, and 1 / pivot on the diagonal.
  struct alignas(16) Columns {
    double at[kColumn][2];
  };
  /// The border's rows of the same two block columns: (2D x D)
  struct alignas(16) BorderRows {
    double at[kBorder * D][2];
  };

  /// Where the rows of right-hand sides stand: of chain vertices [first, last] one after the other; or, Turned, of
  /// the whole ring from the vertex that is not the chain's first.
  template <bool Turned>
  struct Rows {
    double* b;
    std::size_t stride, first, last;
    std::size_t origin = 0;  ///< Turned: where the chain's first stands
    bool has(std::size_t c) const { return c >= first && c <= last; }
    double* at(std::size_t c, int r) const {
      std::size_t row = c - first;
      if constexpr (Turned) {
        row = c + origin;
        row -= row > last ? last + 1 : 0;
      }
      return b + (D * row + static_cast<std::size_t>(r)) * stride;
    }
  };

  // Vertices are numbered along the chain from where the ring is cut, the border last; of an open rod as given. The
  // chain's first front_ are eliminated from the front, front_ and front_ + 1 are the middle, the others come from the
  // back. The ends reach the middle together: the shorter one begins with phantoms.
  std::size_t chained(std::size_t vertex) const noexcept {
    return vertex >= origin_ ? vertex - origin_ : vertex + vertices_ - origin_;
  }
  bool in_front(std::size_t c) const noexcept { return c < front_; }
  bool in_back(std::size_t c) const noexcept { return c > front_ + 1 && c < chain_; }
  std::size_t front_column(std::size_t c) const noexcept { return c + front_phantoms_; }
  std::size_t back_column(std::size_t c) const noexcept { return last_ - c; }
  /// The first scalar row of a vertex of middle or border in the core.
  int core_place(std::size_t c) const noexcept {
    return static_cast<int>(c < chain_ ? c - front_ : 2 + c - chain_) * D;
  }
  /// The core's scalar row r as the far end counts: its next vertex is the middle's second.
  static constexpr int mirrored(int r) { return r < D ? r + D : r < 2 * D ? r - D : r; }
  /// The right-hand side's row of the core's scalar row r; null where there is none.
  template <bool Turned>
  double* core_row(int r, const Rows<Turned>& rows) const noexcept {
    const auto v = static_cast<std::size_t>(r / D);
    if (v < 2 && front_ + v >= chain_) return nullptr;
    const std::size_t c = v >= 2 ? chain_ + v - 2 : front_ + v;
    return rows.has(c) ? rows.at(c, r % D) : nullptr;
  }
  void add_chained(std::size_t c, const Block& block) noexcept;
  void add_chained(std::size_t i, std::size_t j, const Block& block) noexcept;
  /// The entry (r, c) of A, r and c scalar unknowns at most two vertices apart.
  double& entry(std::size_t r, std::size_t c) noexcept;
  /// visit(c) for every scalar unknown c at most two vertices from r.
  template <class Visit>
  void visit_row(std::size_t r, Visit&& visit) noexcept;
  // With X scalar rows of border, 0 or 2D.
  template <int X>
  int eliminate(double least) noexcept;
  // From column `begin` of an end on, and back to it.
  template <int X, class View>
  void forward(const View& view, std::size_t begin, typename View::Value* core) const noexcept;
  template <int X, class View>
  void backward(const View& view, std::size_t begin, const typename View::Value* core) const noexcept;
  template <int X, bool Balanced, bool Turned>
  void solve_one(const Rows<Turned>& rows) const noexcept;
  template <int X, bool Turned>
  void solve_tile(const Rows<Turned>& rows) const noexcept;
  template <int X, bool Turned>
  void solve_all(double* b, std::size_t count) const noexcept;
  template <int X, bool Whole>
  void solve_window_tile(const Rows<false>& rows, std::size_t count) const noexcept;
  /// One end's share of couple(). @param own of each side, its three columns at its three vertices
  /// @param by_middle out: J P, a row for each of the middle's unknowns
  template <int Lane>
  void couple_end(const ContactSide* sides, std::size_t count, const double* own, double* w, std::size_t stride,
                  double* by_middle, double* work) const noexcept;

  std::size_t vertices_ = 0;
  bool closed_ = false;
  std::size_t origin_ = 0;  ///< of a closed rod: the vertex after the border
  std::size_t chain_ = 0;   ///< vertices that are not border
  std::size_t front_ = 0;   ///< vertices eliminated from the front; front_ and front_ + 1 are the middle
  std::size_t half_ = 0;    ///< columns of each end, phantoms included
  std::size_t front_phantoms_ = 0, back_phantoms_ = 0;
  std::size_t last_ = 0;  ///< chain vertex c of the back stands in column last_ - c
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
  add_chained(chained(i), block);
}

template <int D>
inline void BlockBand<D>::add(std::size_t i, std::size_t j, const Block& block) noexcept {
  assert(i != j && i < vertices_ && j < vertices_);
  add_chained(chained(i), chained(j), block);
}

template <int D>
inline void BlockBand<D>::add_chained(std::size_t i, const Block& block) noexcept {
  const bool back = in_back(i);
  if (in_front(i) || back) {
    double(*at)[2] = columns_[back ? back_column(i) : front_column(i)].at;
    const int lane = back ? 1 : 0;
    for (int c = 0; c < D; ++c)
      for (int r = c; r < D; ++r) at[place(r, c)][lane] += block(r, c);
  } else {
    const int first = core_place(i);
    for (int c = 0; c < D; ++c)
      for (int r = c; r < D; ++r) core_[first + r][first + c] += block(r, c);
  }
}

template <int D>
inline void BlockBand<D>::add_diagonal(std::size_t vertex, const Eigen::Matrix<double, D, 1>& diagonal) noexcept {
  assert(vertex < vertices_);
  const std::size_t i = chained(vertex);
  const bool back = in_back(i);
  if (in_front(i) || back) {
    double(*at)[2] = columns_[back ? back_column(i) : front_column(i)].at;
    for (int c = 0; c < D; ++c) at[place(c, c)][back ? 1 : 0] += diagonal[c];
  } else {
    const int first = core_place(i);
    for (int c = 0; c < D; ++c) core_[first + c][first + c] += diagonal[c];
  }
}

template <int D>
inline void BlockBand<D>::add_chained(std::size_t i, std::size_t j, const Block& block) noexcept {
  const std::size_t low = std::min(i, j), high = std::max(i, j);
  const bool upper = i < j;  // the block given is the transpose of (high, low)
  if (high < chain_) {
    assert(high - low <= 2);
    if (in_front(low)) {
      double(*at)[2] = columns_[front_column(low)].at;
      const int first = static_cast<int>(high - low) * D;
      for (int c = 0; c < D; ++c)
        for (int r = 0; r < D; ++r) at[place(first + r, c)][0] += upper ? block(c, r) : block(r, c);
    } else if (in_back(high)) {
      double(*at)[2] = columns_[back_column(high)].at;
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
  const bool back = in_back(low);
  if (in_front(low) || back) {
    double(*at)[2] = border_[back ? back_column(low) : front_column(low)].at;
    const int lane = back ? 1 : 0;
    for (int c = 0; c < D; ++c)
      for (int r = 0; r < D; ++r) at[(first + r) * D + c][lane] += upper ? block(c, r) : block(r, c);
  } else {
    const int column = core_place(low);
    for (int c = 0; c < D; ++c)
      for (int r = 0; r < D; ++r) core_[2 * D + first + r][column + c] += upper ? block(c, r) : block(r, c);
  }
}

template <int D>
inline void BlockBand<D>::add_column(std::size_t vertex, const double* values, std::size_t stride) noexcept {
  const auto value = [&](int r, int c) { return values[static_cast<std::size_t>(place(r, c)) * stride]; };
  const std::size_t i = chained(vertex);
  if (in_front(i)) {
    double(*at)[2] = columns_[front_column(i)].at;
    for (int p = 0; p < kColumn; ++p) at[p][0] += values[static_cast<std::size_t>(p) * stride];
  } else if (i > front_ + 1 && i + 2 < chain_) {
    Columns* own = columns_.data() + back_column(i);
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
        add_chained(i, block);
      else
        add_chained(row % vertices_, i, block);
    }
  }
}

extern template class BlockBand<1>;
extern template class BlockBand<3>;
extern template class BlockBand<4>;

}  // namespace ligature::rod
