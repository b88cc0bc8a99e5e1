/// Tissue against what beam, ring and membrane theory say, and under refinement. Loads are small: theory is linear.
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "sim/tissue/tissue.hpp"

namespace ligature::tissue {
namespace {

constexpr double kPi = std::numbers::pi;
constexpr double kYoung = 1e6;  // Pa

/// In equilibrium after a step: a second is long.
Tissue still(TissueModel model) {
  auto t = Tissue::create(std::move(model), {.dt = 1, .iterations = 300, .residual_target = 1e-9});
  EXPECT_TRUE(t.has_value());
  return std::move(*t);
}
Tissue still(const Vessel& v) {
  auto model = vessel_model(v);
  EXPECT_TRUE(model.has_value());
  return still(std::move(*model));
}
Vessel vessel(int around, int along, double wall, double poisson) {
  Vessel v;
  v.around = around, v.along = along, v.wall = wall;
  v.material = {.young = kYoung, .poisson = poisson, .relaxation = 0, .drag = 0};
  return v;
}
void rest(Tissue& t) {
  for (int k = 0; k < 4; ++k) t.step_alone(1.0);
  EXPECT_EQ(t.report().inverted, 0);
}
double moved(const Tissue& t, std::uint32_t node, int axis) {
  return t.x()[node][axis] - t.model().nodes[node][axis];
}

/// A strip along x, one element thick, held at x = 0.
TissueModel strip(double length, double width, double height, int along, int across, double poisson, double skew) {
  TissueModel m;
  m.material = {.young = kYoung, .poisson = poisson, .relaxation = 0, .drag = 0};
  const auto node = [&](int i, int j, int k) { return static_cast<std::uint32_t>((i * (across + 1) + j) * 2 + k); };
  for (int i = 0; i <= along; ++i)
    for (int j = 0; j <= across; ++j)
      for (int k = 0; k < 2; ++k) {
        const double lean =
            i == 0 || i == along ? 0 : skew * (i % 2 == 0 ? 1 : -1) * (j - 0.5 * across) * length / along;
        m.nodes.push_back({length * i / along + lean, width * j / across - 0.5 * width, height * (k - 0.5)});
      }
  for (int i = 0; i < along; ++i)
    for (int j = 0; j < across; ++j)
      m.elements.push_back({node(i, j, 0), node(i + 1, j, 0), node(i + 1, j + 1, 0), node(i, j + 1, 0), node(i, j, 1),
                            node(i + 1, j, 1), node(i + 1, j + 1, 1), node(i, j + 1, 1)});
  const auto quad = [&](std::uint32_t a, std::uint32_t b, std::uint32_t c, std::uint32_t d) {
    m.surface.push_back({{a, b, c}, SurfacePart::outer});
    m.surface.push_back({{a, c, d}, SurfacePart::outer});
  };
  for (int i = 0; i < along; ++i)
    for (int j = 0; j < across; ++j) {
      quad(node(i, j, 1), node(i + 1, j, 1), node(i + 1, j + 1, 1), node(i, j + 1, 1));
      quad(node(i, j, 0), node(i, j + 1, 0), node(i + 1, j + 1, 0), node(i + 1, j, 0));
    }
  for (int i = 0; i < along; ++i) {
    quad(node(i, 0, 0), node(i + 1, 0, 0), node(i + 1, 0, 1), node(i, 0, 1));
    quad(node(i, across, 0), node(i, across, 1), node(i + 1, across, 1), node(i + 1, across, 0));
  }
  for (int j = 0; j < across; ++j) {
    quad(node(0, j, 0), node(0, j, 1), node(0, j + 1, 1), node(0, j + 1, 0));
    quad(node(along, j, 0), node(along, j + 1, 0), node(along, j + 1, 1), node(along, j, 1));
    for (int k = 0; k < 2; ++k) m.fixed.push_back(node(0, j, k));
  }
  for (int k = 0; k < 2; ++k) m.fixed.push_back(node(0, across, k));
  return m;
}

/// Drop of a strip's tip over Timoshenko's P L^3 / 3 E I + P L / (k G A).
double strip_over_theory(double height, int along, double poisson, double skew) {
  constexpr double kLength = 2, kWidth = 0.1, kForce = 1e-3;
  Tissue t = still(strip(kLength, kWidth, height, along, 1, poisson, skew));
  const auto last = static_cast<std::uint32_t>(t.nodes() - 4);
  for (std::uint32_t k = 0; k < 4; ++k) t.load(last + k, {0, 0, -kForce / 4});
  rest(t);
  double drop = 0;
  for (std::uint32_t k = 0; k < 4; ++k) drop -= moved(t, last + k, 2) / 4;
  const double inertia = kWidth * std::pow(height, 3) / 12, shear = kYoung / (2 * (1 + poisson));
  return drop / (kForce * std::pow(kLength, 3) / (3 * kYoung * inertia) +
                 kForce * kLength / (5.0 / 6.0 * shear * kWidth * height));
}

TEST(TissueTheory, OneLayerBendsAsABeam) {
  for (const double height : {0.06, 0.1, 0.15}) EXPECT_NEAR(strip_over_theory(height, 16, 0.0, 0), 1, 0.005) << height;
  // Poisson: the clamp forbids the section to change, over a length of its width; 20 times thinner than long.
  for (const double poisson : {0.3, 0.45, 0.49})
    EXPECT_NEAR(strip_over_theory(0.1, 20, poisson, 0), 1, 0.025) << poisson;
}

TEST(TissueTheory, SlantedElementsBendAsABeam) {
  // What passes the patch test stiffens with the square of the slant [MacNeal 1987]: 0.87 at 17 degrees, one layer.
  EXPECT_NEAR(strip_over_theory(0.1, 20, 0.3, 0.15), 1, 0.06);
  EXPECT_NEAR(strip_over_theory(0.1, 20, 0.3, 0.3), 1, 0.15);
  EXPECT_NEAR(strip_over_theory(0.1, 40, 0.3, 0.3), 1, 0.06);
}

double tube_over_theory(const Vessel& v) {
  Tissue t = still(v);
  const double force = 1, outside = 0.5 * v.outer_diameter, inside = outside - v.wall;
  const double share = force / (2 * v.around);
  for (int j = 0; j < v.around; ++j)
    for (int k = 0; k < 2; ++k) t.load(vessel_node(v, v.along, j, k), {0, 0, share});
  rest(t);
  double lift = 0;
  for (int j = 0; j < v.around; ++j)
    for (int k = 0; k < 2; ++k) lift += moved(t, vessel_node(v, v.along, j, k), 2) / (2 * v.around);
  const double nu = v.material.poisson, m = inside / outside, c = (1 + m * m) * (1 + m * m);
  const double shear = 6 * (1 + nu) * c / ((7 + 6 * nu) * c + (20 + 12 * nu) * m * m);  // [Cowper 1966]
  const double area = kPi * (outside * outside - inside * inside);
  const double inertia = kPi / 4 * (std::pow(outside, 4) - std::pow(inside, 4));
  return lift / (force * std::pow(v.length, 3) / (3 * kYoung * inertia) +
                 force * v.length * 2 * (1 + nu) / (shear * kYoung * area));
}

TEST(TissueTheory, TubeBendsAsATimoshenkoBeam) {
  for (const double wall : {0.06, 0.1, 0.15}) {
    Vessel v = vessel(20, 20, wall, 0.3);
    v.length = 6;
    EXPECT_NEAR(tube_over_theory(v), 1, 0.02) << wall;
  }
  Vessel v = vessel(24, 24, 0.1, 0.45);  // the clamp holds the section round, too: 1 - 0.5 nu^2 R / L, about
  v.length = 6;
  EXPECT_NEAR(tube_over_theory(v), 1, 0.04);
}

/// Opening of a ring pulled apart by two opposite forces, over that of a thick curved bar with shear (pi/4 - 2/pi =
/// 0.149 for a thin one) [Roark, table 9.2, case 1].
double ring_over_theory(int around, double wall, double poisson) {
  Vessel v = vessel(around, 1, wall, poisson);
  v.length = 0.1, v.fix_first = false;
  Tissue t = still(v);
  const double force = 0.01;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k) {
      t.load(vessel_node(v, i, 0, k), {0, force / 4, 0});
      t.load(vessel_node(v, i, around / 2, k), {0, -force / 4, 0});
    }
  rest(t);
  double opening = 0;
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k)
      opening += (moved(t, vessel_node(v, i, 0, k), 1) - moved(t, vessel_node(v, i, around / 2, k), 1)) / 4;
  const double radius = 0.5 - 0.5 * wall, neutral = wall / std::log(0.5 / (0.5 - wall)), e = radius - neutral;
  const double alpha = e / radius, beta = 1.2 * 2 * (1 + poisson) * alpha;
  const double k1 = 1 - alpha + beta, k2 = 1 - alpha, section = wall * v.length;
  return opening / (force * radius * radius / (kYoung * section * e) * (kPi * k1 / 4 - 2 * k2 * k2 / kPi));
}

