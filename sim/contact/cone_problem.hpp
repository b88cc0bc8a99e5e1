#pragma once
/// The contact problem of one linearisation, and those who solve it.
///
/// For m contacts with axes (n, t1, t2), forces r and motions u = W r + q, u_n the gap that is left at the end of the
/// step and u_t the slip in it:
///
///   u_n >= 0,  r_n >= 0,  u_n r_n = 0                                   (Signorini)
///   |r_t| <= mu r_n;  where u_t != 0, r_t = -mu r_n u_t / |u_t|          (Coulomb, exact cone)
///
/// that is r in K and u + mu |u_t| n in K* and orthogonal (De Saxce and Feng 1998). The natural map residual
/// r - P_K(r - rho (u + mu |u_t| n)) is zero exactly at a solution.
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/contact/cone_interior.hpp"
#include "sim/contact/cone_local.hpp"
#include "sim/contact/cone_newton.hpp"
#include "sim/contact/cone_splitting.hpp"

namespace ligature::contact {

enum class ConeMethod : std::uint8_t {
  standard,  ///< the product's: exact-cone sweeps while they promise to do, else alternating directions, best returned
  nncg,      ///< non-smooth nonlinear conjugate gradients as the thesis has them, with its limit on the step
  pgs,       ///< projected Gauss-Seidel as the thesis has it
};

/// Plain views; memory is the caller's.
struct ConeProblem {
  std::size_t count = 0;       ///< m
  const double* w = nullptr;   ///< W, symmetric positive semidefinite, row by row [mm/uN]    (3m rows of `stride`)
  std::size_t stride = 0;      ///< doubles from one row of W to the next, >= 3m
  const double* q = nullptr;   ///< motion without these forces: (gap, slip, slip) [mm]                 (3m)
  const double* mu = nullptr;  ///<                                                                     (m)
};

struct ConeSettings {
  ConeMethod method = ConeMethod::standard;
  int iterations = 60;  ///< sweeps, gradient steps, rounds at most, of all kinds together; a factorisation of n
                        ///< unknowns counts as 1 + n / 50 of them
  double residual_target = 1e-6;  ///< stops below; 0 = never before the bound
  /// ... and below this in every contact's own misfit as a motion, |r - P_K(..)| / rho [mm]: where a thread is held by
  /// next to nothing, W is so soft that a residual of 1e-7 still leaves penetrations of many radii
  double motion_target = std::numeric_limits<double>::infinity();
  /// standard: Newton's method where the start is near. It finds forces where W has no inverse, too, and then large
  /// ones: in a tight knot, whose strands hold each other, they misled the next linearisation while places of contacts
  /// ran (strand_contacts.hpp).
  bool newton = false;
  /// standard: how many soft bodies there are, of a problem in which most of many contacts are of such a body with a
  /// rigid one; 0: of any other problem. There more vertices touch than move on their own, so that W has no inverse and
  /// Newton's method finds nothing: the splitting is all there is.
  std::size_t bodies = 0;
  /// With Newton's method: iterations of the interior-point method, where nothing else does; each a factorisation, and
  /// besides those above. 0 = none.
  int interior = 30;
  std::size_t interior_contacts = 48;  ///< that may touch, of such an iteration; above, none
};

struct ConeOutcome {
  int iterations = 0;   ///< spent, those of the interior-point method not counted
  double residual = 0;  ///< of the forces returned, relative to the load
  double motion = 0;    ///< worst misfit of a contact as a motion: gap or slip that should not be [mm]
};

/// Natural map residual with rho of a contact the inverse of the mean diagonal of its block of W, over the larger of
/// |r| and rho |q_n-|: dimensionless, 0 for a problem that nothing loads. @param u W r + q, (3m)
double natural_residual(const ConeProblem& problem, const double* r, const double* u) noexcept;

/// Workspace; takes all memory in the constructor.
class ConeSolver {
 public:
  explicit ConeSolver(std::size_t most_contacts);
  /// @param r forces, in: warm start (need not be in the cone), out: in the cone, whatever happened on the way [uN]
  /// (3m)
  /// @rt bounded by iterations * m^2 and a factorisation (m^3), with Newton's method also by its own factorisations and
  /// `interior` more, no allocation
  ConeOutcome solve(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept;
  /// W r + q of the forces returned last. (3m)
  const double* motion() const noexcept { return u_.data(); }

 private:
  struct Misfit {
    double relative = 0, motion = 0;
  };
  static bool reached(const ConeSettings& settings, const Misfit& left) noexcept;
  Misfit misfit(const ConeProblem& problem, const double* r) const noexcept;
  void sweep(const ConeProblem& problem, double* r, bool exact) noexcept;
  int thesis(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept;
  /// Newton's steps from r as long as they are worth it; what they cost.
  int newton(const ConeProblem& problem, const ConeSettings& settings, double* r, int most) noexcept;
  int standard(const ConeProblem& problem, const ConeSettings& settings, double* r) noexcept;

  std::size_t most_ = 0;
  std::vector<LocalCone> contact_;         // one each                                     (m)
  std::vector<double> u_;                  // W r + q, kept up while r moves               (3m)
  std::vector<double> before_, u_before_;  // r and u before a sweep                       (3m)
  std::vector<double> way_, u_way_;        // p and W p of the conjugate directions        (3m)
  std::vector<double> best_;               // the r with the least residual               (3m)
  std::vector<double> swept_;              // the r that sweeps ended with                 (3m)
  std::vector<std::size_t> taken_;         // contacts that the splitting is about         (m)
  ConeSplitting splitting_;
  ConeInterior interior_;
  ConeNewton newton_;
};

/// A contact problem with its memory, to be kept in a file for the regression set.
struct StoredConeProblem {
  std::vector<double> w, q, mu, warm;  ///< w dense (3m x 3m)
  ConeProblem view() const;
};
/// Text, exact (hexadecimal floating point). Never on a real-time path.
Result<StoredConeProblem> parse_cone_problem(const std::string& text);
std::string print_cone_problem(const ConeProblem& problem, const double* warm);

}  // namespace ligature::contact
