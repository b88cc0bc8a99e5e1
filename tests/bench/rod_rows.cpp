/// One implicit step of a thread without contacts over its vertices N, its parts, and beside its linear algebra its
/// peers on the same matrix in the same run: reference LAPACK's banded Cholesky and Eigen's sparse one.
#include <dlfcn.h>
#include <stdlib.h>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numbers>
#include <string>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "sim/contact/implicit_step.hpp"
#include "sim/rod/band.hpp"
#include "sim/rod/rod.hpp"
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

/// A 10-0 nylon thread in the air, held at one end, on its way down: a state in the midst of it, and a step from there.
struct Swing {
  rod::RodModel model;
  rod::RodState state;
  std::vector<Eigen::Vector3d> x0;
  contact::Drive drive;
  contact::StepSettings settings;

  explicit Swing(std::size_t n) : state{wave(n), {}, {}, rod::Twist(wave(n), false, 0)} {
    constexpr double kRadius = 0.01, kDensity = 1.14e-3, kYoung = 2e9;  // mm, g/mm^3, uN/mm^2
    const double area = std::numbers::pi * kRadius * kRadius;
    const double mass = kDensity * area * kSegment;
    model.radius = kRadius;
    model.stretch_stiffness = kYoung * area;
    model.bend_stiffness = kYoung * area * kRadius * kRadius / 4;
    model.rest_length = kSegment;
    model.mass.assign(n, mass);
    model.weight_mass = model.mass;
    model.drag.assign(n, mass / 0.05);  // what moves is half as fast after 35 ms
    state.v.assign(n, Eigen::Vector3d::Zero());
    state.ease.assign(n, 0.0);
    x0 = state.x;
    drive.load.assign(n, Eigen::Vector3d(0, 0, -9810 * mass));
    drive.held.push_back({0, state.x[0]});
    settings.iterations = 1;
    // What the peers are compared with is one linearisation of the step; the scene comes to its state by full ones.
    contact::ThreadSystem system(n, 0, state.twist);
    contact::ImplicitStep solver(n, state.twist);
    contact::StepSettings full = settings;
    full.iterations = 20;
    for (int step = 0; step < 20; ++step) {
      x0 = state.x;
      solver.solve(system, {&model, &x0, &state, &drive}, full);
      for (std::size_t i = 0; i < n; ++i) state.v[i] = (state.x[i] - x0[i]) / settings.dt;
    }
    x0 = state.x;
  }

  /// Forces, and their derivatives where band is not null. gradient: (3 n)
  void elastic(rod::Hessian kind, Vector& gradient, BlockBand<3>* band) const {
    rod::add_elastic<3>(model, state.x, state.twist, kind, 1.0, nullptr, gradient.data(), band);
  }
  /// The band that the step factors.
  void assemble(rod::Hessian kind, BlockBand<3>& band, Vector& gradient) const {
    band.restart(x0.size(), false);
    for (std::size_t i = 0; i < x0.size(); ++i)
      band.add(i, (model.mass[i] / settings.dt + model.drag[i]) / settings.dt * Eigen::Matrix3d::Identity());
    elastic(kind, gradient, &band);
    for (std::size_t c = 0; c < 3; ++c) band.prescribe(c, 0.0, nullptr);
  }

 private:
  static constexpr double kSegment = 0.1;  // mm
  static std::vector<Eigen::Vector3d> wave(std::size_t n) {
    std::vector<Eigen::Vector3d> x(n, Eigen::Vector3d::Zero());
    for (std::size_t i = 1; i < n; ++i) {
      const double angle = 0.3 * std::sin(0.03 * static_cast<double>(i));
      x[i] = x[i - 1] + kSegment * Eigen::Vector3d(std::cos(angle), std::sin(angle), 0);
    }
    return x;
  }
};

/// The matrix as its peers want it.
struct Copies {
  Vector lapack;  ///< lower band, column by column: (9 x 3 vertices)
  Eigen::SparseMatrix<double> sparse;

