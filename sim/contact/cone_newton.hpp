#pragma once
/// The contact problem by Newton's method on its non-smooth form (Alart and Curnier 1991): what sweeps and splitting
/// find slowly where many contacts hang on each other (a taut thread round a post), it finds in a few steps from near.
///
/// With z = r - rho u a contact is open (z_n <= 0), sticks (|z_t| <= mu z_n) or slides along e = z_t / |z_t|, and the
/// forces for which all go on as they are solve a linear system, for the forces themselves:
///
///   open    r = 0
///   stick   u = 0                                                                       (3 unknowns)
///   slide   u_n = 0,  r_t = mu r_n e + r_p p,  u_p = -l r_p,  p across e                (2: r_n, r_p)
///           l = (1 - b) / (b rho),  b = mu z_n / |z_t|
#include <cstddef>
#include <vector>

#include "sim/contact/cone_local.hpp"
#include "sim/contact/dense_lu.hpp"

namespace ligature::contact {

struct ConeProblem;

class ConeNewton {
 public:
  /// Memory: 72 most_contacts^2 bytes.
  explicit ConeNewton(std::size_t most_contacts);

  /// Finds out what the contacts do. @returns the unknowns of the system; 0 when there are none, or too many contacts
  /// @param u W r + q                                                                            (3m) @rt O(m)
  std::size_t look(const ConeProblem& problem, const LocalCone* contacts, const double* r, const double* u) noexcept;
  /// After look(): the forces with which they would go on doing it. False when there are no such forces.
  /// @param target out                                                                       (3m) @rt O(unknowns^3)
  bool aim(const ConeProblem& problem, double* target) noexcept;

 private:
  /// r of a contact = sum over its unknowns of value * (n, t1, t2); its equation: along (n, t1, t2), plus l times it.
  struct Unknown {
    std::size_t contact = 0;
    double force[3] = {}, along[3] = {};
    double give = 0;  ///< l [mm/uN]
  };
  std::size_t most_ = 0;
  std::vector<Unknown> unknowns_;  // (3 most)
  DenseLu system_;
  std::vector<double> right_;  // (3 most)
};

}  // namespace ligature::contact
