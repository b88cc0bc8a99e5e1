#include "space_curves.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <optional>

#include "sim/knot/names/layout.hpp"

namespace ligature::knot {
namespace {

constexpr double kRoom = 1e-3;  // of the triangle's size: what passes nearer counts as in the way

Vec3 any_direction(Random& random) {
  for (;;) {
    const double x = random.normal(), y = random.normal(), z = random.normal();
    const Vec3 v{x, y, z};
    if (const double n = norm(v); n > 1e-3) return (1 / n) * v;
  }
}

/// Whether the segment meets the triangle or comes near it; flat cases count as meeting.
bool meets(Vec3 a, Vec3 b, Vec3 c, Vec3 p, Vec3 q) {
  const auto apart = [](double a0, double a1, double a2, double b0, double b1) {
    const double room = kRoom * (1 + std::max({a0, a1, a2}) - std::min({a0, a1, a2}));
    return std::max({a0, a1, a2}) + room < std::min(b0, b1) || std::max(b0, b1) + room < std::min({a0, a1, a2});
  };
  if (apart(a.x, b.x, c.x, p.x, q.x) || apart(a.y, b.y, c.y, p.y, q.y) || apart(a.z, b.z, c.z, p.z, q.z)) return false;
  const Vec3 normal = cross(b - a, c - a);
  const double size = norm(normal);
  const double longest = std::max({norm(b - a), norm(c - b), norm(a - c)});
  if (longest == 0) return false;
  const double room = kRoom * longest;
  if (size < 1e-9 * longest * longest) {
    // A sliver: anything near its longest side.
    return true;
  }
  const double hp = dot(normal, p - a) / size, hq = dot(normal, q - a) / size;
  if ((hp > room && hq > room) || (hp < -room && hq < -room)) return false;
  // The part of the segment within the slab, by the ends that are inside or where it enters.
  const auto inside = [&](Vec3 x) {
    const auto side = [&](Vec3 s, Vec3 e) { return dot(cross(normal, e - s), x - s) / (size * norm(e - s)); };
    return side(a, b) > -room && side(b, c) > -room && side(c, a) > -room;
  };
  double from = 0, to = 1;
  const double d = hq - hp;
  if (std::abs(d) > 1e-12) {
    const double u = (-room - hp) / d, v = (room - hp) / d;
    from = std::max(from, std::min(u, v));
    to = std::min(to, std::max(u, v));
  }
  if (from > to) return false;
  // Sampled finely enough for a slab that is this thin; a long piece lying in it is taken as met.
  const Vec3 start = p + from * (q - p), end = p + to * (q - p);
  if (norm(end - start) > 20 * room) return true;
  for (int i = 0; i <= 4; ++i)
    if (inside(start + (0.25 * i) * (end - start))) return true;
  return false;
}

/// Whether any edge but those at vertex `at` of curve k meets the triangle; `before` and `after`, where given, are
/// vertices of the curve that are corners of the triangle.
bool triangle_free(const Curves& curves, std::size_t k, std::size_t at, std::optional<std::size_t> before,
                   std::optional<std::size_t> after, Vec3 a, Vec3 b, Vec3 c) {
  for (std::size_t o = 0; o < curves.size(); ++o) {
    const auto& curve = curves[o];
    const std::size_t n = curve.size();
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t j = i + 1 == n ? 0 : i + 1;
      if (o == k && (i == at || j == at)) continue;
      Vec3 p = curve[i], q = curve[j];
      // An edge that ends in a corner meets the triangle there anyway, and elsewhere only if it lies in its plane.
      if (o == k && (i == before || i == after)) p = p + 0.02 * (q - p);
      if (o == k && (j == before || j == after)) q = q + 0.02 * (p - q);
      if (meets(a, b, c, p, q)) return false;
    }
  }
  return true;
}

}  // namespace

Result<Curves> in_space(const Diagram& diagram, double height) {
  const auto layout = lay_out(diagram);
  if (!layout) return unexpected(layout.error());
  Curves out;
  for (std::size_t k = 0; k < diagram.components.size(); ++k) {
    const LaidComponent& laid = layout->components[k];
    const std::size_t n = laid.points.size(), passes = laid.pass_at.size();
    std::vector<Vec3> curve;
    for (const PlanePoint p : laid.points) curve.push_back({p.x, p.y, 0});
    for (std::size_t i = 0; i < passes; ++i) {
      const std::size_t from = laid.pass_at[i], to = i + 1 < passes ? laid.pass_at[i + 1] : n + laid.pass_at[0];
      const double low = diagram.components[k][i].over ? height : -height;
      const double high = diagram.components[k][(i + 1) % passes].over ? height : -height;
      for (std::size_t at = from; at < to; ++at) {
        const double u = static_cast<double>(at - from) / static_cast<double>(to - from);
        curve[at % n].z = low + (high - low) * 0.5 * (1 - std::cos(std::numbers::pi * u));
      }
    }
    out.push_back(std::move(curve));
  }
  return out;
}

bool is_free(const Curves& curves, std::size_t k, std::size_t i, Vec3 p) {
  const auto& curve = curves[k];
  const std::size_t n = curve.size(), before = (i + n - 1) % n, after = (i + 1) % n;
  return triangle_free(curves, k, i, before, std::nullopt, curve[before], curve[i], p) &&
         triangle_free(curves, k, i, std::nullopt, after, curve[after], curve[i], p) &&
         // The two new edges do not fold onto each other.
         norm(cross(curve[before] - p, curve[after] - p)) >
             (dot(curve[before] - p, curve[after] - p) > 0 ? 0.02 * norm(curve[before] - p) * norm(curve[after] - p)
                                                           : -1.0);
}

