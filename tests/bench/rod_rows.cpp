/// The rod's linear algebra beside its peers on the same matrix in the same run: reference LAPACK's banded Cholesky and
/// Eigen's sparse one. The matrix is what an implicit step of 5 ms assembles for a 10-0 nylon thread lying as a helix.
#include <dlfcn.h>
#include <stdlib.h>

#include <Eigen/SparseCholesky>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "sim/rod/band.hpp"
#include "sim/rod/energy.hpp"
#include "tests/bench/table.hpp"

extern "C" {
// LAPACK 3.11; the last argument is the length of a Fortran string.
void dpbsv_(const char* uplo, const int* n, const int* kd, const int* nrhs, double* ab, const int* ldab, double* b,
            const int* ldb, int* info, std::size_t);
void dpbtrf_(const char* uplo, const int* n, const int* kd, double* ab, const int* ldab, int* info, std::size_t);
void dpbtrs_(const char* uplo, const int* n, const int* kd, const int* nrhs, const double* ab, const int* ldab,
             double* b, const int* ldb, int* info, std::size_t);
void dsyr_(const char* uplo, const int* n, const double* alpha, const double* x, const int* incx, double* a,
           const int* lda, std::size_t);
void ilaver_(int* major, int* minor, int* patch);
}

namespace ligature::bench {
namespace {

using rod::BlockBand;
using Vector = std::vector<double>;

constexpr int kHalf = 8;  // scalar half bandwidth of 3x3 blocks, two off-diagonal ones
constexpr int kLine = kHalf + 1;

/// One matrix, as each of the three wants it.
struct Matrices {
  BlockBand<3> band;
  Vector lapack;  ///< lower band, column by column: (9 x 3 vertices)
  Eigen::SparseMatrix<double> sparse;
};

void add(Matrices& m, std::vector<Eigen::Triplet<double>>& entries, std::size_t i, std::size_t j,
         const Eigen::Matrix3d& block) {
  if (i == j)
    m.band.add(i, block);
  else
    m.band.add(i, j, block);
  for (std::size_t c = 0; c < 3; ++c)
    for (std::size_t r = i == j ? c : 0; r < 3; ++r) {
      const std::size_t row = 3 * i + r, column = 3 * j + c;
      const double value = block(static_cast<int>(r), static_cast<int>(c));
      m.lapack[column * kLine + row - column] += value;
      entries.emplace_back(static_cast<int>(row), static_cast<int>(column), value);
    }
}

Matrices helix(std::size_t n) {
  constexpr double kSegment = 0.1, kRadius = 4, kPitch = 3;     // mm
  constexpr double kEA = 6.3e5, kEI = 15.7, kInertia = 2.3e-3;  // uN, uN mm^2, uN/mm: mass of a vertex / step^2
  Matrices m{BlockBand<3>(n), Vector(3 * n * kLine), Eigen::SparseMatrix<double>(3 * n, 3 * n)};
  std::vector<Eigen::Triplet<double>> entries;
  const double per_turn = std::hypot(2 * std::numbers::pi * kRadius, kPitch);
  const auto point = [&](std::size_t i) {
    const double turns = kSegment * static_cast<double>(i) / per_turn, angle = 2 * std::numbers::pi * turns;
    return Eigen::Vector3d(kRadius * std::cos(angle), kRadius * std::sin(angle), kPitch * turns);
  };
  for (std::size_t i = 0; i < n; ++i) {
    add(m, entries, i, i, kInertia * Eigen::Matrix3d::Identity());
    if (i + 1 == n) continue;
    const Eigen::Vector3d e = point(i + 1) - point(i);
    const Eigen::Matrix3d S = rod::stretch(e, kSegment, kEA, rod::Hessian::positive).hessian;
    add(m, entries, i, i, S);
    add(m, entries, i + 1, i, -S);
    add(m, entries, i + 1, i + 1, S);
    if (i + 2 == n) continue;
    const Eigen::Vector3d f = point(i + 2) - point(i + 1);
    const rod::VertexTerm b = rod::bend_straight(e, f, kSegment, kEI, rod::Hessian::positive);
    const Eigen::Matrix3d &ee = b.hessian_ee, &ef = b.hessian_ef, &ff = b.hessian_ff;
    add(m, entries, i, i, ee);
    add(m, entries, i + 1, i, ef.transpose() - ee);
    add(m, entries, i + 2, i, -ef.transpose());
    add(m, entries, i + 1, i + 1, ee - ef - ef.transpose() + ff);
    add(m, entries, i + 2, i + 1, ef.transpose() - ff);
    add(m, entries, i + 2, i + 2, ff);
  }
  m.sparse.setFromTriplets(entries.begin(), entries.end());
  return m;
}

/// Rounds of `function` after `prepare`, which is not measured. @return the median [us]
template <class Prepare, class Function>
double time(Table& table, const std::string& name, int rounds, Prepare&& prepare, Function&& function) {
  auto histogram = std::make_unique<watchdog::Histogram>();
  for (int i = -rounds / 10; i < rounds; ++i) {
    prepare();
    const std::int64_t start = rt::monotonic_now_ns();
    function();
    const std::int64_t spent = rt::monotonic_now_ns() - start;
    if (i >= 0) histogram->record(spent);
  }
  table.add(name, *histogram);
  return static_cast<double>(histogram->percentile_ns(0.5)) * 1e-3;
}

/// The file that a function really comes from, past all links.
std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "(unknown)";
  const std::unique_ptr<char, decltype(&free)> path(realpath(info.dli_fname, nullptr), &free);
  return path ? path.get() : info.dli_fname;
}

std::string text(const char* format, auto... values) {
  char line[200];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

double largest_difference(const Vector& a, const Vector& b) {
  double largest = 0, scale = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i] - b[i]));
    scale = std::max(scale, std::abs(b[i]));
  }
  return largest / scale;
}

}  // namespace

