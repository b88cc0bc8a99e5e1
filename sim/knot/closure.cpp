#include "sim/knot/closure.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace ligature::knot {

namespace {

constexpr std::size_t kMostTurned = 200;  // passes of a walk of which every start is tried
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

// Smallest of all rotations of a cyclic word, by its start.
std::string smallest_walk(const std::vector<Pass>& passes, const std::vector<std::int8_t>& sign) {
  const std::size_t n = passes.size();
  const std::size_t starts = n <= kMostTurned ? n : 1;
  std::string best;
  std::vector<std::size_t> number(sign.size());
  for (std::size_t start = 0; start < starts; ++start) {
    std::string word;
    std::fill(number.begin(), number.end(), sign.size());
    std::size_t met = 0;
    for (std::size_t k = 0; k < n; ++k) {
      const Pass& p = passes[(start + k) % n];
      if (number[p.crossing] == sign.size()) number[p.crossing] = met++;
      word += (p.over ? 'o' : 'u') + std::to_string(number[p.crossing]) + (sign[p.crossing] > 0 ? '+' : '-');
    }
    if (best.empty() || word < best) best = std::move(word);
  }
  return best;
}

}  // namespace

std::string key(const Diagram& diagram) {
  if (diagram.components.size() == 1) return smallest_walk(diagram.components[0], diagram.sign);
  // The first component by its own smallest walk would leave ties; links keep the walks they have.
  std::string out;
  std::vector<std::size_t> number(diagram.sign.size(), diagram.sign.size());
  std::size_t met = 0;
  for (const auto& component : diagram.components) {
    for (const Pass& p : component) {
      if (number[p.crossing] == diagram.sign.size()) number[p.crossing] = met++;
      out += (p.over ? 'o' : 'u') + std::to_string(number[p.crossing]) + (diagram.sign[p.crossing] > 0 ? '+' : '-');
    }
    out += '|';
  }
  return out;
}

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
  for (std::size_t k = 0; k < directions && (k < kFew || crossings < kEnoughCrossings); ++k) {
    Result<Projection> seen = simplified_diagram(closed_towards(strands, direction(k)), 3, kBrief);
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
