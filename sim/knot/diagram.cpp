#include "sim/knot/diagram.hpp"

#include <algorithm>
#include <numeric>

namespace ligature::knot {

namespace {

constexpr std::uint32_t kNone = 0xffffffffu;
constexpr std::size_t kMostTurned = 200;  // passes of a walk of which every start is tried

// Where each crossing is met: component of its upper and its lower pass.
struct Meeting {
  std::uint32_t over = kNone, under = kNone;
};

std::vector<Meeting> meetings(const Diagram& diagram) {
  std::vector<Meeting> met(diagram.sign.size());
  for (std::uint32_t c = 0; c < diagram.components.size(); ++c)
    for (const Pass& pass : diagram.components[c]) (pass.over ? met[pass.crossing].over : met[pass.crossing].under) = c;
  return met;
}

std::size_t root(std::vector<std::size_t>& parent, std::size_t i) {
  while (parent[i] != i) i = parent[i] = parent[parent[i]];
  return i;
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

bool well_formed(const Diagram& diagram) {
  const std::size_t n = diagram.sign.size();
  if (n >= kNone / 4) return false;
  for (const std::int8_t s : diagram.sign)
    if (s != 1 && s != -1) return false;
  // Arc a leaves pass a; passes are numbered along the components. Ends at a crossing: out and in, over and under.
  std::vector<std::uint32_t> next, place[2];
  std::vector<Pass> passes;
  place[0].assign(n, kNone);
  place[1].assign(n, kNone);
  for (const auto& component : diagram.components) {
    const auto first = static_cast<std::uint32_t>(passes.size());
    for (const Pass& pass : component) {
      if (pass.crossing >= n) return false;
      std::uint32_t& at = place[pass.over ? 1 : 0][pass.crossing];
      if (at != kNone) return false;
      at = static_cast<std::uint32_t>(passes.size());
      passes.push_back(pass);
      next.push_back(at + 1);
    }
    if (passes.size() > first) next.back() = first;
  }
  if (passes.size() != 2 * n) return false;
  std::vector<std::uint32_t> previous(passes.size());
  for (std::uint32_t p = 0; p < passes.size(); ++p) previous[next[p]] = p;
  // Darts: 2 p runs along the arc from pass p to the next one, 2 p + 1 back. A face keeps to its left: on arriving,
  // leave by the next end clockwise from the one arrived on.
  std::vector<bool> seen(2 * passes.size(), false);
  std::size_t faces = 0;
  for (std::uint32_t start = 0; start < seen.size(); ++start) {
    if (seen[start]) continue;
    ++faces;
    for (std::uint32_t dart = start; !seen[dart];) {
      seen[dart] = true;
      const bool forward = dart % 2 == 0;
      const std::uint32_t at = forward ? next[dart / 2] : dart / 2;
      const Pass& pass = passes[at];
      const std::uint32_t other = place[pass.over ? 0 : 1][pass.crossing];
      // Counter-clockwise round a positive crossing: over out, under out, over in, under in. Seen from a strand, the
      // other one points to its left on (over, +) and (under, -).
      const bool other_left = pass.over == (diagram.sign[pass.crossing] > 0);
      // Keeping left: turn left, out along the other strand where it points left as seen from the way travelled.
      const bool out = forward ? other_left : !other_left;
      dart = out ? 2 * other : 2 * previous[other] + 1;
    }
  }
  std::size_t parts = 0;
  for (const auto& group : connected_parts(diagram)) parts += diagram.components[group.front()].empty() ? 0 : 1;
  return faces == n + 2 * parts;
}

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

int writhe(const Diagram& diagram) {
  return std::accumulate(diagram.sign.begin(), diagram.sign.end(), 0);
}

std::vector<std::vector<int>> linking_numbers(const Diagram& diagram) {
  const std::size_t n = diagram.components.size();
  std::vector<std::vector<int>> sum(n, std::vector<int>(n, 0));
  const std::vector<Meeting> met = meetings(diagram);
  for (std::size_t x = 0; x < met.size(); ++x) {
    sum[met[x].over][met[x].under] += diagram.sign[x];
    if (met[x].over != met[x].under) sum[met[x].under][met[x].over] += diagram.sign[x];
  }
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      if (i != j) sum[i][j] /= 2;
  return sum;
}

Diagram mirror(const Diagram& diagram) {
  Diagram out = diagram;
  for (auto& component : out.components)
    for (Pass& pass : component) pass.over = !pass.over;
  for (std::int8_t& s : out.sign) s = static_cast<std::int8_t>(-s);
  return out;
}

Diagram reverse(const Diagram& diagram) {
  Diagram out = diagram;
  for (auto& component : out.components) std::reverse(component.begin(), component.end());
  return out;
}

Diagram reverse(const Diagram& diagram, std::size_t component) {
  Diagram out = diagram;
  const std::vector<Meeting> met = meetings(diagram);
  for (std::size_t x = 0; x < met.size(); ++x)
    if ((met[x].over == component) != (met[x].under == component)) out.sign[x] = static_cast<std::int8_t>(-out.sign[x]);
  std::reverse(out.components[component].begin(), out.components[component].end());
  return out;
}

std::vector<std::vector<std::size_t>> connected_parts(const Diagram& diagram) {
  const std::size_t n = diagram.components.size();
  std::vector<std::size_t> parent(n);
  std::iota(parent.begin(), parent.end(), std::size_t{0});
  for (const Meeting& m : meetings(diagram)) {
    if (m.over == kNone || m.under == kNone) continue;
    const std::size_t a = root(parent, m.over), b = root(parent, m.under);
    parent[std::max(a, b)] = std::min(a, b);
  }
  std::vector<std::vector<std::size_t>> groups;
  std::vector<std::size_t> group_of(n, n);
  for (std::size_t c = 0; c < n; ++c) {
    const std::size_t r = root(parent, c);
    if (group_of[r] == n) {
      group_of[r] = groups.size();
      groups.emplace_back();
    }
    groups[group_of[r]].push_back(c);
  }
  return groups;
}

Diagram part(const Diagram& diagram, const std::vector<std::size_t>& components) {
  const std::vector<Meeting> met = meetings(diagram);
  std::vector<bool> chosen(diagram.components.size(), false);
  for (const std::size_t c : components) chosen[c] = true;
  std::vector<std::uint32_t> number(diagram.sign.size(), kNone);
  Diagram out;
  for (const std::size_t c : components) {
    auto& passes = out.components.emplace_back();
    for (const Pass& pass : diagram.components[c]) {
      if (!chosen[met[pass.crossing].over] || !chosen[met[pass.crossing].under]) continue;
      if (number[pass.crossing] == kNone) {
        number[pass.crossing] = static_cast<std::uint32_t>(out.sign.size());
        out.sign.push_back(diagram.sign[pass.crossing]);
      }
      passes.push_back({number[pass.crossing], pass.over});
    }
  }
  return out;
}

}  // namespace ligature::knot
