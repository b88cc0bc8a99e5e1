#pragma once
/// The contact problem by alternating directions (ADMM; Boyd et al. 2011, sections 3.4 and 5): the forces once as what
/// W asks for, once as what the cones allow, and a multiplier y that brings the two together.
///
///   x = z - (W + R)^-1 (W z + q + s + R y)      s = mu |u_t| n of u = -R y (De Saxce), R diagonal, alike in a contact
///   z = P_K(x' + y)                             x' = z + 1.6 (x - z)
///   y = x' + y - z
///
/// W + R is factored once. R is how far W lets a contact move, once the softest few motions of all contacts together
/// are taken out, and with them those that are softer than all others by orders: a thread that only drag holds moves
/// 10^6 times easier as a whole than it bends, and that would be all that R sees. They are the first steps of a pivoted
/// Cholesky factorisation of W.
///
/// Among bodies on walls (ConeSettings::bodies) a contact without friction has its normal alone: its multipliers across would have to come to u / R, which
/// takes as many rounds as R is stiffer than the softest motion along such contacts, that of a body that slides freely.
#include <algorithm>
#include <cstddef>
#include <vector>

#include "sim/contact/cone_local.hpp"

namespace ligature::contact {

struct ConeProblem;

class ConeSplitting {
 public:
  /// Memory: 72 most_contacts^2 bytes.
  explicit ConeSplitting(std::size_t most_contacts);
  std::size_t most() const noexcept { return y_.size() / 3; }

  /// Takes these contacts of the problem (ascending, at most most()) and factors; y = 0. `taken` must outlive it.
  /// @param bodies ConeSettings::bodies
  /// @rt O(count^3), no allocation
  void start(const ConeProblem& problem, const LocalCone* contacts, const std::size_t* taken, std::size_t count,
             std::size_t bodies) noexcept;
  /// y = 0 again, after start(). @rt O(count)
  void begin() noexcept { std::fill_n(y_.data(), 3 * count_, 0.0); }
  /// One round from r, u = W r + q, both of all contacts, to the next; r of the contacts not taken stays.
  /// @rt O(count m), no allocation
  void round(const ConeProblem& problem, const LocalCone* contacts, double* r, double* u) noexcept;

 private:
  void soften(const ConeProblem& problem, const LocalCone* contacts, std::size_t bodies) noexcept;
  void factor() noexcept;
  void substitute() noexcept;

  std::size_t count_ = 0, n_ = 0, stride_ = 0;
  const std::size_t* taken_ = nullptr;
  std::vector<std::size_t> begin_;  // first unknown of a contact; one behind the last     (taken + 1)
  std::vector<std::size_t> row_;    // of W, of an unknown                                 (n)
  std::vector<double> soft_;        // R [mm/uN]                                           (n)
  std::vector<double> y_;           // multiplier [uN]                                     (3 taken)
  std::vector<double> upper_;       // U of W + R = U^T U, row by row                      (n x stride)
  std::vector<double> inverse_;     // 1 / its diagonal; before, what is left of W's       (n)
  std::vector<double> b_;           // right-hand side, solution                           (n)
};

}  // namespace ligature::contact
