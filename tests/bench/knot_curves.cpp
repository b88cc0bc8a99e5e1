#include "tests/bench/knot_curves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ligature::bench {
namespace {

constexpr double kPi = std::numbers::pi;

double distance(Vec3 a, Vec3 b) {
  return norm(a - b);
}

/// Through all the points, `steps` to a span (Catmull and Rom, chord lengths alike).
std::vector<Vec3> smooth(const std::vector<Vec3>& p, int steps) {
  std::vector<Vec3> out;
  for (std::size_t i = 0; i + 1 < p.size(); ++i) {
    const Vec3 before = i > 0 ? p[i - 1] : 2.0 * p[0] - p[1];
    const Vec3 after = i + 2 < p.size() ? p[i + 2] : 2.0 * p[i + 1] - p[i];
    // Centripetal knots: no cusps where spans differ in length.
    const double t1 = std::sqrt(distance(before, p[i])), t2 = t1 + std::sqrt(distance(p[i], p[i + 1])),
                 t3 = t2 + std::sqrt(distance(p[i + 1], after));
    const auto between = [](Vec3 a, Vec3 b, double ta, double tb, double t) {
      return ((tb - t) / (tb - ta)) * a + ((t - ta) / (tb - ta)) * b;
    };
    for (int k = 0; k < steps; ++k) {
      const double t = t1 + (t2 - t1) * k / steps;
      const Vec3 a1 = between(before, p[i], 0, t1, t), a2 = between(p[i], p[i + 1], t1, t2, t),
                 a3 = between(p[i + 1], after, t2, t3, t);
      const Vec3 b1 = between(a1, a2, 0, t2, t), b2 = between(a2, a3, t1, t3, t);
      out.push_back(between(b1, b2, t1, t2, t));
    }
  }
  out.push_back(p.back());
  return out;
}

/// One of the two bights of a reef, from where its standing part enters the knot at the left (y > 0) to where its tail
/// leaves it (y < 0). The other is this one turned half round y.
std::vector<Vec3> bight_core() {
  // Under the other's bend, over its leg, under its two legs, and back the same way.
  const std::vector<Vec3> half{{-9, 1, 0},    {-7, 1, -0.5}, {-5.3, 1, -0.8},  {-3.8, 1.2, -0.6}, {-2, 1.6, 0.2},
                               {0, 2.1, 0.8}, {2, 2.7, 0.2}, {3.4, 2.8, -0.6}, {4.7, 2, -0.8},    {5.2, 1, -0.8}};
  std::vector<Vec3> whole = half;
  whole.push_back({5.4, 0, -0.8});
  for (auto p = half.rbegin(); p != half.rend(); ++p) whole.push_back({p->x, -p->y, p->z});
  return whole;
}

std::vector<Vec3> turned_half_round_y(std::vector<Vec3> points) {
  for (Vec3& p : points) p = {-p.x, p.y, -p.z};
  return points;
}

struct Edge {
  std::size_t curve;
  double s;  ///< arc of its middle
  Vec3 a, b, middle;
  double half;  ///< length
};

std::vector<Edge> edges_of(const std::vector<Curve>& curves) {
  std::vector<Edge> edges;
  for (std::size_t c = 0; c < curves.size(); ++c) {
    double s = 0;
    for (std::size_t i = 0; i + 1 < curves[c].x.size(); ++i) {
      const Vec3 a = curves[c].x[i], b = curves[c].x[i + 1];
      const double length = distance(a, b);
      edges.push_back({c, s + 0.5 * length, a, b, 0.5 * (a + b), 0.5 * length});
      s += length;
    }
  }
  return edges;
}

/// Where the segments a and b are nearest to each other, as fractions. Source: [Ericson 2005] section 5.1.9.
struct Nearest {
  double s, t, distance;
};
Nearest nearest(const Edge& a, const Edge& b) {
  const Vec3 da = a.b - a.a, db = b.b - b.a, r = a.a - b.a;
  const double aa = dot(da, da), bb = dot(db, db), ab = dot(da, db), ar = dot(da, r), br = dot(db, r);
  const double denominator = aa * bb - ab * ab;
  double s = denominator > 1e-12 * aa * bb ? std::clamp((ab * br - ar * bb) / denominator, 0.0, 1.0) : 0.5;
  double t = bb > 0 ? (ab * s + br) / bb : 0;
  if (t < 0 || t > 1) {
    t = std::clamp(t, 0.0, 1.0);
    s = aa > 0 ? std::clamp((ab * t - ar) / aa, 0.0, 1.0) : 0;
  }
  return {s, t, distance(a.a + s * da, b.a + t * db)};
}

bool may_be_within(const Edge& a, const Edge& b, double limit) {
  const Vec3 apart = a.middle - b.middle;
  const double reach = a.half + b.half + limit;
  return dot(apart, apart) <= reach * reach;
}

Vec3 second_difference(const std::vector<Vec3>& x, std::size_t i) {
  return i == 0 || i + 1 == x.size() ? Vec3{} : x[i - 1] - 2.0 * x[i] + x[i + 1];
}

/// The spline from vertex i to the next in eight straight parts; arc as on the edge.
std::vector<Edge> parts_of(const std::vector<Vec3>& x, std::size_t i, const Edge& whole) {
  constexpr int kParts = 8;
  const Vec3 before = second_difference(x, i), behind = second_difference(x, i + 1);
  const auto at = [&](int k) {
    const double t = static_cast<double>(k) / kParts, in = std::max(0.5 - t, 0.0), out = std::max(t - 0.5, 0.0);
    return (1 - t) * x[i] + t * x[i + 1] + 0.5 * in * in * before + 0.5 * out * out * behind;
  };
  std::vector<Edge> parts;
  for (int k = 0; k < kParts; ++k) {
    const Vec3 a = at(k), b = at(k + 1);
    const double s = whole.s + whole.half * ((2 * k + 1.0) / kParts - 1);
    // Nearest places are told in arc of the edge, so that `half` of a part serves for both.
    parts.push_back({whole.curve, s, a, b, 0.5 * (a + b), std::max(whole.half / kParts, 0.5 * distance(a, b))});
  }
  return parts;
}

}  // namespace