bool move(Curves& curves, std::size_t k, std::size_t i, Vec3 p) {
  if (!is_free(curves, k, i, p)) return false;
  curves[k][i] = p;
  return true;
}

bool remove(Curves& curves, std::size_t k, std::size_t i) {
  auto& curve = curves[k];
  const std::size_t n = curve.size(), before = (i + n - 1) % n, after = (i + 1) % n;
  if (n < 5 || !triangle_free(curves, k, i, before, after, curve[before], curve[i], curve[after])) return false;
  curve.erase(curve.begin() + static_cast<std::ptrdiff_t>(i));
  return true;
}

void subdivide(Curves& curves, double longest) {
  for (auto& curve : curves) {
    std::vector<Vec3> out;
    for (std::size_t i = 0; i < curve.size(); ++i) {
      const Vec3 a = curve[i], b = curve[(i + 1) % curve.size()];
      const int parts = std::max(1, static_cast<int>(std::ceil(norm(b - a) / longest)));
      for (int s = 0; s < parts; ++s) out.push_back(a + (static_cast<double>(s) / parts) * (b - a));
    }
    curve = std::move(out);
  }
}

void shear(Curves& curves, Random& random, double amplitude, double wavelength, int steps) {
  const Vec3 along = any_direction(random);
  Vec3 across = cross(along, any_direction(random));
  if (norm(across) < 1e-3) return;
  across = (amplitude / norm(across)) * across;
  const double phase = random.uniform(0, 2 * std::numbers::pi), k = 2 * std::numbers::pi / wavelength;
  for (int s = 0; s < steps; ++s)
    for (std::size_t c = 0; c < curves.size(); ++c)
      for (std::size_t i = 0; i < curves[c].size(); ++i) {
        const Vec3 p = curves[c][i];
        move(curves, c, i, p + (std::sin(k * dot(along, p) + phase) / steps) * across);
      }
}

void poke(Curves& curves, Random& random, int times, double reach) {
  for (int t = 0; t < times; ++t) {
    const std::size_t c = random.next() % curves.size(), n = curves[c].size();
    const std::size_t middle = random.next() % n;
    const auto half = static_cast<int>(1 + random.next() % std::max<std::size_t>(n / 8, 2));
    const Vec3 way = random.uniform(0.2, 1.0) * reach * any_direction(random);
    constexpr int kSteps = 8;
    for (int s = 0; s < kSteps; ++s)
      for (int j = -half; j <= half; ++j) {
        const std::size_t i = (middle + n + static_cast<std::size_t>(j + static_cast<int>(n))) % n;
        const double u = static_cast<double>(j) / (half + 1);
        move(curves, c, i, curves[c][i] + ((1 - u * u) * (1 - u * u) / kSteps) * way);
      }
  }
}

void shake(Curves& curves, Random& random, double distance) {
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i < curves[c].size(); ++i) {
      const double far = random.uniform(0, distance);
      move(curves, c, i, curves[c][i] + far * any_direction(random));
    }
}

void resample(Curves& curves, Random& random, double longest) {
  for (std::size_t c = 0; c < curves.size(); ++c)
    for (std::size_t i = 0; i < curves[c].size(); ++i)
      if (random.uniform() < 0.5) remove(curves, c, i);
  subdivide(curves, random.uniform(0.5, 1.0) * longest);
}

void turn(Curves& curves, Random& random) {
  const double x = random.normal(), y = random.normal(), z = random.normal(), w = random.normal();
  const Quat q = normalized({x, y, z, w});
  for (auto& curve : curves)
    for (Vec3& p : curve) p = rotate(q, p);
}

void reflect(Curves& curves) {
  for (auto& curve : curves)
    for (Vec3& p : curve) p.x = -p.x;
}

void deform(Curves& curves, Random& random, double amount) {
  subdivide(curves, 0.5);
  turn(curves, random);
  for (int i = 0; i < 3; ++i) {
    const double wavelength = random.uniform(3, 9);
    shear(curves, random, amount * random.uniform(0.1, 0.3) * wavelength, wavelength, 6);
    if (i == 1) resample(curves, random, 0.6);
  }
  poke(curves, random, static_cast<int>(10 * amount), 2.0);
  shake(curves, random, 0.1);
  turn(curves, random);
}

double clearance(const Curves& curves) {
  double least = 1e300;
  for (std::size_t a = 0; a < curves.size(); ++a)
    for (std::size_t b = a; b < curves.size(); ++b)
      for (std::size_t i = 0; i < curves[a].size(); ++i)
        for (std::size_t j = a == b ? i + 2 : 0; j < curves[b].size(); ++j) {
          if (a == b && (j + 1) % curves[b].size() == i) continue;
          // Sampled: enough to tell near from far.
          const Vec3 p = curves[a][i], q = curves[a][(i + 1) % curves[a].size()];
          const Vec3 r = curves[b][j], s = curves[b][(j + 1) % curves[b].size()];
          for (int u = 0; u <= 4; ++u)
            for (int v = 0; v <= 4; ++v)
              least = std::min(least, norm(p + (0.25 * u) * (q - p) - (r + (0.25 * v) * (s - r))));
        }
  return least;
}

}  // namespace ligature::knot
