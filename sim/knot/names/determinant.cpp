#include "sim/knot/names/determinant.hpp"

#include <limits>

namespace ligature::knot {
namespace {

__extension__ using Wide = __int128;

bool fits(Wide a) {
  return a >= std::numeric_limits<std::int64_t>::min() && a <= std::numeric_limits<std::int64_t>::max();
}

}  // namespace

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
