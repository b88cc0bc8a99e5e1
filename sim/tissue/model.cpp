#include "sim/tissue/model.hpp"

#include <cmath>
#include <numbers>
#include <string>

#include "sim/base/eigen.hpp"

namespace ligature::tissue {
namespace {

constexpr double kSkin = 0.05;  // of the wall

struct Range {
  const char* key;
  double value, low, high;
};

std::string number(double v) {
  std::string text = std::to_string(v);
  while (text.find('.') != std::string::npos && (text.back() == '0' || text.back() == '.')) {
    const bool dot = text.back() == '.';
    text.pop_back();
    if (dot) break;
  }
  return text;
}

}  // namespace

std::uint32_t vessel_node(const Vessel& v, int i, int j, int k) {
  j = (j % v.around + v.around) % v.around;
  int number = 2 * (v.along + 1) * v.around;  // walls
  const int inner = v.layers - 1;
  if (k == 0 || k == v.layers)
    number = 2 * (i * v.around + j) + (k == 0 ? 0 : 1);
  else if (i == 0 || i == v.along)
    number += ((i == 0 ? 0 : v.around) + j) * inner + k - 1;
  else
    number += 2 * v.around * inner + ((i - 1) * v.around + j) * inner + k - 1;
  return static_cast<std::uint32_t>(number);
}

Result<TissueModel> vessel_model(const Vessel& v) {
  const Material& m = v.material;
  const Range ranges[] = {{"outer_diameter_mm", v.outer_diameter, 0.05, 100},
                          {"wall_mm", v.wall, 1e-3, 0.499 * v.outer_diameter},
                          {"length_mm", v.length, 0.05, 1000},
                          {"young_kpa", m.young * 1e-3, 1e-3, 1e7},
                          {"poisson", m.poisson, 0, 0.495},
                          {"density_kg_per_m3", m.density * 1e6, 1, 1e5},
                          {"relaxation_ms", m.relaxation * 1e3, 0, 1e6},
                          {"drag_per_s", m.drag, 0, 1e9},
                          {"around", static_cast<double>(v.around), 6, 256},
                          {"along", static_cast<double>(v.along), 1, 1024},
                          {"layers", static_cast<double>(v.layers), 1, 8}};
  for (const Range& r : ranges)
    if (!(r.value >= r.low && r.value <= r.high))
      return usage_error("vessel: " + std::string(r.key) + " is " + number(r.value) + ", must be " + number(r.low) +
                         ".." + number(r.high));
  TissueModel out;
  out.material = v.material;
  out.skin = kSkin * v.wall;
  const double outside = 0.5 * v.outer_diameter, inside = outside - v.wall;
  const Eigen::Quaterniond q_WV = to_eigen(v.X_WV.q).normalized();
  const Vector3d p_WV = to_eigen(v.X_WV.p);
  // The polygon has the circle's area: its corners stand a little outside.
  const double step = 2 * std::numbers::pi / v.around, as_round = std::sqrt(step / std::sin(step));
  out.nodes.resize(static_cast<std::size_t>((v.along + 1) * v.around * (v.layers + 1)));
  for (int i = 0; i <= v.along; ++i)
    for (int j = 0; j < v.around; ++j)
      for (int k = 0; k <= v.layers; ++k) {
        const double angle = 2 * std::numbers::pi * j / v.around;
        const double r = as_round * (inside + v.wall * k / v.layers);
        out.nodes[vessel_node(v, i, j, k)] =
            p_WV + q_WV * Vector3d(v.length * i / v.along, r * std::cos(angle), r * std::sin(angle));
      }
  const auto node = [&](int i, int j, int k) { return vessel_node(v, i, j, k); };
  for (int i = 0; i < v.along; ++i)
    for (int j = 0; j < v.around; ++j)
      for (int k = 0; k < v.layers; ++k)
        out.elements.push_back({node(i, j, k), node(i + 1, j, k), node(i + 1, j, k + 1), node(i, j, k + 1),
                                node(i, j + 1, k), node(i + 1, j + 1, k), node(i + 1, j + 1, k + 1),
                                node(i, j + 1, k + 1)});
  // Diagonals cross from one quadrilateral to the next, so that the surface favours no direction of twist.
  const auto quad = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d, bool other,
                        SurfacePart part) {
    if (other) {
      out.surface.push_back({{a, b, d}, part});
      out.surface.push_back({{b, c, d}, part});
    } else {
      out.surface.push_back({{a, b, c}, part});
      out.surface.push_back({{a, c, d}, part});
    }
  };
  for (int i = 0; i < v.along; ++i)
    for (int j = 0; j < v.around; ++j) {
      const bool other = (i + j) % 2 != 0;
      const int top = v.layers;
      quad(node(i, j, top), node(i, j + 1, top), node(i + 1, j + 1, top), node(i + 1, j, top), other,
           SurfacePart::outer);
      quad(node(i, j, 0), node(i + 1, j, 0), node(i + 1, j + 1, 0), node(i, j + 1, 0), other, SurfacePart::inner);
    }
  for (int j = 0; j < v.around; ++j)
    for (int k = 0; k < v.layers; ++k) {
      const bool other = (j + k) % 2 != 0;
      quad(node(0, j, k), node(0, j + 1, k), node(0, j + 1, k + 1), node(0, j, k + 1), other, SurfacePart::first_end);
      quad(node(v.along, j, k), node(v.along, j, k + 1), node(v.along, j + 1, k + 1), node(v.along, j + 1, k), other,
           SurfacePart::last_end);
    }
  for (int end = 0; end < 2; ++end) {
    if (!(end == 0 ? v.fix_first : v.fix_last)) continue;
    for (int j = 0; j < v.around; ++j)
      for (int k = 0; k <= v.layers; ++k) out.fixed.push_back(node(end == 0 ? 0 : v.along, j, k));
  }
  return out;
}

}  // namespace ligature::tissue
