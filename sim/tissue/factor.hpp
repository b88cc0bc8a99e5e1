#pragma once
/// Solves with a symmetric positive definite matrix of 3 x 3 blocks, factored before: nested dissection by the nodes'
/// places [George 1973], one supernode per separator, block LDL^T:
///
///   A = [A11 A21^T; A21 A22]:   b2 -= B b1,  z1 = A11^-1 b1,  (rest),  x1 = z1 - B^T x2      with B = A21 A11^-1
///
/// so that a solve is nothing but products with dense panels [A11^-1; B]: about once through the factor's memory down
/// and once up. Kept in single precision it serves as a preconditioner at half the memory traffic.
#include <Eigen/Core>
#include <cstdint>
#include <vector>

namespace ligature::tissue {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// Symmetric, of 3 x 3 blocks, both triangles. Eigen's matrices of dynamic size stay out of this room: a program that
/// links libceres.a gets some of their functions from there, compiled for another alignment.
class BlockMatrix {
 public:
  struct Entry {
    std::uint32_t row;
    Matrix3d value;
  };
  explicit BlockMatrix(std::size_t nodes) : columns_(nodes) {}
  void add(std::size_t row, std::size_t column, const Matrix3d& value);
  void set_zero() noexcept;  ///< the blocks stay: adding to one of them allocates nothing
  const std::vector<Entry>& column(std::size_t c) const { return columns_[c]; }

 private:
  std::vector<std::vector<Entry>> columns_;
};

template <class Real>
class Factor {
 public:
  Factor() = default;
  /// @param matrix of n nodes, @param places of the nodes, to dissect by (n)
  /// @return false when the matrix is not positive definite
  bool factor(const BlockMatrix& matrix, const std::vector<Vector3d>& places);
  /// Likewise in two parts: the order and all memory, then the numbers, of this matrix or of any that has the same
  /// blocks.
  void plan(const BlockMatrix& matrix, const std::vector<Vector3d>& places);
  /// @return false when the matrix is not positive definite: there is nothing to solve with then. @rt no allocation
  bool refactor(const BlockMatrix& matrix) noexcept;

  /// b becomes A^-1 b. @param b (3n), any order of nodes as given to factor(). @rt no allocation
  void solve(double* b) noexcept { solve_several<1>(b, nullptr); }
  /// Both at once, for little more than one.
  void solve(double* b, double* c) noexcept { solve_several<2>(b, c); }

  std::size_t bytes() const noexcept { return panels_.size() * sizeof(Real); }
  std::size_t supernodes() const noexcept { return super_.size(); }

 private:
  /// What making it takes beside what is kept.
  struct Scratch {
    std::vector<std::uint32_t> place_of;               ///< of a node, in elimination order
    std::vector<std::vector<std::uint32_t>> children;  ///< supernodes whose updates one takes
    std::vector<std::vector<double>> updates;          ///< of each, column-major, lower triangles
    std::vector<double> front, inverse;
    std::vector<std::size_t> local;  ///< of a place: scalar row in the front
  };
  template <std::size_t N>
  void solve_several(double* b, double* c) noexcept;
  struct Supernode {
    std::size_t first = 0, columns = 0;  ///< scalars, in elimination order
    std::size_t rows = 0;                ///< scalars below
    std::size_t row_list = 0;            ///< into row_lists_: first scalar of each node below
    std::size_t panel = 0, stride = 0;   ///< column-major
  };
  std::vector<std::size_t> order_;  ///< scalar eliminated as i-th -> scalar as given
  std::vector<Supernode> super_;
  std::vector<std::uint32_t> row_lists_;
  std::vector<Real> panels_;
  std::vector<Real> work_, x_;  // of two right-hand sides
  Scratch scratch_;
};

extern template class Factor<float>;
extern template class Factor<double>;

}  // namespace ligature::tissue
