#include "sim/knot/names/parabolic.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace ligature::knot {
namespace {

constexpr std::size_t kMostFree = 4;
constexpr auto kNone = std::numeric_limits<std::size_t>::max();

struct Vector {
  int x = 0, y = 0;
};

/// Arithmetic modulo p on numbers 0 .. p-1.
struct Field {
  int p;
  int reduce(int a) const { return ((a % p) + p) % p; }
  int cross(Vector a, Vector b) const { return reduce(a.x * b.y - a.y * b.x); }
  /// T_u^k v
  Vector transvect(Vector u, int k, Vector v) const {
    const int t = reduce(k * cross(u, v));
    return {reduce(v.x + t * u.x), reduce(v.y + t * u.y)};
  }
  bool same_up_to_sign(Vector a, Vector b) const {
    return (a.x == b.x && a.y == b.y) || (reduce(a.x + b.x) == 0 && reduce(a.y + b.y) == 0);
  }
};

/// Where a strand goes under: its colour before and behind, and that of the strand above.
struct Under {
  std::size_t before = 0, behind = 0, above = 0;
  int sign = 0;
};

/// One step of working out colours: a free choice, a consequence, or a condition to check.
struct Step {
  enum class Kind { choose, forward, backward, check } kind;
  std::size_t arc = 0;    ///< choose
  std::size_t under = 0;  ///< the others
};

std::vector<Step> consequences(const std::vector<Under>& unders, std::vector<bool>& known, std::vector<bool>& used) {
  std::vector<Step> out;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = 0; i < unders.size(); ++i) {
      const Under& u = unders[i];
      if (used[i] || !known[u.above] || (!known[u.before] && !known[u.behind])) continue;
      const auto kind = known[u.before] && known[u.behind] ? Step::Kind::check
                        : known[u.before]                  ? Step::Kind::forward
                                                           : Step::Kind::backward;
      out.push_back({kind, 0, i});
      known[u.before] = known[u.behind] = used[i] = more = true;
    }
  }
  return out;
}

struct Search {
  Field field;
  const std::vector<Under>& unders;
  const std::vector<Step>& steps;
  std::vector<Vector> colour;
  LongitudeCount count;

  void go(std::size_t at) {
    for (; at < steps.size(); ++at) {
      const Step& step = steps[at];
      if (step.kind == Step::Kind::choose) {
        // One of v and -v each: upper half plane.
        for (int y = 0; y <= field.p / 2; ++y)
          for (int x = 0; x < field.p; ++x) {
            if (y == 0 && (x == 0 || x > field.p / 2)) continue;
            colour[step.arc] = {x, y};
            go(at + 1);
          }
        return;
      }
      const Under& u = unders[step.under];
      const Vector behind = field.transvect(colour[u.above], -u.sign, colour[u.before]);
      if (step.kind == Step::Kind::forward)
        colour[u.behind] = behind;
      else if (step.kind == Step::Kind::backward)
        colour[u.before] = field.transvect(colour[u.above], u.sign, colour[u.behind]);
      else if (!field.same_up_to_sign(behind, colour[u.behind]))
        return;
    }
    add_longitude();
  }

  void add_longitude() {
    // Columns of the product h1^e1 h2^e2 ..., applied from the right: the last one first.
    Vector first{1, 0}, second{0, 1};
    int writhe = 0;
    for (std::size_t i = unders.size(); i-- > 0;) {
      first = field.transvect(colour[unders[i].above], unders[i].sign, first);
      second = field.transvect(colour[unders[i].above], unders[i].sign, second);
      writhe += unders[i].sign;
    }
    // It commutes with the first meridian: first = (s, 0), second = (s c, s).
    const bool positive = first.x == 1;
    const int c = field.reduce((positive ? second.x : -second.x) - writhe);
    ++count[static_cast<std::size_t>(positive ? c : field.p + c)];
  }
};

}  // namespace

std::optional<LongitudeCount> longitude_count(const Diagram& knot, int prime) {
  if (knot.components.size() != 1 || prime < 3 || prime > 31) return std::nullopt;
  const auto& passes = knot.components[0];
  std::size_t arcs = 0;
  for (const Pass& pass : passes) arcs += pass.over ? 0 : 1;
  if (arcs == 0) {
    LongitudeCount trivial(static_cast<std::size_t>(2 * prime), 0);
    trivial[0] = 1;
    return trivial;
  }
  std::vector<std::size_t> above(knot.sign.size(), kNone);
  std::size_t arc = 0;
  for (const Pass& pass : passes) {
    if (pass.over)
      above[pass.crossing] = arc;
    else
      arc = (arc + 1) % arcs;
  }
  std::vector<Under> unders;
  arc = 0;
  for (const Pass& pass : passes) {
    if (pass.over) continue;
    unders.push_back({arc, (arc + 1) % arcs, above[pass.crossing], knot.sign[pass.crossing]});
    arc = (arc + 1) % arcs;
  }

  // Colours to choose freely, each the one that settles most others.
  std::vector<bool> known(arcs, false), used(unders.size(), false);
  known[0] = true;
  std::vector<Step> steps = consequences(unders, known, used);
  for (std::size_t free = 0;; ++free) {
    std::size_t best = kNone, most = 0;
    for (std::size_t a = 0; a < arcs; ++a) {
      if (known[a]) continue;
      auto known_then = known;
      auto used_then = used;
      known_then[a] = true;
      const std::size_t settled = consequences(unders, known_then, used_then).size() + 1;
      if (settled > most) best = a, most = settled;
    }
    if (best == kNone) break;
    if (free == kMostFree) return std::nullopt;
    known[best] = true;
    steps.push_back({Step::Kind::choose, best, 0});
    const auto more = consequences(unders, known, used);
    steps.insert(steps.end(), more.begin(), more.end());
  }

  Search search{
      {prime}, unders, steps, std::vector<Vector>(arcs), LongitudeCount(static_cast<std::size_t>(2 * prime), 0)};
  search.colour[0] = {1, 0};
  search.go(0);
  return search.count;
}

LongitudeCount sum_count(const LongitudeCount& a, const LongitudeCount& b) {
  const std::size_t p = a.size() / 2;
  LongitudeCount out(2 * p, 0);
  for (std::size_t i = 0; i < 2 * p; ++i)
    for (std::size_t j = 0; j < 2 * p; ++j) out[((i / p) ^ (j / p)) * p + (i % p + j % p) % p] += a[i] * b[j];
  return out;
}

}  // namespace ligature::knot
