#pragma once
/// Small dense systems on the real-time path: Gauss with partial pivoting in memory taken beforehand.
#include <cstddef>
#include <vector>

namespace ligature::contact {

class DenseLu {
 public:
  /// Memory: 8 most^2 bytes and a little more.
  explicit DenseLu(std::size_t most);

  /// A system of n unknowns, to be filled row by row. @pre n <= most
  void begin(std::size_t n) noexcept;
  double* row(std::size_t k) noexcept { return matrix_.data() + k * stride_; }
  const double* row(std::size_t k) const noexcept { return matrix_.data() + k * stride_; }
  /// False where a pivot is next to nothing beside the largest entry of the diagonal. @rt O(n^3)
  bool factor() noexcept;
  /// After factor(): the right-hand side becomes the solution. @rt O(n^2)
  void solve(double* b) const noexcept;

 private:
  std::size_t n_ = 0, stride_ = 0;
  std::vector<double> matrix_;  // row by row, then its factors     (n x stride)
  std::vector<double> columns_;  // a panel, column by column
  std::vector<std::size_t> pivot_;
};

}  // namespace ligature::contact
