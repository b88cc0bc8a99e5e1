/// Where round cones meet a surface of triangles: the nearest places against a search along the axis, and that none of
/// them comes from nowhere as the tool glides.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/tool_contacts.hpp"
#include "tests/sim/crumpled.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastDeeper = 1.01e-4;  // of the tip's radius: edges nearer by less are left to their ends

/// A straight row of spheres.
struct Tool {
  std::vector<Vector3d> x;
  std::vector<double> radius;
  Tool(const Vector3d& from, const Vector3d& to, double thin, double thick, int spheres) {
    for (int i = 0; i < spheres; ++i) {
      const double s = i / (spheres - 1.0);
      x.push_back((1 - s) * from + s * to);
      radius.push_back((1 - s) * thin + s * thick);
    }
  }
  Strand strand() const {
    Strand s;
    s.x = x.data(), s.vertices = x.size(), s.radii = radius.data();
    s.radius = std::max(radius.front(), radius.back()), s.thinnest = std::min(radius.front(), radius.back());
    s.rest_length = (x[1] - x[0]).norm();
    return s;
  }
  /// Least of |p - a(t)| - r(t) over the surface, looked for along the axis.
  double least_gap(const TriangleMesh& mesh) const {
    const auto at = [&](double t) {
      const Vector3d p = (1 - t) * x.front() + t * x.back();
      return mesh.nearest(p, 1e3).distance - ((1 - t) * radius.front() + t * radius.back());
    };
    return least_of(at, 400);
  }
};

struct Scene {
  Still body;
  Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* body_list = &obstacle;
  SoftBody* soft_list = &body;
  ToolContacts contacts{2048};

  explicit Scene(TriangleMesh mesh) : body(std::move(mesh)) {}
  const std::vector<BodyContact>& find(const Tool& tool, double reach) {
    EXPECT_EQ(contacts.find({tool.strand()}, {&body_list, 1, 1, &soft_list}, reach), 0u);
    return contacts.contacts();
  }
};

TEST(ToolContacts, TheNearestPlaceOfTheSurfaceIsOneOfThem) {
  Random random(20261123);
  for (const double rough : {0.0, 0.02, 0.1}) {
    int bore = 0;
    for (int k = 0; k < 40; ++k) {
      Scene scene(crumpled(random, 0.5, 18, 12, rough));
      for (int place = 0; place < 20; ++place) {
        // A tool beside it, tilted, its axis outside.
        const Vector3d way = unit(random), along = unit(random);
        const Vector3d tip = random.uniform(0.45, 0.9) * way;
        const double thin = random.uniform(0.05, 0.3), thick = thin + random.uniform(-0.04, 0.4);
        const Tool tool(tip, tip + 2 * along, thin, std::max(thick, 0.02), 20);
        const double least = tool.least_gap(scene.body.surface());
        if (least < -0.5 * std::min(thin, tool.radius.back()) || least > 0.2) continue;
        double found = 1e9;
        for (const BodyContact& c : scene.find(tool, 0.25)) {
          found = std::min(found, c.contact.gap);
          // Said of the tool's place and the surface's.
          const double at = (c.contact.pair.edge_a + c.contact.sa) / 19;
          const Vector3d axis = (1 - at) * tool.x.front() + at * tool.x.back();
          const Vector3d on = place_of(c.contact, scene.body.surface());
          EXPECT_NEAR((axis - on).norm() - ((1 - at) * tool.radius.front() + at * tool.radius.back()), c.contact.gap,
                      1e-9);
          EXPECT_NEAR((axis - on).normalized().dot(c.contact.normal), 1, 1e-9);
        }
        ++bore;
        EXPECT_NEAR(found, least, kLeastDeeper * thin) << "rough " << rough << ", mesh " << k << ", place " << place;
      }
    }
    EXPECT_GT(bore, 100) << rough;
  }
}

// What a tool comes to bear on next was known before it did: as deep as it is found then, but for the curvature of
// both.
TEST(ToolContacts, NoPlaceComesFromNowhereAsTheToolGlides) {
  Random random(7);
  constexpr double kMove = 1e-3;
  int taken_over = 0;
  for (int k = 0; k < 20; ++k) {
    Scene scene(crumpled(random, 0.5, 18, 12, 0.03));
    const double turn = random.uniform(0, 6), tilt = random.uniform(-0.5, 0.5);
    Vector3d tip(0.75 * std::cos(turn), -0.4, 0.75 * std::sin(turn));
    const Vector3d up = Vector3d(std::cos(turn), tilt, std::sin(turn)).normalized();
    std::map<std::pair<std::uint32_t, std::uint32_t>, Vector3d> known;  // where on the surface
    std::pair<std::uint32_t, std::uint32_t> nearest_before{};
    for (int i = 0; i < 800; ++i, tip.y() += kMove) {
      const Tool tool(tip, tip + 2 * up, 0.2, 0.4, 20);
      double least = 1e9;
      std::pair<std::uint32_t, std::uint32_t> nearest;
      std::map<std::pair<std::uint32_t, std::uint32_t>, Vector3d> now;
      const TriangleMesh& mesh = scene.body.surface();
      for (const BodyContact& c : scene.find(tool, 0.2)) {
        now[{c.number, c.vertex}] = place_of(c.contact, mesh);
        if (c.contact.gap < least) least = c.contact.gap, nearest = {c.number, c.vertex};
      }
      if (i > 0 && least < 0.15) {
        // The places that were known, against the tool where it is now.
        double foretold = 1e9;
        for (const auto& [which, on] : known)
          for (int s = 0; s <= 2000; ++s) {
            const double t = s / 2000.0;
            foretold = std::min(foretold, (on - (1 - t) * tool.x.front() - t * tool.x.back()).norm() - (0.2 + 0.2 * t));
          }
        // Less than a tenth of the move: a place gains what it glides along its edge. One from nowhere has no bound.
        EXPECT_NEAR(foretold, least, 0.1 * kMove) << "mesh " << k << ", at " << i;
        taken_over += nearest != nearest_before;
      }
      known = std::move(now);
      nearest_before = nearest;
    }
  }
  EXPECT_GT(taken_over, 50) << "it did glide over edges";
}

}  // namespace
}  // namespace ligature::contact
