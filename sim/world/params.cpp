#include "sim/world/params.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ligature::world {

ThreadMaterial round_thread(double young_pa, double poisson, double density_g_per_mm3, double diameter_mm,
                            double drag) {
  const double radius = 0.5 * diameter_mm;
  const double area = std::numbers::pi * radius * radius;
  const double second_moment = 0.25 * area * radius * radius;
  const double shear_pa = young_pa / (2.0 * (1.0 + poisson));
  ThreadMaterial m;
  m.stretch_stiffness = young_pa * area;
  m.bend_stiffness = young_pa * second_moment;
  m.twist_stiffness = shear_pa * 2.0 * second_moment;
  m.linear_density = density_g_per_mm3 * area;
  m.drag = drag;
  return m;
}

NeedleSpan needle_span(const ThreadParams& t) {
  if (!t.needle) return {};
  if (!t.needle->at_last) return {0, t.needle->arc_mm};
  const double whole = drawn_length(t);
  return {whole - t.needle->arc_mm, whole};
}

NeedlePlane needle_plane(const ThreadParams& t) {
  const NeedleParams& n = *t.needle;
  const std::size_t last = t.points.size() - 1;
  Vec3 along = n.direction;
  if (!(norm(along) > 0)) along = n.at_last ? t.points[last] - t.points[last - 1] : t.points[0] - t.points[1];
  NeedlePlane out;
  out.direction = (1 / norm(along)) * along;
  const auto across = [&](Vec3 v) { return v - dot(v, out.direction) * out.direction; };
  for (const Vec3 v : {n.toward, cross(Vec3{0, 0, 1}, out.direction), Vec3{1, 0, 0}}) {
    out.toward = across(v);
    const double size = norm(out.toward);
    if (!(size > 1e-9 * norm(v)) || !(size > 0)) continue;
    out.toward = (1 / size) * out.toward;
    break;
  }
  return out;
}

double drawn_length(const ThreadParams& t) {
  if (t.points.empty()) return 0;
  double length = t.closed ? norm(t.points.front() - t.points.back()) : 0.0;
  if (t.needle) length += t.needle->arc_mm;
  for (std::size_t i = 0; i + 1 < t.points.size(); ++i) length += norm(t.points[i + 1] - t.points[i]);
  return length;
}

std::size_t vertex_of(const Place& at, std::size_t vertices, bool closed, double edge_mm) {
  switch (at.kind) {
    case Place::Kind::first:
      return 0;
    case Place::Kind::last:
      return vertices - 1;
    case Place::Kind::vertex:
      return at.vertex;
    case Place::Kind::arc:
      break;
  }
  const auto nearest = static_cast<std::size_t>(std::llround(std::max(0.0, at.s_mm / edge_mm)));
  return closed ? nearest % vertices : std::min(nearest, vertices - 1);
}

Grid grid_of(const ThreadParams& t) {
  const double length = drawn_length(t);
  Grid grid;
  if (t.coarsest_mm > 0)
    grid.block = std::size_t{1} << static_cast<int>(
                     std::clamp(std::floor(std::log2(t.coarsest_mm / t.segment_mm) + 1e-9), 0.0, 20.0));
  if (grid.block == 1) {
    grid.units = static_cast<std::size_t>(std::max(1.0, std::round(length / t.segment_mm)));
    return grid;
  }
  const double blocks = std::ceil(length / (t.segment_mm * static_cast<double>(grid.block)) * (1 - 1e-12));
  grid.units = grid.block * static_cast<std::size_t>(std::max(blocks, t.closed ? 5.0 : 2.0));
  return grid;
}

}  // namespace ligature::world
