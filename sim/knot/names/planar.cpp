#include "sim/knot/names/planar.hpp"

#include <limits>

namespace ligature::knot {
namespace {

constexpr auto kNone = std::numeric_limits<std::uint32_t>::max();

}  // namespace

Dart next_round_face(const PlanarMap& map, const Diagram& diagram, Dart dart) {
  // Arriving at a crossing, the sharpest turn to the left: the next port clockwise from the one arrived at.
  const std::uint32_t at = dart.forward ? map.next[dart.edge] : dart.edge;
  const Pass pass = map.pass[at];
  const bool positive = diagram.sign[pass.crossing] > 0;
  const std::uint32_t over = map.over_at[pass.crossing], under = map.under_at[pass.crossing];
  const std::uint32_t other = pass.over ? under : over;
  // Out along the other strand forwards, or backwards along the edge that comes in.
  const bool out = pass.over ? dart.forward == positive : dart.forward != positive;
  return out ? Dart{other, true} : Dart{map.before[other], false};
}

PlanarMap planar_map(const Diagram& diagram) {
  PlanarMap map;
  const std::size_t crossings = diagram.sign.size();
  map.over_at.assign(crossings, kNone);
  map.under_at.assign(crossings, kNone);
  for (std::size_t k = 0; k < diagram.components.size(); ++k) {
    const auto& passes = diagram.components[k];
    const auto first = static_cast<std::uint32_t>(map.pass.size());
    const auto count = static_cast<std::uint32_t>(passes.size());
    for (std::uint32_t i = 0; i < count; ++i) {
      map.pass.push_back(passes[i]);
      map.component.push_back(static_cast<std::uint32_t>(k));
      map.next.push_back(first + (i + 1) % count);
      map.before.push_back(first + (i + count - 1) % count);
      (passes[i].over ? map.over_at : map.under_at)[passes[i].crossing] = first + i;
    }
  }
  const std::size_t edges = map.pass.size();
  map.left.assign(edges, kNone);
  map.right.assign(edges, kNone);
  for (std::uint32_t edge = 0; edge < edges; ++edge)
    for (const bool forward : {true, false}) {
      if ((forward ? map.left : map.right)[edge] != kNone) continue;
      const auto face = static_cast<std::uint32_t>(map.faces++);
      for (Dart d{edge, forward}; (d.forward ? map.left : map.right)[d.edge] == kNone;
           d = next_round_face(map, diagram, d))
        (d.forward ? map.left : map.right)[d.edge] = face;
    }
  map.piece.assign(crossings, kNone);
  std::vector<std::uint32_t> stack;
  for (std::uint32_t c = 0; c < crossings; ++c) {
    if (map.piece[c] != kNone) continue;
    const auto piece = static_cast<std::uint32_t>(map.pieces++);
    map.piece[c] = piece;
    stack.push_back(c);
    while (!stack.empty()) {
      const std::uint32_t here = stack.back();
      stack.pop_back();
      for (const std::uint32_t at : {map.over_at[here], map.under_at[here]})
        for (const std::uint32_t near : {map.next[at], map.before[at]})
          if (const std::uint32_t d = map.pass[near].crossing; map.piece[d] == kNone) {
            map.piece[d] = piece;
            stack.push_back(d);
          }
    }
  }
  return map;
}

bool is_planar(const PlanarMap& map) {
  return map.over_at.size() + map.faces == map.pass.size() + 2 * map.pieces;
}

}  // namespace ligature::knot
