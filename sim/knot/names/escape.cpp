#include "sim/knot/names/escape.hpp"

#include <algorithm>
#include <cassert>
#include <utility>
#include <vector>

#include "sim/knot/simplify.hpp"

namespace ligature::knot {

Diagram with_finger(const Diagram& diagram, const PlanarMap& map, Dart a, Dart b, bool over) {
  assert(a.edge != b.edge);
  // Seen with the face between them, a runs to the right below and b to the left above. The finger goes up through b
  // further left (first) and comes down further right (second).
  //
  //      <---- second ---- first ---- b        along a: first, second; along b: second, first
  //              |           |
  //   a ---------------------------->          (the finger's tip lies beyond b)
  const auto first = static_cast<std::uint32_t>(diagram.sign.size()), second = first + 1;
  Diagram out = diagram;
  // Upwards over leftwards is positive; each strand that runs against its dart turns it round, and so does going under.
  const int sign = (over ? 1 : -1) * (a.forward ? 1 : -1) * (b.forward ? 1 : -1);
  out.sign.push_back(static_cast<std::int8_t>(sign));
  out.sign.push_back(static_cast<std::int8_t>(-sign));
  out.components.assign(diagram.components.size(), {});
  for (std::uint32_t at = 0; at < map.pass.size(); ++at) {
    auto& component = out.components[map.component[at]];
    component.push_back(map.pass[at]);
    if (at == a.edge) {
      component.push_back({a.forward ? first : second, over});
      component.push_back({a.forward ? second : first, over});
    }
    if (at == b.edge) {
      component.push_back({b.forward ? second : first, !over});
      component.push_back({b.forward ? first : second, !over});
    }
  }
  return out;
}

Diagram with_fingers(Diagram diagram, Random& random, int fingers) {
  for (int i = 0; i < fingers && !diagram.sign.empty(); ++i) {
    const PlanarMap map = planar_map(diagram);
    const std::uint32_t face = static_cast<std::uint32_t>(random.next() % map.faces);
    std::vector<Dart> round;
    for (std::uint32_t e = 0; e < map.pass.size(); ++e) {
      if (map.left[e] == face) round.push_back({e, true});
      if (map.right[e] == face) round.push_back({e, false});
    }
    const Dart a = round[random.next() % round.size()], b = round[random.next() % round.size()];
    if (a.edge != b.edge) diagram = with_finger(diagram, map, a, b, random.next() % 2 == 0);
  }
  return diagram;
}

Diagram simplified_to(const Diagram& diagram, std::size_t wanted, int tries) {
  constexpr std::size_t kMostTriedAgain = 40;  // crossings: what keeps more is hardly a small knot
  constexpr int kMostFingers = 4;
  Diagram best = simplify(diagram);
  Random random(1);
  for (int i = 0; i < tries && best.sign.size() > wanted && best.sign.size() <= kMostTriedAgain; ++i) {
    Diagram other = simplify(with_fingers(best, random, 1 + i % kMostFingers));
    if (other.sign.size() <= best.sign.size()) best = std::move(other);
  }
  return best;
}

}  // namespace ligature::knot
