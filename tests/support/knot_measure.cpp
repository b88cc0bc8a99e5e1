#include "tests/support/knot_measure.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ligature::measure {

namespace {

struct Edge {
  std::size_t curve = 0;
  double s = 0, length = 0, total = 0;
  Vec3 a, b;
};

std::vector<Edge> edges_of(const std::vector<Curve>& curves, bool closed) {
  std::vector<Edge> out;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const Curve& c = curves[i];
    const double total = length(c, closed);
    double s = 0;
    for (std::size_t k = 0; k + (closed ? 0 : 1) < c.size(); ++k) {
      const Vec3 a = c[k], b = c[(k + 1) % c.size()];
      out.push_back({i, s, norm(b - a), total, a, b});
      s += norm(b - a);
    }
  }
  return out;
}

struct Closest {
  double distance = 0, s = 0, t = 0;
};

/// Source: [Ericson 2005] section 5.1.9.
Closest closest(const Edge& p, const Edge& q) {
  const Vec3 d1 = p.b - p.a, d2 = q.b - q.a, r = p.a - q.a;
  const double a = dot(d1, d1), e = dot(d2, d2), f = dot(d2, r), c = dot(d1, r), b = dot(d1, d2);
  const double det = a * e - b * b;
  double s = det > 1e-12 * a * e ? std::clamp((b * f - c * e) / det, 0.0, 1.0) : 0.0;
  double t = (b * s + f) / e;
  if (t < 0 || t > 1) {
    t = std::clamp(t, 0.0, 1.0);
    s = std::clamp((b * t - c) / a, 0.0, 1.0);
  }
  return {norm(r + s * d1 - t * d2), s, t};
}

bool neighbours(const Edge& p, const Edge& q, bool closed, double skip) {
  if (p.curve != q.curve) return false;
  const Edge &first = p.s < q.s ? p : q, &second = p.s < q.s ? q : p;
  double apart = second.s - first.s - first.length;
  if (closed) apart = std::min(apart, first.total - (second.s + second.length - first.s));
  return apart < skip;
}

/// Further apart than `bound` in any case.
bool far(const Edge& p, const Edge& q, double bound) {
  const double reach = bound + 0.5 * (p.length + q.length);
  const Vec3 d = 0.5 * (p.a + p.b - q.a - q.b);
  return dot(d, d) > reach * reach;
}

Vec3 unit(Vec3 v) {
  return (1 / norm(v)) * v;
}

}  // namespace

double length(const Curve& curve, bool closed) {
  double sum = closed ? norm(curve.front() - curve.back()) : 0;
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) sum += norm(curve[i + 1] - curve[i]);
  return sum;
}

Nearest nearest(const std::vector<Curve>& curves, bool closed, double skip) {
  const std::vector<Edge> edges = edges_of(curves, closed);
  Nearest best{1e300, 0, 0, 0, 0};
  for (std::size_t i = 0; i < edges.size(); ++i)
    for (std::size_t j = i + 1; j < edges.size(); ++j) {
      const Edge &p = edges[i], &q = edges[j];
      if (far(p, q, best.distance) || neighbours(p, q, closed, skip)) continue;
      const Closest c = closest(p, q);
      if (c.distance < best.distance) best = {c.distance, p.curve, q.curve, p.s + c.s * p.length, q.s + c.t * q.length};
    }
  return best;
}

double bend_radius(const Curve& curve, std::size_t from, std::size_t to) {
  double turned = 0, along = 0;
  for (std::size_t i = from + 1; i < to; ++i) {
    const Vec3 a = curve[i] - curve[i - 1], b = curve[i + 1] - curve[i];
    turned += std::atan2(norm(cross(a, b)), dot(a, b));
    along += 0.5 * (norm(a) + norm(b));
  }
  return along / turned;
}

Span touching(const std::vector<Curve>& curves, std::size_t which, double touch, double skip) {
  const std::vector<Edge> edges = edges_of(curves, false);
  Span span{length(curves[which], false), 0};
  for (const Edge& p : edges) {
    if (p.curve != which) continue;
    for (const Edge& q : edges) {
      if (&p == &q || far(p, q, touch) || neighbours(p, q, false, skip)) continue;
      const Closest c = closest(p, q);
      if (c.distance > touch) continue;
      const double s = p.s + c.s * p.length;
      span.first = std::min(span.first, s);
      span.last = std::max(span.last, s);
    }
  }
  return span;
}

