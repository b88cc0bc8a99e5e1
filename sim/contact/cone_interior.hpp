#pragma once
/// The contact problem by an interior-point method: forces and motions stay inside their cones and are led together to
/// where they are complementary. What sweeps and Newton's method walk round in circles (a few contacts of a stiff
/// thread that hold each other up) it finds in ten to twenty factorisations from anywhere, in six or seven from nearby.
///
/// With x = (mu r_n, r_t) and z = (u_n / mu + |u_t|, u_t), both in the second-order cone |x_t| <= x_n:
///
///   z = M x + p + |z_t| n,   x o z = s e,   s -> 0        o: Jordan product [Alizadeh and Goldfarb 2003]
///
/// M and p are W and q in these scales. The middle equation with its |z_t| (De Saxce) is taken as it is, non-smooth
/// [Acary, Armand, Nguyen and Shpakovych 2023]; steps by predictor and corrector [Mehrotra 1992].
#include <cstddef>
#include <vector>

#include "sim/contact/dense_lu.hpp"

namespace ligature::contact {

struct ConeProblem;

class ConeInterior {
 public:
  /// Memory: 216 most_contacts^2 bytes.
  explicit ConeInterior(std::size_t most_contacts);
  std::size_t most() const noexcept { return most_; }

  /// Takes these contacts of the problem (ascending, at most most()); the others have no forces. `taken` must outlive
  /// it. @param warm forces to begin near, in their cones: half the iterations that a start from nowhere takes. (3m)
  /// @rt O(count^2), no allocation
  void start(const ConeProblem& problem, const std::size_t* taken, std::size_t count, const double* warm) noexcept;
  /// One iteration. False: it gets no further. @rt O(count^3), no allocation
  bool advance() noexcept;
  /// The forces of those taken, in their cones; of the others none. @param r (3m)
  void forces(double* r, std::size_t contacts) const noexcept;

 private:
  void make_system() noexcept;
  void direction(double centre, bool corrected) noexcept;
  double longest() const noexcept;

  std::size_t most_ = 0, count_ = 0, n_ = 0;
  const std::size_t* taken_ = nullptr;
  double load_ = 1;                       // of p
  std::vector<double> m_;                 // M, row by row                                     (n x n)
  std::vector<double> scale_, p_;         // x = scale * forces                                (n)
  std::vector<double> x_, z_, dx_, dz_;   // (n)
  std::vector<double> y_, lack_, curve_;  // M x + p; of z; dx o dz of the predictor           (n)
  DenseLu system_;
};

}  // namespace ligature::contact
