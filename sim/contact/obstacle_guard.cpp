#include "sim/contact/obstacle_guard.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/rings.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostAdvances = 100;
constexpr double kLeastDistance = 0.05;  // of the radius, from the centreline to a surface
constexpr double kBand = 0.02;           // of that: so near is there
constexpr double kNoNearer = 1e-6;  // of the radius: from here on halving ends, which would go on until rounding passes

}  // namespace

ObstacleVerdict look(const Strand* strands, std::size_t count, const Vector3d* const* x1, const Bodies& bodies,
                     const ObstacleLook& how, std::vector<StoppedAtObstacle>* stopped) noexcept {
  ObstacleVerdict out;
  for (std::uint32_t k = 0; k < count; ++k) {
    const Strand& s = strands[k];
    for (std::uint32_t j = 0; j < s.edges(); ++j) {
      const Vector3d &p = s.x[j], &q = s.x[s.next(j)], &p1 = x1[k][j], &q1 = x1[k][s.next(j)];
      const Vector3d low = p.cwiseMin(q).cwiseMin(p1).cwiseMin(q1), high = p.cwiseMax(q).cwiseMax(p1).cwiseMax(q1);
      for (std::uint32_t b = 0; b < bodies.count; ++b) {
        const Obstacle& body = *bodies.body[b];
        if (bodies.soft_of(b)) continue;  // look_soft()
        const bool plane = body.shape() == Obstacle::Shape::plane;
        if (how.at != ObstacleLook::At::all && plane != (how.at == ObstacleLook::At::planes)) continue;
        if (body.box_distance(low, high) > kLeastDistance * s.thickest(j)) continue;
        // Where one of its vertices has no contact it is not looked at either.
        if (bodies.spared && passes(*bodies.spared, k, b, j - 0.5, j + 1.5)) continue;
        ++out.looked_at;
        const Vector3d give = how.give * body.giving(), d = p1 - p - give, e = q1 - q - give;
        const double part = how.until - bodies.at;
        const double speed = body.most_against(p, d, q, e, bodies.at, part, kLeastDistance * s.thickest(j));
        const double within = 2 * speed + s.thickest(j);
        const auto distance = [&](double t) {
          return body.nearest(p + t * d, q + t * e, within, bodies.at + t * part).distance;
        };
        const double first = distance(0);
        // Of a mesh the distance of an edge has no sign, that of its end has.
        if (!(first > 0) || (body.shape() == Obstacle::Shape::mesh && body.nearest(p, 1e9, bodies.at).distance < 0)) {
          ++out.inside;
          continue;
        }
        const double least = how.share * std::min(kLeastDistance * s.thickest(j), 0.5 * first);
        double t = 0;
        bool apart = false;
        for (int i = 0; i < kMostAdvances && !apart; ++i) {
          const double left = (i == 0 ? first : distance(t)) - least;
          apart = left >= (1 - t) * speed;
          if (apart || left <= kBand * least) break;
          t += left / speed;
        }
        const double nearest = std::min(first, kNoNearer * s.thickest(j));
        if (least < nearest && distance(apart ? 1.0 : t) < nearest) apart = false, t = 0;
        if (apart) continue;
        ++out.found;
        if (stopped && stopped->size() < stopped->capacity()) stopped->push_back({k, j, b, t});
        if (t < out.fraction || out.found == 1) {
          out.fraction = std::min(out.fraction, t);
          out.strand = k, out.edge = j, out.obstacle = b;
        }
      }
    }
  }
  return out;
}

}  // namespace ligature::contact