long determinant(const Curve& loop) {
  // Seen along a direction with which nothing drawn by hand lines up.
  const Vec3 axis = unit({0.2113, 0.3771, 0.9017}), u = unit(cross(axis, {0.36, 0.48, 0.8})), v = cross(axis, u);
  const std::size_t n = loop.size();
  std::vector<Vec3> p;
  for (const Vec3& x : loop) p.push_back({dot(x, u), dot(x, v), dot(x, axis)});
  struct Pass {
    double where;
    std::size_t crossing;
    bool over;
  };
  std::vector<Pass> passes;
  std::size_t crossings = 0;
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = i + 2; j < n; ++j) {
      if (i == 0 && j + 1 == n) continue;
      const Vec3 a = p[i], b = p[(i + 1) % n], c = p[j], d = p[(j + 1) % n];
      const double x1 = b.x - a.x, y1 = b.y - a.y, x2 = d.x - c.x, y2 = d.y - c.y;
      const double det = x1 * y2 - y1 * x2;
      if (det == 0) continue;
      const double s = ((c.x - a.x) * y2 - (c.y - a.y) * x2) / det, t = ((c.x - a.x) * y1 - (c.y - a.y) * x1) / det;
      if (s < 0 || s >= 1 || t < 0 || t >= 1) continue;
      const bool over = a.z + s * (b.z - a.z) > c.z + t * (d.z - c.z);
      passes.push_back({static_cast<double>(i) + s, crossings, over});
      passes.push_back({static_cast<double>(j) + t, crossings, !over});
      ++crossings;
    }
  if (crossings < 2) return 1;
  std::sort(passes.begin(), passes.end(), [](const Pass& x, const Pass& y) { return x.where < y.where; });
  // Arcs run from one passage below to the next; twice the arc above equals the sum of the two that meet below it.
  std::vector<std::vector<double>> m(crossings, std::vector<double>(crossings, 0));
  std::size_t arc = 0;
  for (const Pass& pass : passes) {
    std::vector<double>& row = m[pass.crossing];
    if (pass.over) {
      row[arc] += 2;
    } else {
      row[arc] -= 1;
      arc = (arc + 1) % crossings;
      row[arc] -= 1;
    }
  }
  const std::size_t k = crossings - 1;  // any minor
  double det = 1;
  for (std::size_t c = 0; c < k; ++c) {
    std::size_t pivot = c;
    for (std::size_t r = c + 1; r < k; ++r)
      if (std::abs(m[r][c]) > std::abs(m[pivot][c])) pivot = r;
    if (std::abs(m[pivot][c]) < 1e-9) return 0;
    std::swap(m[c], m[pivot]);
    det *= m[c][c];
    for (std::size_t r = c + 1; r < k; ++r) {
      const double f = m[r][c] / m[c][c];
      if (f == 0) continue;
      for (std::size_t e = c; e < k; ++e) m[r][e] -= f * m[c][e];
    }
  }
  return std::lround(std::abs(det));
}

namespace {

double far_radius(const Curve& c) {
  double r = 0;
  for (const Vec3& x : c) r = std::max(r, norm(x));
  return 10 * r + 10;
}

/// The way from one end, out, round by `side`, to another end.
void go_round(Curve& out, Vec3 from, Vec3 out_from, Vec3 side, Vec3 to, Vec3 out_to, double radius) {
  const Vec3 a = from + radius * unit(out_from), b = to + radius * unit(out_to), far = 2 * radius * unit(side);
  for (const Vec3& x : {a, a + far, b + far, b}) out.push_back(x);
}

}  // namespace

Curve closed(const Curve& curve, Vec3 out_first, Vec3 out_last, Vec3 side) {
  Curve loop = curve;
  go_round(loop, curve.back(), out_last, side, curve.front(), out_first, far_radius(curve));
  return loop;
}

Curve closed(const Curve& a, Vec3 a_first, Vec3 a_last, const Curve& b, Vec3 b_first, Vec3 b_last, Vec3 side) {
  const double radius = std::max(far_radius(a), far_radius(b));
  Curve loop = a;
  go_round(loop, a.back(), a_last, -1.0 * side, b.back(), b_last, radius);
  loop.insert(loop.end(), b.rbegin(), b.rend());
  go_round(loop, b.front(), b_first, side, a.front(), a_first, radius);
  return loop;
}

}  // namespace ligature::measure