void measure_rod(Table& table) {
  int major = 0, minor = 0, patch = 0;
  ilaver_(&major, &minor, &patch);
  table.remark(text("LAPACK %d.%d.%d: %s", major, minor, patch, file_of(reinterpret_cast<void*>(&dpbsv_)).c_str()));
  table.remark("BLAS: " + file_of(reinterpret_cast<void*>(&dsyr_)));

  for (const std::size_t n : {100u, 300u, 600u, 3000u, 30000u}) {
    const std::string at = "N = " + std::to_string(n) + ": ";
    const int rounds = n <= 3000 ? 500 : 60;
    const Matrices m = helix(n);
    const int size = static_cast<int>(3 * n);
    Vector b(3 * n), x, ab;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i));
    const Vector reference_b = b;

    BlockBand<3> band(n);
    int raised = 0;
    const double factor = time(
        table, at + "factor", rounds, [&] { band = m.band; }, [&] { raised = band.factor(); });
    const double solve = time(
        table, at + "solve", rounds, [&] { x = b; }, [&] { band.solve(x.data()); });
    const Vector ours = x;
    constexpr std::size_t kMany = 64;
    Vector many(3 * n * kMany, 1.0);
    const double solve_many = time(
                                  table, at + "solve 64 right-hand sides", std::max(rounds / 10, 10), [&] {},
                                  [&] { band.solve(many.data(), kMany); }) /
                              kMany;

    int info = 0;
    const int one = 1;
    const double dpbsv = time(
        table, at + "  LAPACK dpbsv", rounds, [&] { ab = m.lapack, x = b; },
        [&] { dpbsv_("L", &size, &kHalf, &one, ab.data(), &kLine, x.data(), &size, &info, 1); });
    const double apart = largest_difference(ours, x);
    const double dpbtrs = time(
        table, at + "  LAPACK dpbtrs", rounds, [&] { x = b; },
        [&] { dpbtrs_("L", &size, &kHalf, &one, ab.data(), &kLine, x.data(), &size, &info, 1); });

    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> ldlt;
    ldlt.analyzePattern(m.sparse);
    const double eigen = time(
        table, at + "  Eigen SimplicialLDLT factorize", rounds, [] {}, [&] { ldlt.factorize(m.sparse); });
    Eigen::VectorXd y;
    const double eigen_solve = time(
        table, at + "  Eigen SimplicialLDLT solve", rounds, [] {},
        [&] { y = ldlt.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), size)); });
    const double per_vertex = 1e3 / static_cast<double>(n);
    table.remark(text("ns per vertex: factor %.1f, solve %.1f, one of 64 solves %.1f", factor * per_vertex,
                      solve * per_vertex, solve_many * per_vertex));
    table.remark(text("dpbsv / (factor + solve) %.2f; Eigen / (factor + solve) %.2f; dpbtrs / one of 64 solves %.2f",
                      dpbsv / (factor + solve), (eigen + eigen_solve) / (factor + solve), dpbtrs / solve_many));
    if (raised != 0 || info != 0 || apart > 1e-6)
      table.remark(text("WRONG: %d pivots raised, LAPACK's info %d, answers %.1e apart", raised, info, apart));
  }
}

}  // namespace ligature::bench
