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
constexpr Colour kWallEdge{176, 92, 84}, kWallLit{250, 226, 220}, kWallDark{226, 168, 158}, kLumen{198, 130, 122};
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
void draw_line(Drawing& d, Point a, Point b, const Box& box, Colour colour = kEdge) {
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
  d.line({at(from), at(to)}, colour, 1.6);
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

void draw_surface(Drawing& d, const Paper& paper, const TissueSurface& surface, const Box& box) {
  struct Face {
    double nearness = 0, facing = 0;  // the latter: cosine to the eye
    std::size_t triangle = 0;
  };
  const Vec3 to_eye = cross(paper.view.right, paper.view.up);
  const auto place = [&](std::uint32_t v) { return Vec3{surface.rest[v].x, surface.rest[v].y, surface.rest[v].z}; };
  std::vector<Face> faces;
  std::map<std::pair<std::uint32_t, std::uint32_t>, int> sides;
  for (std::size_t i = 0; i < surface.triangles.size(); ++i) {
    const auto& t = surface.triangles[i].vertex;
    const Vec3 a = place(t[0]), n = cross(place(t[1]) - a, place(t[2]) - a);
    const double facing = norm(n) > 0 ? dot(n, to_eye) / norm(n) : 0;
    for (std::size_t k = 0; k < 3; ++k) sides[std::minmax(t[k], t[(k + 1) % 3])] += facing > 0 ? 1 : -1;
    if (facing <= 0) continue;
    const Vec3 middle = (1.0 / 3) * (a + place(t[1]) + place(t[2]));
    faces.push_back({paper.view.nearness(middle), facing, i});
  }
  std::stable_sort(faces.begin(), faces.end(), [](const Face& a, const Face& b) { return a.nearness < b.nearness; });
  for (const Face& face : faces) {
    const TissueTriangle& t = surface.triangles[face.triangle];
    const Colour lit = t.part == WallPart::inside ? kLumen : mix(kWallDark, kWallLit, face.facing);
    std::vector<Point> corners;
    for (const std::uint32_t v : t.vertex) corners.push_back(paper.of(place(v)));
    if (auto inside = clipped(std::move(corners), box); inside.size() >= 3) {
      // Neighbours that only touch would show a hair of the paper between them.
      std::vector<Point> outline = inside;
      outline.push_back(inside.front());
      d.area(std::move(inside), lit);
      d.line(std::move(outline), lit, 0.7);
    }
  }
  for (const auto& [edge, side] : sides)
    if (side == 0) draw_line(d, paper.of(place(edge.first)), paper.of(place(edge.second)), box, kWallEdge);
}

}  // namespace ligature::simulate