  explicit Copies(const BlockBand<3>& band) : lapack(3 * band.vertices() * kLine) {
    // Columns 17 apart share no row: a product with all of them at once shows each.
    constexpr std::size_t kApart = 2 * kHalf + 1;
    const std::size_t size = 3 * band.vertices();
    Vector ones(size), product(size);
    std::vector<Eigen::Triplet<double>> entries;
    for (std::size_t first = 0; first < std::min(kApart, size); ++first) {
      std::fill(ones.begin(), ones.end(), 0.0);
      for (std::size_t c = first; c < size; c += kApart) ones[c] = 1;
      band.multiply(ones.data(), product.data());
      for (std::size_t c = first; c < size; c += kApart)
        for (std::size_t r = c; r < std::min(c + kLine, size); ++r) {
          lapack[c * kLine + r - c] = product[r];
          entries.emplace_back(static_cast<int>(r), static_cast<int>(c), product[r]);
        }
    }
    sparse.resize(static_cast<Eigen::Index>(size), static_cast<Eigen::Index>(size));
    sparse.setFromTriplets(entries.begin(), entries.end());
  }
};

/// Rounds of `function` after `prepare`, which is not measured; the row has the time that passed.
/// @return median of the processor time that this thread spent [us]: others on the machine do not lengthen it
template <class Prepare, class Function>
double time(Table& table, const std::string& name, int rounds, Prepare&& prepare, Function&& function) {
  auto passed = std::make_unique<watchdog::Histogram>(), spent = std::make_unique<watchdog::Histogram>(),
       clocks = std::make_unique<watchdog::Histogram>();
  for (int i = -rounds / 10; i < rounds; ++i) {
    prepare();
    const std::int64_t spent_before = rt::processor_now_ns(), clock = rt::processor_now_ns();
    const std::int64_t start = rt::monotonic_now_ns();
    function();
    const std::int64_t end = rt::monotonic_now_ns();
    const std::int64_t spent_after = rt::processor_now_ns();
    if (i < 0) continue;
    passed->record(end - start);
    spent->record(spent_after - clock);
    clocks->record(clock - spent_before);
  }
  table.add(name, *passed);
  return static_cast<double>(spent->percentile_ns(0.5) - clocks->percentile_ns(0.5)) * 1e-3;
}

/// The file that a function really comes from, past all links.
std::string file_of(const void* function) {
  Dl_info info{};
  if (dladdr(function, &info) == 0 || info.dli_fname == nullptr) return "(unknown)";
  const std::unique_ptr<char, decltype(&free)> path(realpath(info.dli_fname, nullptr), &free);
  return path ? path.get() : info.dli_fname;
}

