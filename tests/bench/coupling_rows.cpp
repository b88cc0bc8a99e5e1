/// W = J A^-1 J^T of contacts inside a window of a long thread: two strands of it twisted together, as in a tight knot.
#include <algorithm>
#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "tests/bench/table.hpp"
#include "tests/support/coupling_case.hpp"
#include "tests/support/thesis_coupling.hpp"

namespace ligature::bench {
namespace {

using coupling_case::BandInverse;
using Eigen::Matrix3d;
using rod::BlockBand;

/// The row has the time that passed. @return median of the processor time that this thread spent [us]
template <class Prepare, class Function>
double time(Table& table, const std::string& name, int rounds, Prepare&& prepare, Function&& function) {
  auto passed = std::make_unique<watchdog::Histogram>();
  std::vector<double> spent;
  for (int i = -rounds / 10; i < rounds; ++i) {
    prepare();
    const std::int64_t start = rt::monotonic_now_ns(), before = rt::processor_now_ns();
    function();
    const std::int64_t after = rt::processor_now_ns(), end = rt::monotonic_now_ns();
    if (i < 0) continue;
    passed->record(end - start);
    spent.push_back(static_cast<double>(after - before) * 1e-3);
  }
  table.add(name, *passed);
  std::nth_element(spent.begin(), spent.begin() + static_cast<std::ptrdiff_t>(spent.size() / 2), spent.end());
  return spent[spent.size() / 2];
}

std::string text(const char* format, auto... values) {
  char line[300];
  std::snprintf(line, sizeof line, format, values...);
  return line;
}

/// Two strands of `half` edges each, `between` vertices of loop between them.
std::vector<contact::StrandContact> braid(std::size_t count, std::size_t first, std::size_t half, std::size_t between,
                                          Random& random) {
  std::vector<contact::StrandContact> all(count);
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t at = i * half / count;
    all[i].pair.edge_a = static_cast<std::uint32_t>(first + at);
    all[i].pair.edge_b = static_cast<std::uint32_t>(first + half + between + at);
    all[i].sa = random.uniform();
    all[i].sb = random.uniform();
  }
  return all;
}

}  // namespace

void measure_coupling(Table& table) {
  table.remark("ratios: medians of the processor time that the thread spent");
  for (const std::size_t n : {600u, 2400u}) {
    Random random(5);
    // A window of 100 vertices a quarter along the thread, the middle of the factorisation at its nearer end.
    constexpr std::size_t kWindow = 100;
    const std::size_t first = n / 4, last = first + kWindow - 1, middle = std::clamp(n / 2, first, last);
    const std::string at = "N = " + std::to_string(n) + ": ";
    BandInverse<3> balanced(n), inverse(n);
    Random same = random;
    coupling_case::fill<3>(balanced.band, n, false, BlockBand<3>::kBalanced, random);
    coupling_case::fill<3>(inverse.band, n, false, middle, same);
    const BlockBand<3> assembled = balanced.band, moved = inverse.band;
    const double plain = time(
        table, at + "factor", 300, [&] { balanced.band = assembled; }, [&] { balanced.band.factor(); });
    const double factor = time(
        table, at + "factor, middle in the window", 300, [&] { inverse.band = moved; }, [&] { inverse.band.factor(); });
    const auto columns = coupling_case::columns_of(assembled);
    coupling_case::ThesisCoupling thesis;
    const double thesis_factor = time(
        table, at + "thesis: elimination from both ends", 100, [] {}, [&] { thesis.factor(columns); });
    std::vector<double> b(3 * n * 180, 0.0), part(3 * kWindow * 180, 0.0);
    const auto set = [](std::vector<double>& v, std::size_t rows) {
      std::fill(v.begin(), v.end(), 0.0);
      for (std::size_t k = 0; k < 180; ++k) v[k * rows / 180 * 180 + k] = 1;
    };
    const double full = time(
        table, at + "180 right-hand sides, whole", 60, [&] { set(b, 3 * n); },
        [&] { balanced.band.solve(b.data(), 180); });
    const double window = time(
        table, at + "180 right-hand sides, window of 100", 60, [&] { set(part, 3 * kWindow); },
        [&] { inverse.band.solve_window(part.data(), 180, first, last); });
    table.remark(
        text("factor with the middle moved / balanced %.2f; whole / window %.1f", factor / plain, full / window));

    contact::Strand strand;
    strand.vertices = n;
    const contact::ThreadInverse* inverses[] = {&inverse};
    contact::Coupling coupling(contact::Coupling::kMostContacts, n, 1);
    InlineExecutor executor;
    for (const std::size_t count : {60u, 120u, 240u}) {
      const auto contacts = braid(count, first, 40, kWindow - 82, random);
      std::vector<Matrix3d> axes;
      for (std::size_t i = 0; i < count; ++i) axes.push_back(coupling_case::random_axes(random));
      const std::string name = at + std::to_string(count) + " contacts: ";
      const double ours = time(
          table, name + "W", 200, [] {},
          [&] { coupling.build(&strand, 1, inverses, contacts.data(), axes.data(), count, executor); });
      const std::size_t solved = coupling.columns_solved();
      coupling_case::ThesisCoupling::Matrix w;
      const double theirs = time(
          table, name + "W by the thesis's recursion", 60, [] {}, [&] { thesis.couple(contacts, axes, w); });
      const auto size = static_cast<Eigen::Index>(3 * count);
      using Rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
      const Eigen::Map<const Rows> all(coupling.w(), size, static_cast<Eigen::Index>(coupling.stride()));
      const double apart = (all.leftCols(size) - w).norm() / w.norm();
      const double again = time(
          table, name + "W, last 10 contacts new", 200,
          [&] { coupling.build(&strand, 1, inverses, contacts.data(), axes.data(), count - 10, executor); },
          [&] { coupling.build(&strand, 1, inverses, contacts.data(), axes.data(), count, executor, true); });
      table.remark(
          text("%.0f us of %zu columns; thesis's / ours %.2f (with its factorisation and ours %.2f); "
               "last 10 new: %.0f us; %.0e apart",
               ours, solved, theirs / ours, (theirs + thesis_factor) / (ours + factor), again, apart));
      if (!(apart < 1e-9)) table.remark("WRONG");
    }
  }
}

}  // namespace ligature::bench
