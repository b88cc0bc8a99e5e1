#include "sim/knot/names/determinant.hpp"

#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

namespace ligature::knot {
namespace {

__extension__ using Wide = __int128;

bool fits(Wide a) {
  return a >= std::numeric_limits<std::int64_t>::min() && a <= std::numeric_limits<std::int64_t>::max();
}

/// |det| of a square matrix. (n x n)
std::optional<std::int64_t> bareiss(std::vector<std::vector<std::int64_t>> a) {
  const std::size_t n = a.size();
  std::int64_t before = 1;
  for (std::size_t k = 0; k < n; ++k) {
    std::size_t row = k;
    while (row < n && a[row][k] == 0) ++row;
    if (row == n) return 0;
    std::swap(a[row], a[k]);
    for (std::size_t i = k + 1; i < n; ++i)
      for (std::size_t j = k + 1; j < n; ++j) {
        const Wide value = (static_cast<Wide>(a[k][k]) * a[i][j] - static_cast<Wide>(a[i][k]) * a[k][j]) / before;
        if (!fits(value)) return std::nullopt;
        a[i][j] = static_cast<std::int64_t>(value);
      }
    before = a[k][k];
  }
  return before < 0 ? -before : before;
}

}  // namespace

std::optional<std::int64_t> determinant(const Diagram& diagram) {
  const std::size_t n = diagram.sign.size();
  std::size_t arcs = 0;
  std::vector<std::size_t> above(n), before(n), behind(n);
  for (const auto& component : diagram.components) {
    std::size_t unders = 0;
    for (const Pass& pass : component) unders += pass.over ? 0 : 1;
    const std::size_t count = unders == 0 ? 1 : unders;
    std::size_t arc = 0;
    for (const Pass& pass : component) {
      if (pass.over) {
        above[pass.crossing] = arcs + arc;
      } else {
        before[pass.crossing] = arcs + arc;
        arc = (arc + 1) % count;
        behind[pass.crossing] = arcs + arc;
      }
    }
    arcs += count;
  }
  if (arcs == 0) return std::nullopt;
  // More arcs than crossings: some component only goes over or crosses nothing, and can be lifted away.
  if (arcs > n + 1) return 0;
  if (arcs == n + 1) return n == 0 ? 1 : 0;
  std::vector<std::vector<std::int64_t>> a(n - 1, std::vector<std::int64_t>(n - 1, 0));
  for (std::size_t c = 0; c + 1 < n; ++c) {
    const auto add = [&](std::size_t arc, std::int64_t value) {
      if (arc + 1 < n) a[c][arc] += value;
    };
    add(above[c], 2);
    add(before[c], -1);
    add(behind[c], -1);
  }
  return bareiss(std::move(a));
}

std::optional<std::int64_t> determinant(const Polynomial& homfly) {
  // Exponents of l are all even, or all odd (a factor i that the absolute value drops). Negative powers of -2 come
  // together to an integer: sum over the lowest power.
  if (homfly.terms().empty()) return 0;
  const std::int32_t lowest = homfly.terms().front().m;
  Wide sum = 0;
  for (const Term& t : homfly.terms()) {
    const std::int32_t power = t.m - lowest;
    if (power > 60) return std::nullopt;
    Wide term = static_cast<Wide>(t.coefficient) << power;
    if (power % 2 != 0) term = -term;
    if (((t.l % 4) + 4) % 4 >= 2) term = -term;
    sum += term;
    if (!fits(sum)) return std::nullopt;
  }
  if (sum < 0) sum = -sum;
  if (lowest >= 0) {
    if (lowest > 60) return std::nullopt;
    sum <<= lowest;
  } else {
    if (-lowest > 60) return std::nullopt;
    sum >>= -lowest;
  }
  return fits(sum) ? std::optional(static_cast<std::int64_t>(sum)) : std::nullopt;
}

}  // namespace ligature::knot