std::string text(const char* format, auto... values) {
  char line[300];
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
  table.remark("ratios and times per vertex: medians of the processor time that the thread spent");

  double smallest_per_vertex = 0, largest_per_vertex = 0;
  for (const std::size_t n : {100u, 300u, 600u, 3000u, 30000u}) {
    const std::string at = "N = " + std::to_string(n) + ": ";
    const int rounds = n <= 3000 ? 500 : 60;
    const Swing swing(n);
    BlockBand<3> assembled(n), band(n);
    Vector gradient(3 * n);
    swing.assemble(rod::Hessian::exact, assembled, gradient);
    band = assembled;
    if (band.factor() != 0) {
      table.remark(at + "the exact Hessian is not positive definite here; the positive one stands for it");
      swing.assemble(rod::Hessian::positive, assembled, gradient);
    }

    // The step, and its parts alone.
    rod::RodState state = swing.state;
    contact::ThreadSystem system(n, 0, state.twist);
    contact::ImplicitStep solver(n, state.twist);
    contact::StepOutcome outcome;
    const double step = time(
        table, at + "whole step", rounds, [&] { state.x = swing.state.x; },
        [&] {
          outcome = solver.solve(system, {&swing.model, &swing.x0, &state, &swing.drive}, swing.settings);
        });
    const double forces = time(
        table, at + "  forces", rounds, [&] {}, [&] { swing.elastic(rod::Hessian::exact, gradient, nullptr); });
    const double jacobian = time(
        table, at + "  forces and Jacobian", rounds, [&] {},
        [&] { swing.assemble(rod::Hessian::exact, band, gradient); });
    int raised = 0;
    const double factor = time(
        table, at + "  factor", rounds, [&] { band = assembled; }, [&] { raised = band.factor(); });
    Vector b(3 * n), x, ab;
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = std::sin(static_cast<double>(i));
    const double solve = time(
        table, at + "  solve", rounds, [&] { x = b; }, [&] { band.solve(x.data()); });
    const Vector ours = x;
    const auto solve_many = [&](std::size_t count) {
      Vector many(3 * n * count, 1.0);
      const std::string name = at + "  solve " + std::to_string(count) + " right-hand sides";
      return time(
                 table, name, std::max(rounds / 10, 20), [] {}, [&] { band.solve(many.data(), count); }) /
             static_cast<double>(count);
    };
    const double one_of_16 = solve_many(16), one_of_240 = n <= 3000 ? solve_many(240) : 0;

    // The same matrix, the peers.
    const Copies copies(assembled);
    const int size = static_cast<int>(3 * n), one = 1;
    int info = 0;
    const double dpbsv = time(
        table, at + "LAPACK dpbsv", rounds, [&] { ab = copies.lapack, x = b; },
        [&] { dpbsv_("L", &size, &kHalf, &one, ab.data(), &kLine, x.data(), &size, &info, 1); });
    const double apart = largest_difference(ours, x);
    const double dpbtrs = time(
        table, at + "LAPACK dpbtrs", rounds, [&] { x = b; },
        [&] { dpbtrs_("L", &size, &kHalf, &one, ab.data(), &kLine, x.data(), &size, &info, 1); });
    Eigen::SimplicialLDLT<Eigen::SparseMatrix<double>> ldlt;
    ldlt.analyzePattern(copies.sparse);
    const double eigen = time(
        table, at + "Eigen SimplicialLDLT factorize", rounds, [] {}, [&] { ldlt.factorize(copies.sparse); });
    Eigen::VectorXd y;
    const double eigen_solve = time(
        table, at + "Eigen SimplicialLDLT solve", rounds, [] {},
        [&] { y = ldlt.solve(Eigen::Map<const Eigen::VectorXd>(b.data(), size)); });

    const double per_vertex = 1e3 / static_cast<double>(n);
    table.remark(
        text("ns per vertex: step %.0f, forces %.1f, with Jacobian %.1f, factor %.1f, solve %.1f, one of 16 %.1f",
             step * per_vertex, forces * per_vertex, jacobian * per_vertex, factor * per_vertex, solve * per_vertex,
             one_of_16 * per_vertex));
    table.remark(text("step / dpbsv %.2f; dpbsv / (factor + solve) %.1f; Eigen / (factor + solve) %.1f", step / dpbsv,
                      dpbsv / (factor + solve), (eigen + eigen_solve) / (factor + solve)));
    table.remark(text("dpbtrs / one of 16 right-hand sides %.1f", dpbtrs / one_of_16) +
                 (one_of_240 > 0 ? text(", of 240 %.1f", dpbtrs / one_of_240) : ""));
    if (outcome.iterations != 1 || !outcome.finite)
      table.remark(text("the step did not do what it is measured for: %d iterations", outcome.iterations));
    // Both are right to the condition of the matrix, no further.
    if (raised != 0 || info != 0 || !(apart < 1e-6))
      table.remark(text("WRONG: %d pivots raised, LAPACK's info %d, answers %.1e apart", raised, info, apart));
    if (smallest_per_vertex == 0 || step * per_vertex < smallest_per_vertex) smallest_per_vertex = step * per_vertex;
    largest_per_vertex = std::max(largest_per_vertex, step * per_vertex);
  }
  table.remark(text("time of a step per vertex, largest over smallest of all N: %.2f",
                    largest_per_vertex / smallest_per_vertex));
}

}  // namespace ligature::bench
