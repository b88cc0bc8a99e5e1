#include "appliance/sim/bodies.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <utility>

namespace ligature::simulate {
namespace {

using world::ObstacleParams;

constexpr Colour kEdge{120, 104, 84}, kBody{238, 233, 224};
constexpr int kRound = 72;                  // corners of a circle
constexpr std::size_t kMostFilled = 20000;  // triangles of a mesh that are filled in
constexpr double kFurthest = 1e5;           // pixels: what lies further off is not drawn

double across(Point a, Point b, Point c) {
  return (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
}

/// The convex hull, in order.
std::vector<Point> hull(std::vector<Point> p) {
  std::sort(p.begin(), p.end(), [](Point a, Point b) { return std::pair{a.x, a.y} < std::pair{b.x, b.y}; });
  std::vector<Point> out;
  for (int side = 0; side < 2; ++side) {
    const std::size_t first = out.size();
    for (const Point q : p) {
      while (out.size() >= first + 2 && across(out[out.size() - 2], out.back(), q) <= 0) out.pop_back();
      out.push_back(q);
    }
    out.pop_back();
    std::reverse(p.begin(), p.end());
  }
  return out;
}

/// What of a convex area lies in the box.
std::vector<Point> clipped(std::vector<Point> area, const Box& box) {
  const auto cut = [&](auto&& depth) {
    std::vector<Point> out;
    for (std::size_t i = 0; i < area.size(); ++i) {
      const Point a = area[i], b = area[(i + 1) % area.size()];
      const double da = depth(a), db = depth(b);
      if (da >= 0) out.push_back(a);
      if ((da >= 0) == (db >= 0)) continue;
      const double u = da / (da - db);
      out.push_back({a.x + u * (b.x - a.x), a.y + u * (b.y - a.y)});
    }
    area = std::move(out);
  };
  cut([&](Point p) { return p.x - box.x; });
  cut([&](Point p) { return box.right() - p.x; });
  cut([&](Point p) { return p.y - box.y; });
  cut([&](Point p) { return box.bottom() - p.y; });
  return area;
}

/// The part of a line that lies in the box.
void draw_line(Drawing& d, Point a, Point b, const Box& box) {
  double from = 0, to = 1;
  const auto cut = [&](double da, double db) {
    if (da < 0 && db < 0) to = -1;
    if ((da < 0) == (db < 0)) return;
    const double u = da / (da - db);
    da < 0 ? from = std::max(from, u) : to = std::min(to, u);
  };
  cut(a.x - box.x, b.x - box.x);
  cut(box.right() - a.x, box.right() - b.x);
  cut(a.y - box.y, b.y - box.y);
  cut(box.bottom() - a.y, box.bottom() - b.y);
  if (!(from < to)) return;
  const auto at = [&](double u) { return Point{a.x + u * (b.x - a.x), a.y + u * (b.y - a.y)}; };
  d.line({at(from), at(to)}, kEdge, 1.6);
}

void draw_convex(Drawing& d, std::vector<Point> points, const Box& box) {
  const std::vector<Point> outline = hull(std::move(points));
  if (outline.size() < 3) return;
  if (auto inside = clipped(outline, box); inside.size() >= 3) d.area(std::move(inside), kBody);
  for (std::size_t i = 0; i < outline.size(); ++i) draw_line(d, outline[i], outline[(i + 1) % outline.size()], box);
}

/// Points of a circle in space, seen on the paper.
void add_circle(std::vector<Point>& out, const Paper& paper, Vec3 centre, Vec3 u, Vec3 v, double radius) {
  for (int i = 0; i < kRound; ++i) {
    const double a = 2 * std::numbers::pi * i / kRound;
    out.push_back(paper.of(centre + radius * (std::cos(a) * u + std::sin(a) * v)));
  }
}

void draw_plane(Drawing& d, const Paper& paper, const world::ObstacleParams& plane, Vec3 shift, const Box& box) {
  const Vec3 n = (1 / norm(plane.normal)) * plane.normal;
  const Point m = paper.view.of(n);
  if (std::hypot(m.x, m.y) < 0.999) return;
  const Point at = paper.of(plane.point + shift), t{m.y, m.x};  // along it on the paper, whose y runs down
  std::vector<Point> inside;
  const double far = box.width + box.height + std::hypot(at.x - box.x, at.y - box.y);
  for (double s = -far; s <= far; s += 3) {
    const Point p{at.x + s * t.x, at.y + s * t.y};
    if (p.x > box.x && p.x < box.right() && p.y > box.y && p.y < box.bottom()) inside.push_back(p);
  }
  if (inside.size() < 2) return;
  d.line({inside.front(), inside.back()}, kEdge, 2);
  for (std::size_t i = 2; i < inside.size(); i += 5) {
    const Point p = inside[i];
    const Point q{p.x - 7 * m.x - 5 * t.x, p.y + 7 * m.y - 5 * t.y};
    if (q.x > box.x && q.x < box.right() && q.y > box.y && q.y < box.bottom()) d.line({p, q}, kEdge, 1);
  }
}

/// Faces towards the eye in pale; the edges between a face towards it and one away from it are the outline, that of
/// holes too.
void draw_mesh(Drawing& d, const Paper& paper, const ObstacleParams& mesh, Vec3 shift, const Box& box) {
  std::vector<Point> at;
  for (const Vec3 v : mesh.vertices) at.push_back(paper.of(v + shift));
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> sides;
  for (const auto& t : mesh.triangles) {
    const bool front = across(at[t[0]], at[t[1]], at[t[2]]) < 0;  // the paper's y runs down
    if (front && mesh.triangles.size() <= kMostFilled)
      if (auto inside = clipped({at[t[0]], at[t[1]], at[t[2]]}, box); inside.size() >= 3)
        d.area(std::move(inside), kBody);
    for (std::size_t k = 0; k < 3; ++k) sides[std::minmax(t[k], t[(k + 1) % 3])] += front ? 1 : -1;
  }
  for (const auto& [edge, side] : sides)
    if (side == 0) draw_line(d, at[edge.first], at[edge.second], box);
}

}  // namespace

void draw_body(Drawing& d, const Paper& paper, const ObstacleParams& body, Vec3 shift, const Box& box) {
  const Vec3 right = paper.view.right, up = paper.view.up;
  const double radius = 0.5 * body.diameter_mm;
  if (paper.scale * radius > kFurthest && body.shape != ObstacleParams::Shape::plane) return;
  std::vector<Point> points;
  switch (body.shape) {
    case ObstacleParams::Shape::plane:
      return draw_plane(d, paper, body, shift, box);
    case ObstacleParams::Shape::mesh:
      return draw_mesh(d, paper, body, shift, box);
    case ObstacleParams::Shape::sphere:
      add_circle(points, paper, body.point + shift, right, up, radius);
      return draw_convex(d, std::move(points), box);
    case ObstacleParams::Shape::capsule:
      for (const Vec3 end : {body.from, body.to}) add_circle(points, paper, end + shift, right, up, radius);
      return draw_convex(d, std::move(points), box);
    case ObstacleParams::Shape::cylinder: {
      const Vec3 axis = (1 / norm(body.to - body.from)) * (body.to - body.from);
      const Vec3 other = std::abs(axis.x) < 0.6 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
      const Vec3 n = cross(axis, other), u = (1 / norm(n)) * n, v = cross(axis, u);
      for (const Vec3 end : {body.from, body.to}) add_circle(points, paper, end + shift, u, v, radius);
      return draw_convex(d, std::move(points), box);
    }
  }
}

}  // namespace ligature::simulate
