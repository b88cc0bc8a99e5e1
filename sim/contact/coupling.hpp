#pragma once
/// The coupling (Delassus) matrix W = J A^-1 J^T: how a force at one contact moves every other, A the linearised
/// implicit step of each thread, J the directions of the contacts (n, t1, t2 of each, rows in that order).
///
/// Differs from the thesis's recursion (Algorithm 1) by its way: the band of every thread is factored anyway, so the
/// columns of A^-1 are asked for only at vertices that contacts touch, only inside the interval that they span, several
/// columns side by side.
#include <cstddef>
#include <vector>

#include "sim/base/executor.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

/// One thread's A^-1, restricted to where contacts are.
class ThreadInverse {
 public:
  virtual ~ThreadInverse() = default;
  /// Solves A X = B for `count` right-hand sides that are zero outside the vertices [first, last]; of the answer only
  /// those vertices are asked for. B, X in place: entry (3 (vertex - first) + axis, k) at b[row count + k].
  /// Several threads may call it at once, each with its own b. @rt no allocation
  virtual void solve_window(double* b, std::size_t count, std::size_t first, std::size_t last) const noexcept = 0;
};

class Coupling {
 public:
  /// Takes all memory for so many contacts, on so many vertices of all threads together.
  Coupling(std::size_t most_contacts, std::size_t most_vertices, std::size_t most_strands);

  /// Builds W for these contacts and their axes. A contact on vertices beyond capacity is not possible: each contact
  /// has at most four. @param axes of each contact, columns n, t1, t2 (W)                             (count)
  /// @rt no allocation
  void build(const Strand* strands, std::size_t strand_count, const ThreadInverse* const* inverses,
             const StrandContact* contacts, const Eigen::Matrix3d* axes, std::size_t count,
             Executor& executor) noexcept;

  const double* w() const noexcept { return w_.data(); }
  std::size_t stride() const noexcept { return stride_; }

 private:
  std::vector<double> w_;
  std::size_t stride_ = 0;
};

}  // namespace ligature::contact
