#include "sim/knot/invariants.hpp"

#include <algorithm>
#include <utility>

namespace ligature::knot {

namespace {

using Word = std::uint64_t;
__extension__ using Wide = unsigned __int128;

constexpr Word kPrime = (Word{1} << 61) - 1;
// A minor has at most 2^n terms in its state sum [Kauffman 1983], each of one unit: |coefficients| below kPrime / 2.
constexpr std::size_t kMostCrossings = 59;

Word add(Word a, Word b) {
  const Word s = a + b;
  return s >= kPrime ? s - kPrime : s;
}
Word subtract(Word a, Word b) {
  return a >= b ? a - b : a + kPrime - b;
}
Word multiply(Word a, Word b) {
  return static_cast<Word>(static_cast<Wide>(a) * b % kPrime);
}
Word power(Word a, Word e) {
  Word out = 1;
  for (; e != 0; e >>= 1, a = multiply(a, a))
    if (e & 1) out = multiply(out, a);
  return out;
}
Word inverse(Word a) {
  return power(a, kPrime - 2);
}
std::int64_t balanced(Word a) {
  return a > kPrime / 2 ? -static_cast<std::int64_t>(kPrime - a) : static_cast<std::int64_t>(a);
}

struct Row {
  std::size_t over, in, out;
  int sign;
};

// Arcs run from undercrossing to undercrossing. Empty: the link is split, or a round circle.
bool rows_of(const Diagram& diagram, std::vector<Row>& rows) {
  const std::size_t n = diagram.sign.size();
  rows.assign(n, {});
  std::size_t arcs = 0;
  for (const auto& component : diagram.components) {
    std::size_t unders = 0;
    for (const Pass& p : component) unders += p.over ? 0 : 1;
    if (unders == 0) return false;
    std::size_t at = arcs;  // the arc that the walk begins on is also its last one
    std::size_t met = 0;
    for (const Pass& p : component) {
      Row& row = rows[p.crossing];
      if (p.over) {
        row.over = at;
        continue;
      }
      row.in = at;
      at = ++met == unders ? arcs : at + 1;
      row.out = at;
    }
    arcs += unders;
  }
  for (std::size_t x = 0; x < n; ++x) rows[x].sign = diagram.sign[x];
  return true;
}

Word minor_at(const std::vector<Row>& rows, Word t) {
  const std::size_t n = rows.size() - 1;
  std::vector<Word> m(n * n, 0);
  const auto entry = [&](std::size_t row, std::size_t column, Word value) {
    if (column < n) m[row * n + column] = add(m[row * n + column], value);
  };
  for (std::size_t r = 0; r < n; ++r) {
    entry(r, rows[r].over, subtract(1, t));
    entry(r, rows[r].sign > 0 ? rows[r].in : rows[r].out, t);
    entry(r, rows[r].sign > 0 ? rows[r].out : rows[r].in, kPrime - 1);
  }
  Word det = 1;
  for (std::size_t c = 0; c < n; ++c) {
    std::size_t p = c;
    while (p < n && m[p * n + c] == 0) ++p;
    if (p == n) return 0;
    if (p != c) {
      for (std::size_t k = c; k < n; ++k) std::swap(m[p * n + k], m[c * n + k]);
      det = subtract(0, det);
    }
    det = multiply(det, m[c * n + c]);
    const Word i = inverse(m[c * n + c]);
    for (std::size_t r = c + 1; r < n; ++r) {
      if (m[r * n + c] == 0) continue;
      const Word f = multiply(m[r * n + c], i);
      for (std::size_t k = c; k < n; ++k) m[r * n + k] = subtract(m[r * n + k], multiply(f, m[c * n + k]));
    }
  }
  return det;
}

}  // namespace

std::optional<std::vector<std::int64_t>> alexander_polynomial(const Diagram& diagram) {
  const std::size_t n = diagram.sign.size();
  if (n > kMostCrossings) return std::nullopt;
  std::vector<Row> rows;
  if (n == 0 || !rows_of(diagram, rows))
    return diagram.components.size() == 1 ? std::vector<std::int64_t>{1} : std::vector<std::int64_t>{};
  // Values at t = 1..n, then Newton's interpolation: degree below n.
  std::vector<Word> divided(n);
  for (std::size_t i = 0; i < n; ++i) divided[i] = minor_at(rows, i + 1);
  for (std::size_t k = 1; k < n; ++k)
    for (std::size_t i = n - 1; i >= k; --i)
      divided[i] = multiply(subtract(divided[i], divided[i - 1]), inverse(static_cast<Word>(k)));
  std::vector<Word> c(n, 0);
  for (std::size_t i = n; i-- > 0;) {  // c = c (t - (i + 1)) + divided[i]
    for (std::size_t k = n - 1; k > 0; --k) c[k] = subtract(c[k - 1], multiply(c[k], i + 1));
    c[0] = subtract(divided[i], multiply(c[0], i + 1));
  }
  std::vector<std::int64_t> out;
  for (const Word x : c) out.push_back(balanced(x));
  while (!out.empty() && out.back() == 0) out.pop_back();
  out.erase(out.begin(), std::find_if(out.begin(), out.end(), [](std::int64_t x) { return x != 0; }));
  std::int64_t at_one = 0;
  for (const std::int64_t x : out) at_one += x;
  if (diagram.components.size() == 1 ? at_one < 0 : !out.empty() && out.back() < 0)
    for (std::int64_t& x : out) x = -x;
  return out;
}

std::optional<std::int64_t> determinant(const Diagram& diagram) {
  const std::size_t n = diagram.sign.size();
  if (n > kMostCrossings) return std::nullopt;
  std::vector<Row> rows;
  if (n == 0 || !rows_of(diagram, rows)) return diagram.components.size() == 1 ? 1 : 0;
  const std::int64_t d = balanced(minor_at(rows, kPrime - 1));
  return d < 0 ? -d : d;
}

}  // namespace ligature::knot
