#include "render/mesh.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "render/soft.hpp"

namespace ligature::render {
namespace {

constexpr double kPi = std::numbers::pi;

std::array<float, 3> to_float(Vec3 v) {
  return {static_cast<float>(v.x), static_cast<float>(v.y), static_cast<float>(v.z)};
}
Vec3 unit(Vec3 v) {
  return (1 / norm(v)) * v;
}
double smooth(double u) {
  u = std::clamp(u, 0.0, 1.0);
  return u * u * (3 - 2 * u);
}
double mix(double a, double b, double u) {
  return a + (b - a) * u;
}

std::uint32_t add(Mesh& mesh, Vec3 p, Vec3 n, double along, double around, Material material, Part part) {
  mesh.vertices.push_back({to_float(p), to_float(n), static_cast<float>(along), static_cast<float>(around),
                           static_cast<std::uint32_t>(material), static_cast<std::uint32_t>(part)});
  return static_cast<std::uint32_t>(mesh.vertices.size() - 1);
}
void quad(Mesh& mesh, std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
  mesh.indices.insert(mesh.indices.end(), {a, b, c, a, c, d});
}

/// A box with bevelled edges and corners: axes are half extents.
void add_box(Mesh& mesh, Vec3 centre, Vec3 ax, Vec3 ay, Vec3 az, double bevel, Material material) {
  const std::array<Vec3, 3> axis{ax, ay, az};
  for (int corner = 0; corner < 8; ++corner) {
    std::array<Vec3, 3> out;
    for (std::size_t k = 0; k < 3; ++k) out[k] = ((corner >> k & 1) != 0 ? 1.0 : -1.0) * axis[k];
    const Vec3 n = unit(unit(out[0]) + unit(out[1]) + unit(out[2]));
    std::array<std::uint32_t, 3> at{};
    for (std::size_t k = 0; k < 3; ++k) {
      const Vec3 &u = out[(k + 1) % 3], &v = out[(k + 2) % 3];
      at[k] = add(mesh, centre + out[k] + (1 - bevel / norm(u)) * u + (1 - bevel / norm(v)) * v, n, 0, 0, material,
                  Part::body);
    }
    if (dot(cross(out[0], out[1]), out[2]) < 0) std::swap(at[1], at[2]);
    mesh.indices.insert(mesh.indices.end(), {at[0], at[1], at[2]});
  }
  for (std::size_t k = 0; k < 3; ++k) {
    const Vec3 n0 = axis[k], u0 = axis[(k + 1) % 3], v0 = axis[(k + 2) % 3];
    const double u1 = 1 - bevel / norm(u0), v1 = 1 - bevel / norm(v0), n1 = 1 - bevel / norm(n0);
    for (const double s : {-1.0, 1.0}) {
      const Vec3 n = unit(s * n0);
      std::array<std::uint32_t, 4> face{};
      const std::array<std::array<double, 2>, 4> corner{{{-1, -1}, {1, -1}, {1, 1}, {-1, 1}}};
      for (std::size_t i = 0; i < 4; ++i)
        face[i] = add(mesh, centre + s * n0 + (corner[i][0] * u1) * u0 + (s * corner[i][1] * v1) * v0, n, corner[i][0],
                      corner[i][1], material, Part::body);
      quad(mesh, face[0], face[1], face[2], face[3]);
      // The bevel towards +u of this face; the face at +u has its own towards +v, so each edge is built once per sign.
      for (const double su : {-1.0, 1.0}) {
        const Vec3 nb = unit(unit(s * n0) + unit(su * u0));
        const std::array<Vec3, 4> p{
            centre + s * n0 + (su * u1) * u0 - v1 * v0, centre + s * n0 + (su * u1) * u0 + v1 * v0,
            centre + (s * n1) * n0 + su * u0 + v1 * v0, centre + (s * n1) * n0 + su * u0 - v1 * v0};
        std::array<std::uint32_t, 4> edge{};
        for (std::size_t i = 0; i < 4; ++i) edge[i] = add(mesh, p[i], nb, 0, 0, material, Part::body);
        if (dot(cross(p[1] - p[0], p[2] - p[0]), nb) > 0)
          quad(mesh, edge[0], edge[1], edge[2], edge[3]);
        else
          quad(mesh, edge[0], edge[3], edge[2], edge[1]);
      }
    }
  }
}

constexpr std::uint32_t kArmSides = 14;

/// Cross-section of an arm: a superellipse whose inner side (towards y = 0) is flattened into the gripping face.
struct SectionPoint {
  double y, z, ny, nz;
};
SectionPoint section_point(const ArmStation& s, std::size_t i) {
  const double phi = 2 * kPi * static_cast<double>(i) / kArmSides;
  // Rounder at the tip, flatter (exponent 4) where the arm is a wide strip.
  const double exponent = mix(2.6, 4.5, smooth((-s.x_mm - 8) / 25));
  const double c = std::cos(phi), q = std::sin(phi), k = 2 / exponent;
  const double y = std::copysign(std::pow(std::abs(c), k), c), z = std::copysign(std::pow(std::abs(q), k), q);
  double ny = std::copysign(std::pow(std::abs(y), exponent - 1), y) / s.half_y_mm;
  double nz = std::copysign(std::pow(std::abs(z), exponent - 1), z) / s.half_z_mm;
  const double n = std::hypot(ny, nz);
  ny /= n, nz /= n;
  return {s.centre_y_mm + y * s.half_y_mm, z * s.half_z_mm, ny, nz};
}

void add_arm(Mesh& mesh, const ForcepsShape& shape, Part part) {
  const auto stations = arm_stations(shape);
  const double sign = part == Part::plus ? 1 : -1;
  const auto begin = static_cast<std::uint32_t>(mesh.vertices.size());
  for (std::size_t k = 0; k < kArmStations; ++k) {
    const ArmStation& s = stations[k];
    // The outline's slope tilts the normals along x.
    const ArmStation &before = stations[k == 0 ? 0 : k - 1], &after = stations[std::min(k + 1, kArmStations - 1)];
    const double dx = after.x_mm - before.x_mm;
    for (std::size_t i = 0; i < kArmSides; ++i) {
      const SectionPoint p = section_point(s, i), b = section_point(before, i), a = section_point(after, i);
      const double slope = std::abs(dx) > 1e-9 ? ((a.y - b.y) * p.ny + (a.z - b.z) * p.nz) / dx : 0;
      double nx = -slope;
      if (k < 2) nx = k == 0 ? 3.0 : 0.9;  // the tip is rounded
      const Vec3 n = unit({nx, sign * p.ny, p.nz});
      add(mesh, shape.hinge_p_T + Vec3{s.x_mm - shape.hinge_p_T.x, sign * p.y, p.z}, n, s.x_mm,
          static_cast<double>(i) / kArmSides, Material::steel, part);
    }
  }
  for (std::uint32_t k = 0; k + 1 < kArmStations; ++k)
    for (std::uint32_t i = 0; i < kArmSides; ++i) {
      const std::uint32_t j = (i + 1) % kArmSides, a = begin + k * kArmSides, b = a + kArmSides;
      if (part == Part::plus)
        quad(mesh, a + i, b + i, b + j, a + j);
      else
        quad(mesh, a + i, a + j, b + j, b + i);
    }
  // Tip cap.
  const ArmStation& tip = stations[0];
  const std::uint32_t c = add(mesh, shape.hinge_p_T + Vec3{-shape.hinge_p_T.x, sign * tip.centre_y_mm, 0}, {1, 0, 0}, 0,
                              0, Material::steel, part);
  for (std::uint32_t i = 0; i < kArmSides; ++i) {
    const std::uint32_t j = (i + 1) % kArmSides;
    if (part == Part::plus)
      mesh.indices.insert(mesh.indices.end(), {c, begin + i, begin + j});
    else
      mesh.indices.insert(mesh.indices.end(), {c, begin + j, begin + i});
  }
}

/// A tube of revolution from a to b: `radius(u)` outside, lathe of `rows` rows.
template <class Profile>
void add_lathe(Mesh& mesh, Vec3 a, Vec3 axis, Vec3 e1, Vec3 e2, std::size_t rows, std::size_t sides, Material material,
               bool inside, Profile profile) {
  const auto begin = static_cast<std::uint32_t>(mesh.vertices.size());
  for (std::size_t k = 0; k < rows; ++k)
    for (std::size_t i = 0; i <= sides; ++i) {  // the seam's column twice, for a pattern without a crease
      const double phi = 2 * kPi * static_cast<double>(i) / static_cast<double>(sides);
      const auto [x, r, slope] = profile(k, phi);
      const Vec3 out = std::cos(phi) * e1 + std::sin(phi) * e2;
      Vec3 n = unit(out - slope * axis);
      if (inside) n = -1.0 * n;
      add(mesh, a + x * axis + r * out, n, x, phi, material, Part::body);
    }
  const auto columns = static_cast<std::uint32_t>(sides + 1);
  for (std::uint32_t k = 0; k + 1 < rows; ++k)
    for (std::uint32_t i = 0; i + 1 < columns; ++i) {
      const std::uint32_t j = i + 1, p = begin + k * columns, q = p + columns;
      if (inside)
        quad(mesh, p + i, q + i, q + j, p + j);
      else
        quad(mesh, p + i, p + j, q + j, q + i);
    }
}

struct LathePoint {
  double x, r, slope;
};

/// Half of the vessel: `cut` is its open end, `far` the clamped one.
void add_vessel_half(Mesh& mesh, Vec3 cut, Vec3 far, double radius, double seed) {
  const double length = norm(far - cut);
  if (length < 1e-6) return;
  const Vec3 axis = unit(far - cut);
  const Vec3 e1 = unit(cross(axis, std::abs(axis.z) < 0.9 ? Vec3{0, 0, 1} : Vec3{1, 0, 0})), e2 = cross(axis, e1);
  constexpr std::size_t sides = 24, rows = 14;
  const double wall = 0.24 * radius, depth = std::min(length, 3 * radius);
  // The scissors leave a slightly uneven rim, and the media everts it a little.
  const auto edge = [&](double phi) {
    return radius * (0.05 * std::sin(2 * phi + seed) + 0.03 * std::sin(5 * phi + 2.3 * seed));
  };
  const auto outside = [&](double x, double phi) {
    const double lip = 0.06 * std::exp(-x / (0.35 * radius));
    const double squeeze = 0.30 * smooth((x - (length - 2.2 * radius)) / (2.2 * radius));
    return radius *
           (1 + lip - squeeze + 0.018 * std::sin(1.9 * x / radius + seed) + 0.012 * std::sin(3 * phi + x + seed));
  };
  add_lathe(mesh, cut, axis, e1, e2, rows, sides, Material::vessel_outside, false, [&](std::size_t k, double phi) {
    const double u = static_cast<double>(k) / (rows - 1);
    const double x0 = length * u * (0.35 + 0.65 * u);
    const double slope = (outside(x0 + 1e-3, phi) - outside(x0, phi)) / 1e-3;
    return LathePoint{x0 + edge(phi) * std::max(0.0, 1 - x0 / (2 * radius)), outside(x0, phi), slope};
  });
  constexpr std::size_t inner_rows = 5;
  add_lathe(mesh, cut, axis, e1, e2, inner_rows, sides, Material::vessel_inside, true, [&](std::size_t k, double phi) {
    const double x0 = depth * static_cast<double>(k) / (inner_rows - 1);
    return LathePoint{x0 + edge(phi) * std::max(0.0, 1 - x0 / (2 * radius)) + 0.04 * radius,
                      (outside(0, phi) - wall) * (1 - 0.5 * smooth(x0 / depth)), 0};
  });
  // The cut wall, rounded from inside to outside; seen from the gap.
  constexpr std::size_t rim_rows = 4;
  add_lathe(mesh, cut, axis, e1, e2, rim_rows, sides, Material::vessel_wall, false, [&](std::size_t k, double phi) {
    const double u = static_cast<double>(k) / (rim_rows - 1);
    const double lean = std::sin(kPi * u);
    return LathePoint{edge(phi) - 0.05 * radius * lean + 0.04 * radius * (1 - u), outside(0, phi) - wall * (1 - u),
                      3 + 4 * lean};
  });
}

}  // namespace

std::array<ArmStation, kArmStations> arm_stations(const ForcepsShape& shape) {
  std::array<ArmStation, kArmStations> stations;
  const double length = -shape.hinge_p_T.x, jaw = std::min(shape.jaw_length_mm, 0.8 * length);
  const double rt = shape.tip_radius_mm, rj = shape.jaw_radius_mm;
  for (std::size_t k = 0; k < kArmStations; ++k) {
    // Three stations round the tip off; half of the others serve the jaw and its shoulder, which the microscope sees.
    const double u = k < 2 ? 0 : static_cast<double>(k - 2) / (kArmStations - 3);
    const double s = k == 0 ? 0.06 * rt : k == 1 ? 0.35 * rt : rt + (length - rt) * u * u;
    ArmStation& a = stations[k];
    a.x_mm = -s;
    const double round = s < rt ? std::sqrt(1 - (1 - s / rt) * (1 - s / rt)) : 1;
    const double behind = std::clamp((s - jaw) / (length - jaw), 0.0, 1.0);
    // The jaws are the round cones of the physics: faces that meet in y = 0, tip_radius growing to jaw_radius.
    const double jaw_half = mix(rt, rj, std::clamp((s - rt) / (jaw - rt), 0.0, 1.0));
    const double half_y = jaw_half * (1 + 0.6 * smooth(behind * 4));
    a.half_y_mm = half_y * round;
    a.half_z_mm = mix(jaw_half, 4.2, smooth(behind * 1.7)) * round;
    a.centre_y_mm = half_y + 3.2 * std::sin(kPi * std::pow(behind, 0.75));
  }
  return stations;
}

Mesh forceps_mesh(const ForcepsShape& shape) {
  Mesh mesh;
  add_arm(mesh, shape, Part::plus);
  add_arm(mesh, shape, Part::minus);
  add_box(mesh, shape.hinge_p_T + Vec3{-4, 0, 0}, {6, 0, 0}, {0, 2.6, 0}, {0, 0, 4.3}, 0.7, Material::steel);
  return mesh;
}

Mesh clamps_mesh(std::span<const TissueSurface> tissues, double bench_z_mm) {
  Mesh mesh;
  const Vec3 up{0, 0, 1};
  for (const TissueSurface& tissue : tissues)
    for (const CutEnd& end : cut_ends(tissue)) {
      if (!end.held || std::abs(end.normal.z) > 0.7) continue;
      const double radius = end.radius, top = end.centre.z + 1.25 * radius;
      if (!(top > bench_z_mm)) continue;
      const Vec3 across = unit(cross(up, end.normal)), level = cross(across, up);
      const Vec3 middle{end.centre.x, end.centre.y, 0.5 * (bench_z_mm + top)};
      add_box(mesh, middle, (0.45 * radius) * level, (1.6 * radius) * across, (0.5 * (top - bench_z_mm)) * up,
              0.12 * radius, Material::clamp);
    }
  return mesh;
}

Mesh vessel_mesh(const VesselParams& vessel, double bench_z_mm) {
  Mesh mesh;
  const double length = norm(vessel.to_p_W - vessel.from_p_W), radius = 0.5 * vessel.diameter_mm;
  if (!vessel.present || !(radius > 0) || !(length > vessel.gap_mm)) return mesh;
  const Vec3 axis = unit(vessel.to_p_W - vessel.from_p_W), middle = 0.5 * (vessel.from_p_W + vessel.to_p_W);
  add_vessel_half(mesh, middle - (0.5 * vessel.gap_mm) * axis, vessel.from_p_W, radius, 0.4);
  add_vessel_half(mesh, middle + (0.5 * vessel.gap_mm) * axis, vessel.to_p_W, radius, 2.1);

  // A double clamp holds both ends on one rail, as in the operation.
  const Vec3 up{0, 0, 1};
  if (std::abs(axis.z) > 0.7) return mesh;
  const Vec3 across = unit(cross(up, axis)), level = cross(across, up);
  for (const Vec3 end : {vessel.from_p_W, vessel.to_p_W}) {
    const double top = end.z + 1.05 * radius;
    for (const double side : {-1.0, 1.0}) {
      const Vec3 c = end + (side * 0.42 * radius) * level;
      const double z_half = 0.5 * (top - bench_z_mm);
      add_box(mesh, {c.x + 0.6 * radius * across.x, c.y + 0.6 * radius * across.y, bench_z_mm + z_half},
              (0.34 * radius) * level, (2.3 * radius) * across, z_half * up, 0.08 * radius, Material::clamp);
    }
  }
  const Vec3 rail = middle + (2.4 * radius) * across;
  add_box(mesh, {rail.x, rail.y, bench_z_mm + 0.45 * radius}, (0.5 * length + 0.76 * radius) * level,
          (0.34 * radius) * across, (0.4 * radius) * up, 0.1 * radius, Material::clamp);
  return mesh;
}

}  // namespace ligature::render