TEST(TissueTheory, PinchedRingOpensAsACurvedBar) {
  for (const double wall : {0.06, 0.1, 0.15}) {
    const double coarse = 1 - ring_over_theory(24, wall, 0.0), fine = 1 - ring_over_theory(48, wall, 0.0);
    EXPECT_LT(coarse, 0.07) << wall;
    EXPECT_LT(std::abs(fine), 0.02) << wall;
    EXPECT_GT(coarse / fine, 3.2) << wall << ": second order";
  }
}

TEST(TissueTheory, PressureWidensATubeAsHoopStressSays) {
  for (const double poisson : {0.3, 0.45, 0.49}) {
    Vessel v = vessel(24, 4, 0.1, poisson);
    v.length = 1, v.fix_first = false;
    Tissue t = still(v);
    const double pressure = 10;
    for (const SurfaceTriangle& s : t.model().surface) {
      if (s.part != SurfacePart::inner) continue;
      const auto& x = t.model().nodes;
      const Vector3d area = 0.5 * (x[s.node[1]] - x[s.node[0]]).cross(x[s.node[2]] - x[s.node[0]]);
      for (const std::uint32_t node : s.node) t.load(node, -pressure / 3 * area);
    }
    rest(t);
    double widened = 0;
    for (int j = 0; j < v.around; ++j) {
      const std::uint32_t n = vessel_node(v, 2, j, 1);
      widened += (t.x()[n].tail<2>().norm() - t.model().nodes[n].tail<2>().norm()) / v.around;
    }
    const double inside = 0.4, outside = 0.5;  // Lame, open ends
    const double theory = 2 * pressure * inside * inside * outside / (kYoung * (outside * outside - inside * inside));
    EXPECT_NEAR(widened / theory, 1, 0.01) << poisson;
  }
}

