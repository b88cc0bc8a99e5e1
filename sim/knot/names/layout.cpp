#include "sim/knot/names/layout.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "sim/knot/names/parts.hpp"
#include "sim/knot/names/planar.hpp"

namespace ligature::knot {
namespace {

using std::numbers::pi;

PlanePoint operator+(PlanePoint a, PlanePoint b) {
  return {a.x + b.x, a.y + b.y};
}
PlanePoint operator-(PlanePoint a, PlanePoint b) {
  return {a.x - b.x, a.y - b.y};
}
PlanePoint operator*(double s, PlanePoint a) {
  return {s * a.x, s * a.y};
}
double length(PlanePoint a) {
  return std::hypot(a.x, a.y);
}

/// Nodes of a triangulated disc: crossings 0..n-1, then two places on each edge, then faces.
struct Disc {
  std::vector<std::array<std::size_t, 3>> triangles;  ///< counterclockwise
  std::vector<std::size_t> boundary;                  ///< the nodes round the face outside
  std::size_t crossings = 0;
  std::size_t nodes = 0;
};

struct Piece {
  const Diagram& diagram;
  const PlanarMap& map;
  std::size_t crossings() const { return diagram.sign.size(); }
  std::size_t place(std::uint32_t edge, bool second) const { return crossings() + 2 * edge + (second ? 1 : 0); }
  std::size_t crossing_before(std::uint32_t edge) const { return map.pass[edge].crossing; }
};

/// The nodes round each face, the face on the left.
std::vector<std::vector<std::size_t>> rounds(const Piece& piece) {
  std::vector<std::vector<std::size_t>> out(piece.map.faces);
  for (std::uint32_t e = 0; e < piece.map.pass.size(); ++e)
    for (const bool forward : {true, false}) {
      auto& round = out[(forward ? piece.map.left : piece.map.right)[e]];
      if (!round.empty()) continue;
      Dart d{e, forward};
      do {
        const std::uint32_t from = d.forward ? d.edge : piece.map.next[d.edge];
        round.push_back(piece.map.pass[from].crossing);
        round.push_back(piece.place(d.edge, !d.forward));
        round.push_back(piece.place(d.edge, d.forward));
        d = next_round_face(piece.map, piece.diagram, d);
      } while (d.edge != e || d.forward != forward);
    }
  return out;
}

Disc disc_of(const Piece& piece, const std::vector<std::vector<std::size_t>>& rounds_of_faces, std::size_t outside) {
  Disc disc;
  disc.crossings = piece.crossings();
  disc.nodes = piece.crossings() + 2 * piece.map.pass.size() + rounds_of_faces.size();
  const std::size_t first_face = disc.nodes - rounds_of_faces.size();
  for (std::size_t f = 0; f < rounds_of_faces.size(); ++f) {
    const auto& round = rounds_of_faces[f];
    if (f == outside) {
      disc.boundary = round;
      continue;
    }
    for (std::size_t i = 0; i < round.size(); ++i)
      disc.triangles.push_back({first_face + f, round[i], round[(i + 1) % round.size()]});
  }
  return disc;
}

/// Radii with which the circles of all inner nodes close up. The boundary becomes a polygon that turns inwards a little
/// at each crossing, so that the strands between bulge out.
/// The angle at a in a triangle of tangent circles a, b, c has sin(angle / 2)^2 = b c / ((a + b) (a + c)).
std::vector<double> radii_of(const Disc& disc) {
  std::vector<std::vector<std::pair<std::size_t, std::size_t>>> corners(disc.nodes);
  for (const auto& t : disc.triangles)
    for (std::size_t i = 0; i < 3; ++i) corners[t[i]].push_back({t[(i + 1) % 3], t[(i + 2) % 3]});
  std::vector<double> radius(disc.nodes, 1.0), wanted(disc.nodes, 2 * pi);
  // A crossing and the two places on the edge behind it take turns round the boundary.
  constexpr double kAtCrossing = 1.2 * pi;
  const auto corners_outside = static_cast<double>(disc.boundary.size());
  for (const std::size_t node : disc.boundary)
    wanted[node] = node < disc.crossings ? kAtCrossing : 0.5 * (3 * pi - 6 * pi / corners_outside - kAtCrossing);
  constexpr int kMostRounds = 20000;
  constexpr double kClosed_rad = 1e-7;
  for (int round = 0; round < kMostRounds; ++round) {
    double worst = 0;
    for (std::size_t a = 0; a < disc.nodes; ++a) {
      if (corners[a].empty()) continue;
      double sum = 0;
      for (const auto& [b, c] : corners[a])
        sum += 2 * std::asin(std::sqrt(radius[b] * radius[c] / ((radius[a] + radius[b]) * (radius[a] + radius[c]))));
      worst = std::max(worst, std::abs(sum - wanted[a]));
      // As if all neighbours were equal [Collins 2003].
      const auto k = static_cast<double>(corners[a].size());
      const double is = std::sin(sum / (2 * k)), should = std::sin(wanted[a] / (2 * k));
      radius[a] *= is / (1 - is) * (1 - should) / should;
    }
    if (worst < kClosed_rad) break;
  }
  return radius;
}

/// Centres, triangle by triangle from the first.
std::vector<PlanePoint> centres_of(const Disc& disc, const std::vector<double>& radius) {
  std::vector<std::vector<std::size_t>> triangles_at(disc.nodes);
  for (std::size_t t = 0; t < disc.triangles.size(); ++t)
    for (const std::size_t node : disc.triangles[t]) triangles_at[node].push_back(t);
  std::vector<PlanePoint> centre(disc.nodes);
  std::vector<bool> placed(disc.nodes, false), done(disc.triangles.size(), false);
  const auto& first = disc.triangles.front();
  centre[first[1]] = {radius[first[0]] + radius[first[1]], 0};
  placed[first[0]] = placed[first[1]] = true;
  std::vector<std::size_t> queue{0};
  for (std::size_t at = 0; at < queue.size(); ++at) {
    const std::size_t t = queue[at];
    if (done[t]) continue;
    const auto& nodes = disc.triangles[t];
    for (std::size_t i = 0; i < 3; ++i) {
      const std::size_t a = nodes[i], b = nodes[(i + 1) % 3], c = nodes[(i + 2) % 3];
      if (!placed[a] || !placed[b] || placed[c]) continue;
      const double ab = radius[a] + radius[b], ac = radius[a] + radius[c];
      const double angle = 2 * std::asin(std::sqrt(radius[b] * radius[c] / (ab * ac)));
      const PlanePoint way = (1 / length(centre[b] - centre[a])) * (centre[b] - centre[a]);
      centre[c] = centre[a] + ac * PlanePoint{std::cos(angle) * way.x - std::sin(angle) * way.y,
                                              std::sin(angle) * way.x + std::cos(angle) * way.y};
      placed[c] = true;
    }
    if (!placed[nodes[0]] || !placed[nodes[1]] || !placed[nodes[2]]) continue;
    done[t] = true;
    for (const std::size_t node : nodes)
      for (const std::size_t near : triangles_at[node]) {
        int known = 0;
        for (const std::size_t other : disc.triangles[near]) known += placed[other] ? 1 : 0;
        if (!done[near] && known >= 2) queue.push_back(near);
      }
  }
  return centre;
}

/// A closed curve through the points, smooth with tangents by chord length (Catmull-Rom, centripetal).
std::vector<PlanePoint> smooth(const std::vector<PlanePoint>& through) {
  const std::size_t n = through.size();
  std::vector<PlanePoint> out;
  for (std::size_t i = 0; i < n; ++i) {
    const PlanePoint p[4] = {through[(i + n - 1) % n], through[i], through[(i + 1) % n], through[(i + 2) % n]};
    double t[4] = {0, 0, 0, 0};
    for (int k = 1; k < 4; ++k) t[k] = t[k - 1] + std::sqrt(std::max(length(p[k] - p[k - 1]), 1e-12));
    for (std::size_t s = 0; s < kPointsPerStretch; ++s) {
      const double u = t[1] + (t[2] - t[1]) * static_cast<double>(s) / static_cast<double>(kPointsPerStretch);
      PlanePoint q[4] = {p[0], p[1], p[2], p[3]};
      for (int level = 1; level < 4; ++level)
        for (int k = 0; k + level < 4; ++k) {
          // Barry and Goldman's pyramid: outer levels reach over the neighbouring knots.
          const int low = level == 3 ? 1 : k, high = level == 3 ? 2 : k + level;
          const double w = (u - t[low]) / (t[high] - t[low]);
          q[k] = (1 - w) * q[k] + w * q[k + 1];
        }
      out.push_back(q[0]);
    }
  }
  return out;
}

Result<std::vector<LaidComponent>> lay_out_piece(const Diagram& diagram) {
  std::vector<LaidComponent> out;
  if (diagram.sign.empty()) {
    LaidComponent circle;
    constexpr std::size_t kPoints = 48;
    for (std::size_t i = 0; i < kPoints; ++i) {
      const double angle = 2 * pi * static_cast<double>(i) / static_cast<double>(kPoints);
      circle.points.push_back({2 * std::cos(angle), 2 * std::sin(angle)});
    }
    out.push_back(std::move(circle));
    return out;
  }
  const PlanarMap map = planar_map(diagram);
  if (!is_planar(map)) return failure("the code is not of a diagram in the plane");
  const Piece piece{diagram, map};
  const auto rounds_of_faces = rounds(piece);
  std::size_t outside = 0;
  for (std::size_t f = 0; f < rounds_of_faces.size(); ++f) {
    const std::set<std::size_t> once(rounds_of_faces[f].begin(), rounds_of_faces[f].end());
    if (once.size() != rounds_of_faces[f].size()) return failure("a crossing alone joins two halves of the diagram");
    if (rounds_of_faces[f].size() > rounds_of_faces[outside].size()) outside = f;
  }
  const Disc disc = disc_of(piece, rounds_of_faces, outside);
  const auto radius = radii_of(disc);
  const auto centre = centres_of(disc, radius);
  double mean = 0;
  for (std::size_t i = 0; i < disc.nodes; ++i) mean += radius[i] / static_cast<double>(disc.nodes);
  std::uint32_t pass = 0;
  for (const auto& component : diagram.components) {
    LaidComponent laid;
    std::vector<PlanePoint> through;
    for (std::size_t i = 0; i < component.size(); ++i, ++pass) {
      laid.pass_at.push_back(through.size() * kPointsPerStretch);
      through.push_back(0.5 / mean * centre[piece.crossing_before(pass)]);
      for (const bool second : {false, true}) through.push_back(0.5 / mean * centre[piece.place(pass, second)]);
    }
    laid.points = smooth(through);
    out.push_back(std::move(laid));
  }
  return out;
}

}  // namespace

Result<Layout> lay_out(const Diagram& diagram) {
  if (diagram.sign.size() > kMostDrawnCrossings)
    return failure("a diagram of " + std::to_string(diagram.sign.size()) + " crossings is not drawn, only up to " +
                   std::to_string(kMostDrawnCrossings));
  Layout out;
  out.components.resize(diagram.components.size());
  double right = 0;
  bool first = true;
  for (const Part& piece : split_pieces(diagram)) {
    auto laid = lay_out_piece(piece.diagram);
    if (!laid) return unexpected(laid.error());
    PlanePoint low{1e300, 1e300}, high{-1e300, -1e300};
    for (const LaidComponent& c : *laid)
      for (const PlanePoint p : c.points) {
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
      }
    const PlanePoint shift{(first ? 0.0 : right + 1.5) - low.x, -0.5 * (low.y + high.y)};
    for (LaidComponent& c : *laid)
      for (PlanePoint& p : c.points) p = p + shift;
    right = high.x + shift.x;
    for (std::size_t k = 0; k < laid->size(); ++k) out.components[piece.components[k]] = std::move((*laid)[k]);
    out.low = {first ? low.x + shift.x : out.low.x, first ? low.y + shift.y : std::min(out.low.y, low.y + shift.y)};
    out.high = {right, first ? high.y + shift.y : std::max(out.high.y, high.y + shift.y)};
    first = false;
  }
  return out;
}

}  // namespace ligature::knot
