#pragma once
/// Symmetric positive definite band of 3x3 blocks, two off-diagonal blocks on each side: the shape that a rod's
/// implicit step has, because bending at a vertex touches both neighbours.
///
///   | D0 .  .       |
///   | E0 D1 .  .    |      block (i+1, i) = E_i, block (i+2, i) = F_i; the upper half is the transpose
///   | F0 E1 D2 .  . |
///   |    F1 E2 D3 . |
///
/// Factored in place as L D L^T, column by column (scalar half bandwidth 8), in double: its entries differ by 1e11.
/// Cost: about 40 multiply-adds per scalar row to factor, 17 per row and right-hand side to solve.
#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <vector>

namespace ligature::rod_old {

class BlockBand {
 public:
  static constexpr int kReach = 2;  ///< off-diagonal blocks on each side

  /// Takes the memory for `vertices` block rows; everything zero.
  explicit BlockBand(std::size_t vertices = 0);
  /// Uses only the first `vertices` block rows of that memory, for a shorter rod.
  void use(std::size_t vertices) noexcept { vertices_ = vertices; }
  std::size_t vertices() const { return vertices_; }

  void set_zero() noexcept;
  /// Adds to block (row, column). Of a diagonal block the lower triangle is read.
  /// @pre column <= row <= column + 2
  void add(std::size_t row, std::size_t column, const Eigen::Matrix3d& block) noexcept {
    for (int c = 0; c < 3; ++c) {
      auto& line = columns_[3 * column + static_cast<std::size_t>(c)];
      const int shift = 3 * static_cast<int>(row - column) - c;
      for (int r = shift < 0 ? -shift : 0; r < 3; ++r) line[static_cast<std::size_t>(r + shift)] += block(r, c);
    }
  }
  /// y = A x before factor(). x, y: (3 vertices)
  void multiply(const double* x, double* y) const noexcept;
  /// Pivots that are not above `floor` times the largest pivot are raised to it, so a solve is always finite.
  /// @returns how many were raised; 0 for a positive definite matrix.
  /// @rt O(vertices), no allocation
  int factor(double floor = 1e-300) noexcept;
  /// Solves A x = b in place, after factor(); as often as wanted. b: (3 vertices)
  /// @rt O(vertices), no allocation
  void solve(double* b) noexcept;

 private:
  std::size_t vertices_ = 0;
  std::vector<std::array<double, 9>> columns_;  ///< [j][r] = A(j + r, j); after factor() L, and 1/D at r = 0; 8 spare
  std::vector<double> work_;                    ///< (3 vertices + 8)
};

}  // namespace ligature::rod_old
