#include "sim/knot/closure.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace ligature::knot {

namespace {

// Crossings left in all closures so far after which no more are tried, nor is one of them the last of a few.
constexpr std::size_t kEnoughCrossings = 2000, kFew = 4;

// Each curve's ends drawn out along `direction` and joined there; a later curve further out.
Curves closed_towards(const Curves& curves, Vec3 direction) {
  Curves out = curves;
  double far = kFar;
  for (Curve& c : out) {
    const Vec3 first = c.front(), last = c.back();
    c.push_back(last + far * direction);
    c.push_back(first + far * direction);
    far += 1.0;
  }
  return out;
}

}  // namespace

Result<std::vector<Vote>> closures(const Curves& open, const Namer& namer, std::size_t directions) {
  const Result<Curves> ready = prepared(open, false);
  if (!ready) return unexpected(ready.error());
  std::vector<Ray> rays;
  for (std::size_t k = 0; k < directions; ++k)
    for (const Curve& c : closed_towards(*ready, direction(k))) {
      rays.push_back({c[c.size() - 3], c[c.size() - 2]});
      rays.push_back({c.front(), c.back()});
    }
  const Curves strands = shorten_open(*ready, rays).curves;
  std::map<std::string, std::string> names;  // of keys
  std::map<std::string, std::pair<std::size_t, Projection>> votes;
  std::size_t answers = 0;
  Error last{};
  std::size_t crossings = 0;
  InVain in_vain;
  for (std::size_t k = 0; k < directions && (k < kFew || crossings < kEnoughCrossings); ++k) {
    Result<Projection> seen = simplified_diagram(closed_towards(strands, direction(k)), 3, kBrief, &in_vain);
    if (!seen) {
      if (seen.error().kind == Error::Kind::usage) return unexpected(seen.error());  // no direction will do
      last = seen.error();
      continue;
    }
    ++answers;
    crossings += seen->diagram.sign.size();
    auto [known, fresh] = names.try_emplace(key(seen->diagram));
    if (fresh) known->second = namer(seen->diagram);
    auto [it, first] = votes.try_emplace(known->second, 0, *seen);
    ++it->second.first;
    if (seen->diagram.sign.size() < it->second.second.diagram.sign.size()) it->second.second = std::move(*seen);
  }
  if (answers == 0) return unexpected(last.message.empty() ? Error{Error::Kind::usage, "no directions"} : last);
  std::vector<Vote> out;
  for (auto& [name, vote] : votes)
    out.push_back({name, static_cast<double>(vote.first) / static_cast<double>(answers), std::move(vote.second)});
  std::stable_sort(out.begin(), out.end(), [](const Vote& a, const Vote& b) { return a.share > b.share; });
  return out;
}

Result<Core> core(const Curve& open, const std::string& name, const Namer& namer, std::size_t directions) {
  const auto holds = [&](std::size_t begin, std::size_t end) {
    if (end - begin < 2) return false;
    const Curve part(open.begin() + static_cast<std::ptrdiff_t>(begin),
                     open.begin() + static_cast<std::ptrdiff_t>(end));
    const auto votes = closures({part}, namer, directions);
    return votes && votes->front().name == name && votes->front().share > 0.5;
  };
  const auto whole = closures({open}, namer, directions);
  if (!whole) return unexpected(whole.error());
  if (!holds(0, open.size())) return failure("most closures of the whole curve are not " + name);
  // A count that holds and one that does not (the larger), halved until they differ by one.
  const auto most = [](std::size_t good, std::size_t bad, const auto& does) {
    while (bad - good > 1) {
      const std::size_t mid = good + (bad - good) / 2;
      (does(mid) ? good : bad) = mid;
    }
    return good;
  };
  const std::size_t n = open.size();
  const std::size_t front = most(0, n, [&](std::size_t k) { return holds(k, n); });
  const std::size_t back = most(0, n, [&](std::size_t k) { return holds(0, n - k); });
  // Each end alone can lose that much; both together as large a part of it as holds.
  constexpr std::size_t kParts = 64;
  const auto cut = [&](std::size_t part) { return Core{front * part / kParts, n - back * part / kParts, 0}; };
  const std::size_t part = most(0, kParts + 1, [&](std::size_t k) {
    const Core c = cut(k);
    return c.begin < c.end && holds(c.begin, c.end);
  });
  Core out = cut(part);
  const auto length = [&](std::size_t begin, std::size_t end) {
    double sum = 0;
    for (std::size_t i = begin; i + 1 < end; ++i) sum += norm(open[i + 1] - open[i]);
    return sum;
  };
  out.length_share = length(out.begin, out.end) / length(0, open.size());
  return out;
}

}  // namespace ligature::knot
