#include "sim/knot/names/parts.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>
#include <utility>

#include "sim/knot/names/planar.hpp"

namespace ligature::knot {
namespace {

/// Numbers the crossings of the components by first appearance and takes their signs along.
Diagram renumbered(std::vector<std::vector<Pass>> components, const std::vector<std::int8_t>& sign) {
  Diagram out;
  std::vector<std::uint32_t> number(sign.size(), std::numeric_limits<std::uint32_t>::max());
  for (auto& component : components)
    for (Pass& pass : component) {
      std::uint32_t& n = number[pass.crossing];
      if (n == std::numeric_limits<std::uint32_t>::max()) {
        n = static_cast<std::uint32_t>(out.sign.size());
        out.sign.push_back(sign[pass.crossing]);
      }
      pass.crossing = n;
    }
  out.components = std::move(components);
  return out;
}

}  // namespace

std::vector<Part> split_pieces(const Diagram& diagram) {
  const PlanarMap map = planar_map(diagram);
  std::vector<Part> pieces(map.pieces), out;
  for (std::size_t k = 0; k < diagram.components.size(); ++k) {
    const auto& component = diagram.components[k];
    if (component.empty()) {
      out.push_back({{{{}}, {}}, {k}});
      continue;
    }
    Part& piece = pieces[map.piece[component.front().crossing]];
    piece.diagram.components.push_back(component);
    piece.components.push_back(k);
  }
  for (Part& piece : pieces) {
    piece.diagram = renumbered(std::move(piece.diagram.components), diagram.sign);
    out.push_back(std::move(piece));
  }
  return out;
}

namespace {

/// What lies between pass `begin` and pass `end` of one component, joined up, and all that hangs on it.
Part between(const Part& whole, const PlanarMap& map, std::uint32_t begin, std::uint32_t end) {
  const std::uint32_t knot = map.component[begin];
  std::vector<std::vector<Pass>> components(1);
  for (std::uint32_t at = begin;; at = map.next[at]) {
    components[0].push_back(map.pass[at]);
    if (at == end) break;
  }
  Part out{{}, {whole.components[knot]}};
  std::vector<bool> here(whole.diagram.sign.size(), false), taken(whole.components.size(), false);
  taken[knot] = true;
  for (const Pass& pass : components[0]) here[pass.crossing] = true;
  for (bool more = true; more;) {
    more = false;
    for (std::size_t k = 0; k < taken.size(); ++k) {
      const auto& passes = whole.diagram.components[k];
      if (taken[k] || std::none_of(passes.begin(), passes.end(), [&](const Pass& pass) { return here[pass.crossing]; }))
        continue;
      for (const Pass& pass : passes) here[pass.crossing] = true;
      components.push_back(passes);
      out.components.push_back(whole.components[k]);
      taken[k] = more = true;
    }
  }
  out.diagram = renumbered(std::move(components), whole.diagram.sign);
  return out;
}

}  // namespace

std::vector<Part> visible_factors(const Diagram& connected) {
  std::vector<std::size_t> all(connected.components.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  std::vector<Part> out, todo{{connected, all}};
  while (!todo.empty()) {
    Part whole = std::move(todo.back());
    todo.pop_back();
    const PlanarMap map = planar_map(whole.diagram);
    // A circle leaves through one edge and comes back through another with the same faces on the same sides.
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::uint32_t>> edges_between;
    for (std::uint32_t e = 0; e < map.left.size(); ++e) edges_between[{map.left[e], map.right[e]}].push_back(e);
    const auto shared = std::find_if(edges_between.begin(), edges_between.end(),
                                     [](const auto& entry) { return entry.second.size() > 1; });
    if (shared == edges_between.end()) {
      out.push_back(std::move(whole));
      continue;
    }
    const std::vector<std::uint32_t>& cut = shared->second;
    for (std::size_t i = 0; i < cut.size(); ++i)
      todo.push_back(between(whole, map, map.next[cut[i]], cut[(i + 1) % cut.size()]));
  }
  return out;
}

Diagram factors_in_a_ring(const Diagram& diagram) {
  if (diagram.components.size() != 1 || diagram.sign.empty()) return diagram;
  const std::vector<Part> factors = visible_factors(diagram);
  if (factors.size() < 2) return diagram;
  Diagram out{{{}}, {}};
  for (const Part& factor : factors) {
    const PlanarMap map = planar_map(factor.diagram);
    std::vector<std::size_t> size(map.faces, 0);
    for (std::uint32_t e = 0; e < map.pass.size(); ++e) ++size[map.left[e]], ++size[map.right[e]];
    std::uint32_t cut = 0;
    const auto room = [&](std::uint32_t e) { return size[map.left[e]] + size[map.right[e]]; };
    for (std::uint32_t e = 1; e < map.pass.size(); ++e)
      if (room(e) > room(cut)) cut = e;
    const auto first = static_cast<std::uint32_t>(out.sign.size());
    for (std::uint32_t i = 0, at = map.next[cut]; i < map.pass.size(); ++i, at = map.next[at])
      out.components[0].push_back({map.pass[at].crossing + first, map.pass[at].over});
    out.sign.insert(out.sign.end(), factor.diagram.sign.begin(), factor.diagram.sign.end());
  }
  return out;
}

}  // namespace ligature::knot
