#pragma once
/// One contact alone: Signorini and Coulomb for a motion u = D r + q of three numbers (n, t1, t2), solved to rounding,
/// and the simpler answer that the thesis's sweeps use.
///
/// With the normal row eliminated (u_n = 0), S = D_tt - w w^T / D_nn, w = D_tn and b = q_t - w q_n / D_nn:
///
///   separate  q_n >= 0                        r = 0
///   stick     r_t = -S^-1 b                   if that lies in the cone
///   slide     r_t = -(S + lambda)^-1 b        lambda > 0 so that |r_t| = mu r_n; then u_t = -lambda r_t
///
/// S is diagonal in its own axes, so that the root in lambda costs two divisions a try. (The slide as a quartic:
/// Bonnefon and Daviet 2011.)
#include <cstddef>

namespace ligature::contact {

enum class ConeState : unsigned char { open, stick, slide };

struct LocalCone {
  double rho = 0;         ///< of the natural map: inverse of the mean diagonal of D, 0 where D is [uN/mm]
  double mu = 0;          ///< as given, 0 if negative
  double wn = 0;          ///< D_nn; 0: nothing that a force could do here, r = 0 [mm/uN]
  double cs = 1, sn = 0;  ///< axes of S: (x, y) = (cs t1 + sn t2, cs t2 - sn t1)
  double wx = 0, wy = 0;  ///< w in those axes [mm/uN]
  double ax = 0, ay = 0;  ///< S in those axes, kept off zero [mm/uN]
  double d[6] = {};       ///< nn, n1, n2, 11, 12, 22 of D [mm/uN]
  double lambda = 0;      ///< of the last slide, where the next root is looked for first [mm/uN]

  /// @param block D, rows `stride` apart
  void prepare(const double* block, std::size_t stride, double friction) noexcept;
  /// Motion without this contact's own force: q = u - D r.
  void without(const double* u, const double* r, double* q) const noexcept;
  /// The exact solution. @param q (3) @param r out, in the cone (3) @rt bounded
  ConeState solve(const double* q, double* r) noexcept;
  /// The thesis's: a force that would leave the cone keeps the direction that sticking would have had, and is as long
  /// as the normal row then asks for (its 3.84 to 3.88 exactly, 3.89 in part).
  ConeState solve_along_stick(const double* q, double* r) const noexcept;
  /// Nearest point of the cone.
  void project(double* r) const noexcept;
  /// The point of the cone with the same normal force, or zero.
  void clip(double* r) const noexcept;
  /// |r - P_K(r - rho (u + mu |u_t| n))|^2 [uN^2]
  double miss(const double* r, const double* u) const noexcept;
};

}  // namespace ligature::contact
