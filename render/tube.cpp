#include "render/tube.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace ligature::render {
namespace {

std::array<float, 3> to_float(Vec3 v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}
Vec3 from_float(const std::array<float, 3>& v) {
  return {v[0], v[1], v[2]};
}

Vec3 any_across(Vec3 t) {
  const Vec3 axis = std::abs(t.z) < 0.9 ? Vec3{0, 0, 1} : Vec3{1, 0, 0};
  const Vec3 n = cross(t, axis);
  return (1 / norm(n)) * n;
}

/// Carries n from (p0, t0) to (p1, t1) by two reflections [Wang 2008, algorithm 1].
Vec3 transport(Vec3 p0, Vec3 t0, Vec3 n0, Vec3 p1, Vec3 t1) {
  Vec3 n = n0, t = t0;
  const Vec3 v1 = p1 - p0;
  if (const double c1 = dot(v1, v1); c1 > 1e-18) {
    n = n - (2 / c1 * dot(v1, n)) * v1;
    t = t - (2 / c1 * dot(v1, t)) * v1;
  }
  const Vec3 v2 = t1 - t;
  if (const double c2 = dot(v2, v2); c2 > 1e-18) n = n - (2 / c2 * dot(v2, n)) * v2;
  n = n - dot(n, t1) * t1;
  const double length = norm(n);
  return length > 1e-6 ? (1 / length) * n : any_across(t1);
}

struct CurvePoint {
  Vec3 p, dp;
};
CurvePoint catmull_rom(Vec3 a, Vec3 b, Vec3 c, Vec3 d, double u) {
  const Vec3 m0 = 0.5 * (c - a), m1 = 0.5 * (d - b), e = c - b;
  const Vec3 k2 = 3.0 * e - 2.0 * m0 - m1, k3 = m0 + m1 - 2.0 * e;
  return {b + u * (m0 + u * (k2 + u * k3)), m0 + u * (2.0 * k2 + 3 * u * k3)};
}

bool finite(const SnapshotVertex& v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

}  // namespace

TubeBuilder::TubeBuilder()
    : points_(std::make_unique<std::array<Vec3, kMaxSnapshotVertices>>()),
      wire_(std::make_unique<std::array<bool, kMaxSnapshotVertices>>()) {}

std::size_t TubeBuilder::build(const SceneSnapshot& scene, double spacing_mm, double min_radius_mm, Ring* out,
                               std::size_t capacity, FixedVector<RingRange, kMaxThreads>& ranges) noexcept {
  ranges.clear();
  std::size_t written = 0;
  auto& points = *points_;
  auto& wire = *wire_;
  // What every thread may spend on smoothness, so that the last one finds room for its rings too.
  std::size_t asked = 0;
  for (const SnapshotThread& thread : scene.threads)
    asked += std::min<std::size_t>(thread.vertex_count, kMaxSnapshotVertices);
  const std::size_t ends = scene.threads.size() * (2 * kCapRings + 1);
  const std::size_t share = capacity > ends && asked > 0 ? (capacity - ends) / asked : 0;
  for (const SnapshotThread& thread : scene.threads) {
    const std::size_t first = std::min<std::size_t>(thread.first_vertex, scene.vertices.size());
    const std::size_t given = std::min<std::size_t>(thread.vertex_count, scene.vertices.size() - first);
    std::size_t n = 0;
    double length = 0;
    for (std::size_t i = 0; i < given; ++i) {
      const SnapshotVertex& v = scene.vertices[first + i];
      if (!finite(v) || std::abs(v.x) > 1e5F || std::abs(v.y) > 1e5F || std::abs(v.z) > 1e5F) continue;
      const Vec3 p{v.x, v.y, v.z};
      if (n > 0) {
        const double d = norm(p - points[n - 1]);
        if (d < 1e-5) continue;
        length += d;
      }
      wire[n] = i >= thread.needle_first && i - thread.needle_first < thread.needle_count;
      points[n++] = p;
    }
    const bool closed = thread.closed && n >= 3;
    if (closed && norm(points[n - 1] - points[0]) < 1e-5) --n;
    if (n < 2 || !std::isfinite(thread.radius_mm) || thread.radius_mm <= 0) continue;

    const std::size_t segments = closed ? n : n - 1;
    const std::size_t extra = closed ? 1 : 1 + 2 * kCapRings;
    if (written + segments + extra > capacity) continue;
    // As many rings per segment as the wanted spacing asks for, the share and eight allow.
    const double mean = length / static_cast<double>(n - 1);
    std::size_t per_segment = static_cast<std::size_t>(std::clamp(std::ceil(mean / spacing_mm), 1.0, 8.0));
    per_segment = std::max<std::size_t>(1, std::min(per_segment, share));

    const double thin = std::max<double>(thread.radius_mm, min_radius_mm);
    const bool has_wire = thread.needle_count > 0 && std::isfinite(thread.needle_radius_mm);
    const double thick = has_wire ? std::max<double>(thread.needle_radius_mm, min_radius_mm) : thin;
    const auto at = [&](std::ptrdiff_t i) {
      const auto count = static_cast<std::ptrdiff_t>(n);
      if (closed) return points[static_cast<std::size_t>((i + count) % count)];
      if (i < 0) return 2.0 * points[0] - points[1];
      if (i >= count) return 2.0 * points[n - 1] - points[n - 2];
      return points[static_cast<std::size_t>(i)];
    };

    const std::size_t begin = written;
    if (!closed) written += kCapRings;  // filled below, once the end's frame is known
    const std::size_t body = written;
    const std::size_t rings = segments * per_segment + 1;
    Vec3 p_before, t_before, n_before;
    for (std::size_t k = 0; k < rings; ++k) {
      const std::size_t segment = std::min(k / per_segment, segments - 1);
      const double u = static_cast<double>(k - segment * per_segment) / static_cast<double>(per_segment);
      const auto i = static_cast<std::ptrdiff_t>(segment);
      const CurvePoint c = catmull_rom(at(i - 1), at(i), at(i + 1), at(i + 2), u);
      const double speed = norm(c.dp);
      // The derivative vanishes only where the thread doubles back on itself within one vertex.
      const Vec3 chord = at(i + 1) - at(i);
      const Vec3 t = speed > 1e-6 ? (1 / speed) * c.dp : (1 / norm(chord)) * chord;
      const Vec3 across = k == 0 ? any_across(t) : transport(p_before, t_before, n_before, c.p, t);
      const std::size_t next = segment + 1 < n ? segment + 1 : 0;
      const double from = wire[segment] ? thick : thin, to = wire[next] ? thick : thin;
      const bool steel = has_wire && (u < 0.5 ? wire[segment] : wire[next]);
      out[written++] = {to_float(c.p),    static_cast<float>(from + u * (to - from)),
                        to_float(across), 0,
                        to_float(t),      steel ? 1 + kWire : 1};
      p_before = c.p, t_before = t, n_before = across;
    }

    if (closed) {
      const Vec3 n0 = from_float(out[body].normal), t0 = from_float(out[body].tangent);
      const double left_over = std::atan2(dot(cross(n_before, n0), t0), dot(n_before, n0));
      for (std::size_t k = 0; k < rings; ++k) {
        Ring& ring = out[body + k];
        const double angle = left_over * static_cast<double>(k) / static_cast<double>(rings - 1);
        ring.normal = to_float(rotate(axis_angle(from_float(ring.tangent), angle), from_float(ring.normal)));
      }
    } else {
      const auto cap = [&](const Ring& end, double sign, std::size_t where, std::size_t k) {
        const double angle = 0.5 * std::numbers::pi * static_cast<double>(k) / kCapRings;
        Ring ring = end;
        const double radius = end.radius;
        ring.centre = to_float(from_float(end.centre) + (sign * radius * std::sin(angle)) * from_float(end.tangent));
        ring.radius = static_cast<float>(radius * std::cos(angle));
        ring.tilt = static_cast<float>(sign * std::sin(angle));
        out[where] = ring;
      };
      for (std::size_t k = 1; k <= kCapRings; ++k) cap(out[body], -1, body - k, k);
      const std::size_t last = written - 1;
      for (std::size_t k = 1; k <= kCapRings; ++k) cap(out[last], 1, last + k, k);
      written = last + 1 + kCapRings;
    }
    ranges.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(written - begin)});
  }
  return written;
}

}  // namespace ligature::render
