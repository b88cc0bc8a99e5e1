#pragma once
/// Symmetric band of DxD blocks, two off-diagonal blocks on each side: the shape that a rod's implicit step has, because
/// bending at a vertex touches both neighbours. A closed rod wraps round.
///
///   | D0 .  .          F4 E5 |
///   | E0 D1 .  .          F5 |     block (i+1, i) = E_i, block (i+2, i) = F_i, indices modulo the number of vertices;
///   | F0 E1 D2 .  .          |     the upper half is the transpose; the corners are there for a closed rod only
///   |    F1 E2 D3 .  .       |
///   |       F2 E3 D4 .       |
///   | F4 E5    F3 E4 D5      |     (six vertices)
///
/// Factored in place as L D L^T in double (its entries differ by 1e11): the band column by column, scalar half bandwidth
/// 3D - 1; of a closed rod the last two vertices are a dense border, eliminated at the end by their Schur complement.
/// D = 3: positions; D = 4: positions and the angle of the edge that follows; D = 1: the scalar simplification.
#include <Eigen/Core>
#include <cstddef>
#include <vector>

namespace ligature::rod {

template <int D>
class BlockBand {
 public:
  using Block = Eigen::Matrix<double, D, D>;
  static constexpr std::size_t kFewestClosed = 5;  ///< vertices of a closed rod

  /// Takes the memory for `most` vertices (and a border); everything zero.
  explicit BlockBand(std::size_t most = 0);
  /// Uses only the first `vertices` block rows of that memory, zeroed. @pre closed: vertices >= kFewestClosed
  void restart(std::size_t vertices, bool closed) noexcept;
  std::size_t vertices() const noexcept;
  bool closed() const noexcept;

  /// Adds to block (i, i). The lower triangle is read.
  void add(std::size_t i, const Block& block) noexcept;
  /// Adds to block (i, j), and its transpose to (j, i). @pre i != j, at most two apart (round the ring when closed)
  void add(std::size_t i, std::size_t j, const Block& block) noexcept;

  /// y = A x before factor(). x, y: (D vertices)
  void multiply(const double* x, double* y) const noexcept;
  /// Prescribes the value of scalar unknown `row`: moves its column to the right-hand side b, then clears row and
  /// column but for a unit diagonal, and b[row] = value. b: (D vertices), or null when the value is zero everywhere.
  void prescribe(std::size_t row, double value, double* b) noexcept;

  /// Pivots that are not above `floor` times the largest diagonal entry are raised to it, so that a solve is finite.
  /// @returns how many were raised; 0 for a positive definite matrix.
  /// @rt O(vertices), no allocation
  int factor(double floor = 1e-14) noexcept;
  /// Solves A X = B in place for `count` right-hand sides, after factor(); as often as wanted.
  /// B: (D vertices x count), row by row: entry (r, k) at b[r count + k]. Each further one costs a fraction of the first.
  /// @rt O(vertices count), no allocation
  void solve(double* b, std::size_t count = 1) const noexcept;

 private:
};

extern template class BlockBand<1>;
extern template class BlockBand<3>;
extern template class BlockBand<4>;

}  // namespace ligature::rod