TEST(TissueTheory, PulledTubeGetsLongerByHookeAndThinnerByPoisson) {
  for (const double poisson : {0.0, 0.3, 0.45, 0.49}) {
    Vessel v = vessel(20, 10, 0.1, poisson);
    v.length = 3, v.fix_first = false;
    Tissue t = still(v);
    const double stress = 100;
    // Shares of the end's area as an element's face gives them.
    for (const SurfaceTriangle& s : t.model().surface) {
      if (s.part != SurfacePart::first_end && s.part != SurfacePart::last_end) continue;
      const auto& x = t.model().nodes;
      const Vector3d area = 0.5 * (x[s.node[1]] - x[s.node[0]]).cross(x[s.node[2]] - x[s.node[0]]);
      for (const std::uint32_t node : s.node) t.load(node, stress / 3 * area);
    }
    rest(t);
    double longer = 0, thinner = 0;
    for (int j = 0; j < v.around; ++j) {
      longer += (moved(t, vessel_node(v, 8, j, 0), 0) - moved(t, vessel_node(v, 2, j, 0), 0)) / (1.8 * v.around);
      const std::uint32_t n = vessel_node(v, 5, j, 1);
      thinner += (1 - t.x()[n].tail<2>().norm() / t.model().nodes[n].tail<2>().norm()) / v.around;
    }
    EXPECT_NEAR(longer / (stress / kYoung), 1, 0.002) << poisson;
    EXPECT_NEAR(thinner / longer, poisson, 0.002) << poisson;
  }
}

/// Lift of the upper edge of a vessel's free end by a force there, as a thread through the wall would pull it [mm].
double lift(int around, int along, double force) {
  Vessel v = vessel(around, along, 0.1, 0.45);
  Tissue t = still(v);
  const std::uint32_t node = vessel_node(v, along, 0, 1);
  t.load(node, {0, force, 0});
  rest(t);
  return moved(t, node, 1);
}

TEST(TissueTheory, TwiceFinerVesselIsLiftedAsFar) {
  for (const double force : {30.0, 300.0}) {  // uN: 0.03 and 0.27 mm
    const double coarse = lift(12, 10, force), middle = lift(24, 20, force), fine = lift(48, 40, force);
    EXPECT_NEAR(coarse / middle, 1, 0.10) << force;
    EXPECT_NEAR(middle / fine, 1, 0.06) << force;
  }
}

}  // namespace
}  // namespace ligature::tissue