std::vector<Vec3> reef_of_one_thread(double loop, double tail) {
  std::vector<Vec3> controls = bight_core();
  std::reverse(controls.begin(), controls.end());
  const double radius = std::max(loop / (2 * kPi), 16.0), from = std::asin(13 / radius);
  constexpr int kSteps = 24;
  for (int k = 0; k <= kSteps; ++k) {
    const double angle = from + 2 * (kPi - from) * k / kSteps;
    controls.push_back({-radius * std::sin(angle), 1 + radius - radius * std::cos(angle), 0});
  }
  const auto other = turned_half_round_y(bight_core());
  controls.insert(controls.end(), other.begin(), other.end());
  const std::vector<Vec3> core = smooth(controls, 12);
  std::vector<Vec3> out{core.front() + Vec3{-tail, 0, 0}};
  out.insert(out.end(), core.begin(), core.end());
  out.push_back(core.back() + Vec3{tail, 0, 0});
  return out;
}

std::vector<Vec3> scaled(std::vector<Vec3> points, double factor) {
  for (Vec3& p : points) p = factor * p;
  return points;
}

double length_of(const std::vector<Vec3>& points) {
  double length = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) length += distance(points[i], points[i + 1]);
  return length;
}

double worst_penetration(const std::vector<Curve>& curves, bool smooth) {
  const std::vector<Edge> edges = edges_of(curves);
  // Of what stands for an edge, and how far it runs from it.
  std::vector<std::vector<Edge>> parts;
  std::vector<double> bulges;
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i + 1 < curves[c].x.size(); ++i) {
      const Edge& whole = edges[parts.size()];
      parts.push_back(smooth ? parts_of(curves[c].x, i, whole) : std::vector<Edge>{whole});
      bulges.push_back(
          smooth ? std::max(norm(second_difference(curves[c].x, i)), norm(second_difference(curves[c].x, i + 1))) / 8
                 : 0);
    }
  double worst = 0;
  for (std::size_t i = 0; i < edges.size(); ++i)
    for (std::size_t j = i + 1; j < edges.size(); ++j) {
      const double ra = curves[edges[i].curve].radius, rb = curves[edges[j].curve].radius;
      if (!may_be_within(edges[i], edges[j], ra + rb + bulges[i] + bulges[j])) continue;
      for (const Edge& a : parts[i])
        for (const Edge& b : parts[j]) {
          if (!may_be_within(a, b, ra + rb)) continue;
          const Nearest n = nearest(a, b);
          if (a.curve == b.curve) {
            const double arc = (b.s + (2 * n.t - 1) * b.half) - (a.s + (2 * n.s - 1) * a.half);
            if (arc < kPi * ra) continue;
          }
          worst = std::max(worst, (ra + rb - n.distance) / std::min(ra, rb));
        }
    }
  return worst;
}

double free_tail(const std::vector<Curve>& curves, std::size_t curve, bool last) {
  const std::vector<Edge> edges = edges_of(curves);
  const double radius = curves[curve].radius, near = 2.5 * radius;
  const auto free_at = [&](Vec3 p) {
    for (const Edge& e : edges) {
      const Vec3 apart = e.middle - p;
      const double reach = e.half + near;
      if (e.curve == curve || dot(apart, apart) > reach * reach) continue;
      const Vec3 along = e.b - e.a;
      const double t = std::clamp(dot(p - e.a, along) / std::max(dot(along, along), 1e-300), 0.0, 1.0);
      if (distance(p, e.a + t * along) < near) return false;
    }
    return true;
  };
  constexpr int kParts = 32;  // places looked at on an edge
  double walked = 0;
  const std::vector<Vec3>& x = curves[curve].x;
  for (std::size_t k = 0; k + 1 < x.size(); ++k) {
    const std::size_t i = last ? x.size() - 1 - k : k, next = last ? i - 1 : i + 1;
    const double length = distance(x[i], x[next]);
    for (int part = 0; part < kParts; ++part) {
      const double u = static_cast<double>(part) / kParts;
      if (!free_at((1 - u) * x[i] + u * x[next])) return walked + u * length;
    }
    walked += length;
  }
  return walked;
}

}  // namespace ligature::bench
