#include "sim/contact/obstacle.hpp"

#include <gtest/gtest.h>

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>
#include <random>

#include "capstan_scene.hpp"
#include "sim/contact/body_contacts.hpp"
#include "sim/contact/mesh_contacts.hpp"
#include "sim/contact/obstacle_guard.hpp"
#include "sim/contact/rings.hpp"
#include "sim/contact/smooth_curve.hpp"

namespace ligature::world {
namespace {

using contact::Obstacle;
using contact::TriangleMesh;
using Eigen::Vector3d;

struct MeshData {
  std::vector<Vector3d> vertices;
  std::vector<TriangleMesh::Triangle> triangles;
};

/// A torus round the z axis.
MeshData torus(double ring, double tube, std::uint32_t around, std::uint32_t across) {
  MeshData m;
  for (std::uint32_t i = 0; i < around; ++i)
    for (std::uint32_t j = 0; j < across; ++j) {
      const double a = 2 * std::numbers::pi * i / around, b = 2 * std::numbers::pi * j / across;
      const double r = ring + tube * std::cos(b);
      m.vertices.emplace_back(r * std::cos(a), r * std::sin(a), tube * std::sin(b));
    }
  const auto at = [&](std::uint32_t i, std::uint32_t j) { return (i % around) * across + j % across; };
  for (std::uint32_t i = 0; i < around; ++i)
    for (std::uint32_t j = 0; j < across; ++j) {
      m.triangles.push_back({at(i, j), at(i + 1, j), at(i + 1, j + 1)});
      m.triangles.push_back({at(i, j), at(i + 1, j + 1), at(i, j + 1)});
    }
  return m;
}

MeshData box(const Vector3d& low, const Vector3d& high) {
  MeshData m;
  for (int k = 0; k < 8; ++k)
    m.vertices.emplace_back(k & 1 ? high.x() : low.x(), k & 2 ? high.y() : low.y(), k & 4 ? high.z() : low.z());
  for (const auto& q : {std::array<std::uint32_t, 4>{0, 2, 3, 1},
                        {4, 5, 7, 6},
                        {0, 1, 5, 4},
                        {2, 6, 7, 3},
                        {0, 4, 6, 2},
                        {1, 3, 7, 5}}) {
    m.triangles.push_back({q[0], q[1], q[2]});
    m.triangles.push_back({q[0], q[2], q[3]});
  }
  return m;
}

/// Round the y axis, inside of a cylinder.
MeshData prism(double radius, double half_length, std::uint32_t facets) {
  MeshData m;
  for (std::uint32_t i = 0; i < facets; ++i)
    for (const double y : {-half_length, half_length}) {
      const double a = 2 * std::numbers::pi * i / facets;
      m.vertices.emplace_back(radius * std::cos(a), y, radius * std::sin(a));
    }
  m.vertices.emplace_back(0, -half_length, 0);
  m.vertices.emplace_back(0, half_length, 0);
  for (std::uint32_t i = 0; i < facets; ++i) {
    const std::uint32_t a = 2 * i, b = 2 * ((i + 1) % facets), low = 2 * facets;
    m.triangles.push_back({a, a + 1, b + 1});
    m.triangles.push_back({a, b + 1, b});
    m.triangles.push_back({low, a, b});
    m.triangles.push_back({low + 1, b + 1, a + 1});
  }
  return m;
}

TriangleMesh mesh_of(MeshData m) {
  auto mesh = TriangleMesh::create(std::move(m.vertices), std::move(m.triangles));
  EXPECT_TRUE(mesh) << (mesh ? "" : mesh.error().message);
  return std::move(*mesh);
}

std::vector<std::pair<const char*, Obstacle>> bodies() {
  std::vector<std::pair<const char*, Obstacle>> out;
  out.emplace_back("plane", Obstacle::plane({0.3, 0, 0.2}, {1, 2, 3}));
  out.emplace_back("sphere", Obstacle::sphere({0.5, -0.2, 0.3}, 1.1));
  out.emplace_back("capsule", Obstacle::capsule({-1, 0.2, 0}, {1.2, 0.5, 0.7}, 0.6));
  out.emplace_back("cylinder", Obstacle::cylinder({-1, 0.2, 0}, {1.2, 0.5, 0.7}, 0.6));
  out.emplace_back("box", Obstacle::mesh(mesh_of(box({-1, -0.7, -0.5}, {0.8, 0.9, 1.1}))));
  out.emplace_back("torus", Obstacle::mesh(mesh_of(torus(1.2, 0.4, 24, 12))));
  return out;
}

Vector3d anywhere(std::mt19937& random, double size) {
  std::uniform_real_distribution<double> u(-size, size);
  return {u(random), u(random), u(random)};
}

TEST(ObstacleSurface, NormalIsTheGradientOfTheDistance) {
  std::mt19937 random(1);
  for (const auto& [name, body] : bodies())
    for (int k = 0; k < 300; ++k) {
      const Vector3d p = anywhere(random, 3);
      const auto at = body.nearest(p);
      if (std::abs(at.distance) < 1e-3) continue;
      Vector3d numeric;
      const double h = 1e-6;
      double kink = 0;  // where two features are equally near the distance has no gradient
      for (Eigen::Index c = 0; c < 3; ++c) {
        const double ahead = body.signed_distance(p + h * Vector3d::Unit(c)),
                     behind = body.signed_distance(p - h * Vector3d::Unit(c));
        numeric[c] = (ahead - behind) / (2 * h);
        kink = std::max(kink, std::abs(ahead + behind - 2 * at.distance) / h);
      }
      if (kink > 1e-3) continue;
      EXPECT_LT((numeric - at.normal).norm(), 1e-4) << name << " at " << p.transpose();
      EXPECT_NEAR((p - at.point).norm(), std::abs(at.distance), 1e-12) << name;
      EXPECT_NEAR(body.signed_distance(at.point), 0, 1e-9) << name;
    }
}

TEST(ObstacleSurface, NearestPlaceOfAnEdgeIsTheLeastOfManyPoints) {
  std::mt19937 random(2);
  for (const auto& [name, body] : bodies())
    for (int k = 0; k < 100; ++k) {
      const Vector3d p = anywhere(random, 3), q = p + anywhere(random, 1);
      double least = 1e9;
      for (int i = 0; i <= 2000; ++i) least = std::min(least, body.signed_distance(p + i / 2000.0 * (q - p)));
      if (least < 0 && body.shape() == Obstacle::Shape::mesh) continue;  // said to be unsigned
      const double found = body.nearest(p, q).distance;
      EXPECT_LE(found, least + 1e-9) << name;
      EXPECT_GE(found, least - 1e-3) << name;
    }
}

TEST(ObstacleSurface, IsTheSameWhereverTheSceneLies) {
  std::mt19937 random(3);
  const Eigen::Quaterniond turn = Eigen::Quaterniond(0.3, -0.5, 0.7, 0.2).normalized();
  const Vector3d by(3, -7, 2);
  const auto to = [&](const Vector3d& p) -> Vector3d { return turn * p + by; };
  MeshData ring = torus(1.2, 0.4, 24, 12), turned = ring;
  for (Vector3d& v : turned.vertices) v = to(v);
  const std::vector<std::pair<Obstacle, Obstacle>> pairs{
      {Obstacle::sphere({1, 0, 0}, 0.5), Obstacle::sphere(to({1, 0, 0}), 0.5)},
      {Obstacle::capsule({1, 0, 0}, {0, 1, 2}, 0.5), Obstacle::capsule(to({1, 0, 0}), to({0, 1, 2}), 0.5)},
      {Obstacle::cylinder({1, 0, 0}, {0, 1, 2}, 0.5), Obstacle::cylinder(to({1, 0, 0}), to({0, 1, 2}), 0.5)},
      {Obstacle::mesh(mesh_of(ring)), Obstacle::mesh(mesh_of(turned))}};
  for (const auto& [here, there] : pairs)
    for (int k = 0; k < 200; ++k) {
      const Vector3d p = anywhere(random, 2), q = p + anywhere(random, 0.5);
      EXPECT_NEAR(here.signed_distance(p), there.signed_distance(to(p)), 1e-9);
      const auto a = here.nearest(p, q), b = there.nearest(to(p), to(q));
      EXPECT_NEAR(a.distance, b.distance, 1e-7);
    }
}

TEST(ObstacleMesh, OfManyFacetsHasTheDistanceOfTheSurfaceItStandsFor) {
  const Obstacle ring = Obstacle::mesh(mesh_of(torus(1.2, 0.4, 200, 100)));
  std::mt19937 random(4);
  for (int k = 0; k < 300; ++k) {
    const Vector3d p = anywhere(random, 2);
    const double exact = std::hypot(std::hypot(p.x(), p.y()) - 1.2, p.z()) - 0.4;
    EXPECT_NEAR(ring.signed_distance(p), exact, 1e-3) << p.transpose();  // sagitta of the facets
  }
}

TEST(ObstacleMesh, WindsRoundWhatItHolds) {
  const TriangleMesh ring = mesh_of(torus(1.2, 0.4, 24, 12)), crate = mesh_of(box({-1, -0.7, -0.5}, {0.8, 0.9, 1.1}));
  EXPECT_NEAR(ring.winding({1.2, 0, 0}), 1, 1e-12);
  EXPECT_NEAR(ring.winding({0, 0, 0}), 0, 1e-12) << "in its hole";
  EXPECT_NEAR(crate.winding({-0.9, 0.8, 1}), 1, 1e-12);
  EXPECT_NEAR(crate.winding({-0.9, 0.8, 1.2}), 0, 1e-12);
  std::mt19937 random(7);
  for (const TriangleMesh* mesh : {&ring, &crate})
    for (int k = 0; k < 2000; ++k) {
      const Vector3d p = anywhere(random, 2);
      ASSERT_EQ(mesh->inside(p), mesh->winding(p) > 0.5);
    }
}

// Crushed, triangles fold past their neighbours. Beside such a fold what lies outside has a face turned away from it.
TEST(ObstacleMesh, ThatIsCrumpledHasNothingInsideThatItDoesNotWindRound) {
  std::mt19937 random(8);
  const MeshData flat = torus(1.2, 0.4, 24, 12);
  TriangleMesh mesh = mesh_of(flat);
  int inside = 0;
  for (int round = 0; round < 50; ++round) {
    std::vector<Vector3d> x = flat.vertices;
    for (Vector3d& v : x) v += anywhere(random, 0.15);
    mesh.deform(x.data());
    for (int k = 0; k < 400; ++k) {
      const Vector3d p = anywhere(random, 1.7).cwiseProduct(Vector3d(1, 1, 0.4));
      const TriangleMesh::Nearest near = mesh.nearest(p, 9);
      ASSERT_TRUE(near.found);
      inside += near.distance < 0 ? 1 : 0;
      ASSERT_TRUE(near.distance > 0 || mesh.winding(p) > 0.5) << round << " " << k;
      EXPECT_GT(near.normal.dot(p - near.point) * near.distance, 0) << "out of the solid";
    }
  }
  EXPECT_GT(inside, 1000);
}

TEST(ObstacleMesh, ThatIsNotTheSurfaceOfASolidIsRefused) {
  const auto error = [](MeshData m) {
    const auto mesh = TriangleMesh::create(m.vertices, m.triangles);
    return mesh ? std::string() : mesh.error().message;
  };
  const MeshData good = box({0, 0, 0}, {1, 1, 1});
  EXPECT_EQ(error(good), "");
  MeshData m = good;
  m.triangles.pop_back();
  EXPECT_NE(error(m).find("not closed"), std::string::npos) << error(m);
  m = good;
  std::swap(m.triangles[3][0], m.triangles[3][1]);
  EXPECT_NE(error(m).find("opposite sides"), std::string::npos) << error(m);
  m = good;
  for (auto& t : m.triangles) std::swap(t[0], t[1]);
  EXPECT_NE(error(m).find("inside out"), std::string::npos) << error(m);
  m = good;
  m.triangles[0][1] = m.triangles[0][0];
  EXPECT_NE(error(m).find("without area"), std::string::npos) << error(m);
  m = good;
  m.triangles[0][1] = 99;
  EXPECT_NE(error(m).find("not there"), std::string::npos) << error(m);
  m = good;
  m.vertices[0].x() = std::nan("");
  EXPECT_NE(error(m).find("not within"), std::string::npos) << error(m);
  m = good;  // two boxes that share a corner
  const MeshData other = box({1, 1, 1}, {2, 2, 2});
  for (auto t : other.triangles) {
    for (auto& v : t) v = v == 0 ? 7 : v + 7;
    m.triangles.push_back(t);
  }
  m.vertices.insert(m.vertices.end(), other.vertices.begin() + 1, other.vertices.end());
  EXPECT_NE(error(m).find("single vertex"), std::string::npos) << error(m);
  EXPECT_NE(error({}).find("0 triangles"), std::string::npos);
}

std::vector<contact::BodyContact> contacts_of(const std::vector<Vector3d>& x, const Obstacle& body, double radius,
                                              double reach = 1, double at = 0) {
  const contact::Strand strand{x.data(), x.size(), false, radius, 0.1};
  const Obstacle* all[1] = {&body};
  if (body.surface()) {
    contact::MeshContacts contacts(10000);
    EXPECT_EQ(contacts.find(&strand, 1, {all, 1, at}, reach), 0u);
    return contacts.contacts();
  }
  contact::BodyContacts contacts(1000);
  EXPECT_EQ(contacts.find(&strand, 1, {all, 1, at}, reach), 0u);
  return contacts.contacts();
}

double place_of(const contact::BodyContact& c) {
  return c.contact.pair.edge_a + c.contact.sa;
}

TEST(BodyContact, IsTheSameWhereverTheSceneLies) {
  std::mt19937 random(7);
  const Eigen::Quaterniond turn = Eigen::Quaterniond(0.3, -0.5, 0.7, 0.2).normalized();
  const Vector3d by(3, -7, 2);
  const auto to = [&](const Vector3d& p) -> Vector3d { return turn * p + by; };
  MeshData ring = torus(1.2, 0.4, 24, 12), turned = ring;
  for (Vector3d& v : turned.vertices) v = to(v);
  const std::vector<std::pair<Obstacle, Obstacle>> pairs{
      {Obstacle::sphere({1, 0, 0}, 0.5), Obstacle::sphere(to({1, 0, 0}), 0.5)},
      {Obstacle::cylinder({1, 0, 0}, {0, 1, 2}, 0.5), Obstacle::cylinder(to({1, 0, 0}), to({0, 1, 2}), 0.5)},
      {Obstacle::mesh(mesh_of(ring)), Obstacle::mesh(mesh_of(turned))}};
  std::size_t seen = 0;
  for (const auto& [here, there] : pairs)
    for (int k = 0; k < 300; ++k) {
      std::vector<Vector3d> x{anywhere(random, 2)}, y;
      for (int i = 0; i < 9; ++i) x.push_back(x.back() + anywhere(random, 0.2));
      for (const Vector3d& v : x) y.push_back(to(v));
      const auto a = contacts_of(x, here, 0.1, 0.3), b = contacts_of(y, there, 0.1, 0.3);
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        if (a[i].contact.gap < -0.1) continue;  // inside the solid
        EXPECT_NEAR(a[i].contact.gap, b[i].contact.gap, 1e-7);
        EXPECT_LT((turn * a[i].contact.normal - b[i].contact.normal).norm(), 1e-5);
        ++seen;
      }
    }
  EXPECT_GT(seen, 500u);
}

// A wire of 0.05 mm beneath a thread of edges of 0.1 mm, wherever it lies between two vertices.
TEST(BodyContact, WithASharpBodyIsWhereTheBodyIs) {
  std::vector<Vector3d> x;
  for (int i = 0; i < 11; ++i) x.emplace_back(0.1 * i, 0, 0);
  for (const double at : {0.5, 0.52, 0.549, 0.55, 0.57, 0.6}) {
    const auto found = contacts_of(x, Obstacle::cylinder({at, -5, -0.2}, {at, 5, -0.2}, 0.025), 0.1, 0.1);
    double least = 1, place = 0;
    for (const auto& c : found)
      if (c.contact.gap < least) least = c.contact.gap, place = place_of(c);
    EXPECT_NEAR(least, 0.2 - 0.025 - 0.1, 0.1 * 0.1 / 32) << at;
    EXPECT_NEAR(0.1 * place, at, 0.1 * 0.1) << at;
  }
}

TEST(BodyContact, AlongABodyIsAtTheVertices) {
  std::vector<Vector3d> x;
  for (int i = 0; i < 40; ++i) x.emplace_back(1.1 * std::cos(0.09 * i), 0.01 * i, 1.1 * std::sin(0.09 * i));
  const auto found = contacts_of(x, Obstacle::cylinder({0, -5, 0}, {0, 5, 0}, 1), 0.1, 0.1);
  ASSERT_EQ(found.size(), x.size());
  for (std::size_t i = 1; i + 1 < x.size(); ++i) {
    EXPECT_NEAR(place_of(found[i]), static_cast<double>(i), 1e-3);
    EXPECT_NEAR(found[i].contact.gap, found[20].contact.gap, 1e-9);
  }
}

TEST(BodyContact, InsideTheHoleOfARingIsOnEverySideThatIsNear) {
  const Obstacle square = Obstacle::mesh(mesh_of(torus(1.2, 0.4, 4, 4)));  // a frame of four bars
  const auto found = contacts_of({{0, 0, -0.4}, {0, 0, 0}, {0, 0, 0.4}}, square, 0.1, 2);
  for (int side = 0; side < 4; ++side) {
    const double angle = (0.25 + 0.5 * side) * std::numbers::pi;
    int facing = 0;
    for (const auto& c : found)
      facing += c.vertex == 1 && c.contact.normal.dot(Vector3d(std::cos(angle), std::sin(angle), 0)) > 0.9 ? 1 : 0;
    EXPECT_GT(facing, 0) << side;
  }
}

// Where a surface is crumpled, several ridges press one piece of a thread: none of them goes unseen.
TEST(BodyContact, OfACrumpledMeshLeavesNoDeepPlaceOut) {
  std::mt19937 random(11);
  constexpr double kRadius = 0.02;
  int pressed = 0;
  for (int scene = 0; scene < 20; ++scene) {
    MeshData crumpled = torus(1.2, 0.4, 96, 48);
    for (Vector3d& v : crumpled.vertices) v += anywhere(random, 0.02);
    const Obstacle body = Obstacle::mesh(mesh_of(crumpled));
    for (int k = 0; k < 600; ++k) {
      std::vector<Vector3d> x{anywhere(random, 1.6)};
      const Vector3d way = anywhere(random, 1).normalized();
      for (int i = 0; i < 3; ++i) x.push_back(x.back() + 0.2 * way + anywhere(random, 0.01));
      const contact::Strand strand{x.data(), x.size(), false, kRadius, 0.2};
      double least = 1;
      for (int edge = 0; edge < 3; ++edge)
        for (int i = 0; i <= 40; ++i)
          least = std::min(least, body.signed_distance(contact::curve_at(strand, edge + i / 40.0).p));
      if (least < 0 || least > 0.7 * kRadius) continue;
      double seen = 1;
      for (const contact::BodyContact& c : contacts_of(x, body, kRadius, 0.01)) seen = std::min(seen, c.contact.gap);
      EXPECT_LT(seen + kRadius, least + 0.3 * kRadius) << scene << " " << k;
      ++pressed;
    }
  }
  EXPECT_GT(pressed, 100);
}

// A body that came past the centreline pushes back to the side that it came from, with the force that it had.
TEST(BodyContact, KeepsItsSideInsideTheSolidAndItsForce) {
  const std::vector<Vector3d> x{{-0.1, 0, 0}, {0, 0, 0}, {0.1, 0, 0}};
  const contact::Strand strand{x.data(), x.size(), false, 0.1, 0.1};
  Obstacle ball = Obstacle::sphere({0, 0, 0.55}, 0.5);
  const Obstacle* all[1] = {&ball};
  contact::BodyContacts contacts(100);
  ball.move({0, 0, -0.1});  // on its way at 0 the surface is 0.05 above the thread's axis, at 1 it is 0.05 below it
  ASSERT_EQ(contacts.find(&strand, 1, {all, 1, 0}, 0.1), 0u);
  ASSERT_EQ(contacts.contacts().size(), 3u);
  EXPECT_NEAR(contacts.contacts()[1].contact.gap, -0.05, 1e-12);
  contacts.contacts()[1].contact.force = Vector3d(0.1, 0, -1);
  ASSERT_EQ(contacts.find(&strand, 1, {all, 1, 1}, 0.1), 0u);
  const contact::StrandContact& c = contacts.contacts()[1].contact;
  EXPECT_NEAR(c.gap, -0.15, 1e-12);
  EXPECT_NEAR(c.normal.z(), -1, 1e-12);
  EXPECT_LT((c.force - Vector3d(0.1, 0, -1)).norm(), 1e-12);
}

// Bent round an arm by 20 degrees a thread's curve cuts the corner through the metal, its polyline does not: the guard
// stops that, and where it stops it has to be pushed, whatever the contact was before.
TEST(BodyContact, OfACurveInsideAnArmPushesAsItsPolylineLies) {
  constexpr double kEdge = 0.1, kRadius = 0.1;
  Obstacle arm = Obstacle::cone(kRadius, kRadius);
  const Vector3d low(0, 0, -1), high(0, 0, 1);
  arm.move_ends(low, high, low, high);
  const Obstacle* all[1] = {&arm};
  const double half = 10 * std::numbers::pi / 180, corner = (kRadius + 1e-5) / std::cos(half);
  // Seen along the arm the corner is in the direction `turn`.
  const auto bent = [&](double turn) {
    const auto at = [&](double along, double out) {
      return Vector3d(std::cos(turn) * out - std::sin(turn) * along, std::sin(turn) * out + std::cos(turn) * along, 0);
    };
    const double aside = kEdge * std::cos(half), in = corner - kEdge * std::sin(half);
    return std::vector<Vector3d>{at(-2 * aside, in - kEdge * std::sin(half)), at(-aside, in), at(0, corner),
                                 at(aside, in), at(2 * aside, in - kEdge * std::sin(half))};
  };
  contact::BodyContacts contacts(100);
  const std::vector<Vector3d> before = bent(0.6), now = bent(0);
  const auto find = [&](const std::vector<Vector3d>& x) {
    const contact::Strand strand{x.data(), x.size(), false, 0.0125, kEdge};
    EXPECT_EQ(contacts.find(&strand, 1, {all, 1, 1}, 0.01), 0u);
    EXPECT_LT(arm.nearest(contact::curve_at(strand, 2).p).distance, 0);
    EXPECT_GT(arm.nearest(x[1], x[2]).distance, 0);
  };
  find(before);
  find(now);
  double most = 0;
  for (const contact::BodyContact& c : contacts.contacts())
    if (c.vertex == 2) most = std::max(most, c.contact.normal.x());
  EXPECT_GT(most, 0.98);
}

TEST(ObstacleGuard, StopsWhatWouldPassBeforeItDoes) {
  std::mt19937 random(5);
  int stopped = 0;
  for (auto& [name, body] : bodies())
    for (int k = 0; k < 200; ++k) {
      Vector3d x[2] = {anywhere(random, 3), {}}, x1[2];
      x[1] = x[0] + anywhere(random, 0.3);
      x1[0] = anywhere(random, 3), x1[1] = x1[0] + anywhere(random, 0.3);
      Obstacle moving = body;
      moving.move(anywhere(random, 1));
      contact::Strand strand{x, 2, false, 0.1, 0.3};
      const Vector3d* ends[1] = {x1};
      const Obstacle* all[1] = {&moving};
      const auto v = contact::look(&strand, 1, ends, {all, 1, 0});
      if (v.inside > 0) continue;
      stopped += v.found > 0 ? 1 : 0;
      for (int i = 0; i <= 200; ++i) {  // sampled on the way
        const double t = v.fraction * i / 200.0;
        const Vector3d back = (1 - t) * moving.moved();
        const Vector3d p = x[0] + t * (x1[0] - x[0]) + back, q = x[1] + t * (x1[1] - x[1]) + back;
        for (int j = 0; j <= 10; ++j)
          ASSERT_GT(moving.signed_distance(p + 0.1 * j * (q - p)), 0) << name << " " << k << " at " << t;
      }
    }
  EXPECT_GT(stopped, 100);
}

// A move may take half of what is left of the distance; a hundred of them leave less than rounding.
TEST(ObstacleGuard, WhatIsPressedAgainAndAgainPassesNever) {
  const Obstacle wire = Obstacle::cylinder({0, -5, -0.001}, {0, 5, -0.001}, 0.001);
  const Obstacle* all[1] = {&wire};
  std::vector<Vector3d> x{{-0.05, 0.3, 0.01}, {0.05, 0.31, 0.01}}, to = x;
  const contact::Strand strand{x.data(), 2, false, 0.0125, 0.1};
  const Vector3d* const ends[1] = {to.data()};
  const auto move = [&](const Vector3d& by) {
    for (std::size_t i = 0; i < 2; ++i) to[i] = x[i] + by;
    const double fraction = contact::look(&strand, 1, ends, {all, 1, 0}).fraction;
    for (Vector3d& p : x) p += fraction * by;
    return fraction;
  };
  for (int k = 0; k < 300; ++k) {
    move({0, 1e-3, -0.01});
    ASSERT_GT(wire.nearest(x[0], x[1]).distance, 1e-10) << k;
  }
  EXPECT_EQ(move({0, 0, -0.01}), 0);
  EXPECT_EQ(move({0, 0, 0.01}), 1) << "but it may go";
}

TEST(ObstacleGuard, StopsWhatASwingingConeWouldPass) {
  std::mt19937 random(6);
  int stopped = 0, let = 0;
  for (int k = 0; k < 5000; ++k) {
    const Vector3d from = anywhere(random, 2), to = anywhere(random, 2);
    Obstacle cone = Obstacle::cone(0.1, 0.4);
    cone.move_ends(from, to, from + anywhere(random, 0.3), to + anywhere(random, 2));
    Vector3d x[2] = {anywhere(random, 2), {}}, x1[2];
    x[1] = x[0] + anywhere(random, 0.3);
    x1[0] = x[0] + anywhere(random, 1), x1[1] = x1[0] + (x[1] - x[0]);
    const contact::Strand strand{x, 2, false, 0.1, 0.3};
    const Vector3d* ends[1] = {x1};
    const Obstacle* all[1] = {&cone};
    const auto v = contact::look(&strand, 1, ends, {all, 1, 0});
    if (v.inside > 0) continue;
    (v.found > 0 ? stopped : let) += 1;
    for (int i = 0; i <= 200; ++i) {
      const double t = v.fraction * i / 200.0;
      const Vector3d p = x[0] + t * (x1[0] - x[0]), q = x[1] + t * (x1[1] - x[1]);
      ASSERT_GT(cone.nearest(p, q, 9, t).distance, 0) << k << " at " << t;
    }
  }
  EXPECT_GT(stopped, 100);
  EXPECT_GT(let, 1000);
}

// What lies on an arm goes with it where it lies; that the far end swings ten times as far is nothing to it.
TEST(ObstacleGuard, LetsAThreadGoWithTheArmThatItLiesOn) {
  const Vector3d from(0, 0, 0), to(20, 0, 0), swung(0, 0, 2);
  Obstacle arm = Obstacle::cone(0.1, 0.5);
  arm.move_ends(from, to, from, to + swung);
  const double growth = 0.4 / 20, at = 2, radius = (0.1 + growth * at) / std::sqrt(1 - growth * growth);
  const Vector3d lift = at / 20 * swung;
  for (const double apart : {1e-6, 1e-8}) {
    const Vector3d middle(at, 0, radius + apart);
    const Vector3d x[2] = {middle - Vector3d(0, 0.05, 0), middle + Vector3d(0, 0.05, 0)};
    const contact::Strand strand{x, 2, false, 0.0125, 0.1};
    const Obstacle* all[1] = {&arm};
    ASSERT_NEAR(arm.nearest(x[0], x[1], 1, 0).distance, apart, 1e-3 * apart);
    // Drawn off it a little, as a contact would: all of that goes.
    const Vector3d x1[2] = {x[0] + lift + Vector3d(0, 0, 0.01), x[1] + lift + Vector3d(0, 0, 0.01)};
    const Vector3d* ends[1] = {x1};
    const auto v = contact::look(&strand, 1, ends, {all, 1, 0});
    EXPECT_EQ(v.looked_at, 1u);
    EXPECT_EQ(v.inside, 0u);
    EXPECT_EQ(v.found, 0u) << apart << ": " << v.fraction;
  }
}

TEST(ObstacleGuard, LetsAThreadGoAlongAPlaneAsFarAsItLikes) {
  const Obstacle plane = Obstacle::plane({0, 0, 0}, Vector3d(0.6, 0, 0.8));
  const Vector3d along(0.8, 0, -0.6), out(0.6, 0, 0.8);
  const Vector3d x[2] = {0.0125 * out, 0.0125 * out + 0.05 * along};
  const contact::Strand strand{x, 2, false, 0.0125, 0.05};
  const Obstacle* all[1] = {&plane};
  for (const double lift : {0.0, -1e-3, 1e-3}) {
    const Vector3d x1[2] = {x[0] + 50 * along + lift * out, x[1] + 50 * along};
    const Vector3d* ends[1] = {x1};
    const auto v = contact::look(&strand, 1, ends, {all, 1, 0});
    EXPECT_EQ(v.looked_at, 1u);
    EXPECT_EQ(v.found, 0u) << lift;
  }
  const Vector3d x1[2] = {x[0] + 50 * along - 0.02 * out, x[1] + 50 * along};
  const Vector3d* ends[1] = {x1};
  const auto v = contact::look(&strand, 1, ends, {all, 1, 0});
  EXPECT_EQ(v.found, 1u);
  EXPECT_NEAR(v.fraction, 0.6, 0.05) << "where it would have come to the surface, all but what is kept";
}

// What has no contact cannot be pushed off: were it looked at, it would stop everything for good.
TEST(ObstacleGuard, StopsNoEdgeOfWhichAVertexIsSpared) {
  std::vector<Vector3d> x;
  for (int i = 0; i < 9; ++i) x.emplace_back(0.1 * i, 0, 0.105);
  const contact::Strand strand{x.data(), x.size(), false, 0.01, 0.1};
  const Obstacle bar = Obstacle::capsule({-1, 0, 0}, {2, 0, 0}, 0.1);
  const Obstacle* all[1] = {&bar};
  int stopped = 0, spared_whole = 0;
  for (double from = 0; from < 7; from += 0.1)
    for (std::uint32_t j = 0; j < 8; ++j) {
      const std::vector<contact::Passage> held{{0, 0, from, from + 0.8, 0}};
      const contact::Bodies bodies{.body = all, .count = 1, .spared = &held};
      contact::BodyContacts contacts(100);
      EXPECT_EQ(contacts.find(&strand, 1, bodies, 0.01), 0u);
      std::vector<Vector3d> x1 = x;
      x1[j].z() = x1[j + 1].z() = 0;
      const Vector3d* ends[1] = {x1.data()};
      std::vector<contact::StoppedAtObstacle> told;
      told.reserve(8);
      const auto v = contact::look(&strand, 1, ends, bodies, {}, &told);
      EXPECT_EQ(told.size(), v.found);
      double least = 1;
      for (const contact::StoppedAtObstacle& t : told) {
        EXPECT_TRUE(t.edge + 1 >= j && t.edge <= j + 1 && t.strand == 0 && t.obstacle == 0) << t.edge << " of " << j;
        least = std::min(least, t.part);
      }
      EXPECT_EQ(least, v.fraction);
      if (v.found == 0) {
        ++spared_whole;
        continue;
      }
      ++stopped;
      for (const std::uint32_t vertex : {v.edge, v.edge + 1})
        EXPECT_TRUE(std::any_of(contacts.contacts().begin(), contacts.contacts().end(),
                                [&](const contact::BodyContact& c) { return c.vertex == vertex; }))
            << "vertex " << vertex << ", held from " << from;
    }
  EXPECT_GT(stopped, 100);
  EXPECT_GT(spared_whole, 10);
}

double settle_height(ObstacleParams body, Vec3 from, Vec3 to, double diameter) {
  WorldParams p = thread_world(0.005);
  p.gravity = {0, 0, -kGravity};
  body.name = "body";
  p.obstacles.push_back(body);
  ThreadParams t = nylon({from, to}, diameter, 10, 1e-3);
  p.threads.push_back(t);
  World world = make_world(p);
  for (int k = 0; k < 400; ++k) world.step({});
  const auto contacts = world.contacts();
  EXPECT_FALSE(contacts.empty());
  double weight = 0, normal = 0;
  const ThreadShape s = world.shape(0);
  for (const auto& c : contacts) {
    normal += c.normal_force;
    EXPECT_LT(std::abs(c.gap_mm), 1e-6);
  }
  weight = t.material.linear_density * norm(to - from) * kGravity;
  EXPECT_NEAR(normal / weight, 1, 0.01);
  return s.x[s.x.size() / 2].z;
}

TEST(ObstacleRest, AThreadLiesOnASphereACapsuleACylinderAndAMeshAtItsRadius) {
  ObstacleParams o;
  o.shape = ObstacleParams::Shape::sphere;
  o.diameter_mm = 2;
  EXPECT_NEAR(settle_height(o, {-0.5, 0, 1.2}, {0.5, 0, 1.2}, 0.2), 1.1, 2e-4);
  o.from = {0, -2, 0}, o.to = {0, 2, 0};
  o.shape = ObstacleParams::Shape::capsule;
  EXPECT_NEAR(settle_height(o, {-0.5, 0, 1.2}, {0.5, 0, 1.2}, 0.2), 1.1, 2e-4);
  EXPECT_NEAR(settle_height(o, {0, -0.5, 1.2}, {0, 0.5, 1.2}, 0.2), 1.1, 2e-4) << "along it";
  o.shape = ObstacleParams::Shape::cylinder;
  EXPECT_NEAR(settle_height(o, {-0.5, 0, 1.2}, {0.5, 0, 1.2}, 0.2), 1.1, 2e-4);
  EXPECT_NEAR(settle_height(o, {0, -0.5, 1.2}, {0, 0.5, 1.2}, 0.2), 1.1, 2e-4) << "along it";
  o.from = {0, 0, -1}, o.to = {0, 0, 1};
  EXPECT_NEAR(settle_height(o, {-0.5, 0, 1.2}, {0.5, 0, 1.2}, 0.2), 1.1, 1e-6) << "on its end";
  o.shape = ObstacleParams::Shape::mesh;
  const MeshData m = box({-1, -1, -1}, {1, 1, 1});
  for (const auto& v : m.vertices) o.vertices.push_back({v.x(), v.y(), v.z()});
  o.triangles = m.triangles;
  EXPECT_NEAR(settle_height(o, {-0.5, 0.1, 1.2}, {0.5, 0.2, 1.2}, 0.2), 1.1, 1e-6) << "on a face";
}

// A wire of 0.05 mm that moves by 1 mm a step takes a thread along, however it meets it.
TEST(ObstacleMotion, AThinFastWireTakesTheThreadAlong) {
  for (const double start : {0.31, 0.55, 0.97}) {
    WorldParams p = thread_world(0.005);
    ObstacleParams wire;
    wire.shape = ObstacleParams::Shape::cylinder;
    wire.from = {0, -5, start}, wire.to = {0, 5, start};
    wire.diameter_mm = 0.05;
    wire.velocity = {0, 0, -200};
    wire.until_s = 0.02;
    p.obstacles.push_back(wire);
    p.threads.push_back(nylon({{-5, 0, 0}, {5, 0, 0}}, 0.2, 100, 1e-2));
    World world = make_world(p);
    for (int k = 0; k < 10; ++k) world.step({});
    const ThreadShape s = world.shape(0);
    EXPECT_LT(s.x[50].z, start - 4 - 0.125 + 0.002) << start;
  }
}

// A body and a thread that meet by 2.5 to 6 radii a step: solved for where they are at the end of it, the thread
// would roll aside round the body and back to where it flies on as if nothing had been there, at a least distance of
// 0.3 mm from its axis. Vertex by vertex, by the straight ways of a step, in the frame of the body.
TEST(ObstacleMotion, NoThreadComesRoundABodyWithinAStep) {
  struct Case {
    double thread, body, step_s, aside;
  };
  for (const auto shape : {ObstacleParams::Shape::sphere, ObstacleParams::Shape::cylinder})
    for (const Case& c : {Case{-300, 0, 0.01, 0.3},
                          {-150, 0, 0.02, 0.3},
                          {-500, 0, 0.005, 0.3},
                          {-3000, 0, 0.001, 0.3},
                          {-300, 0, 0.01, 0.8},
                          {-600, 0, 0.01, 0.3},
                          {0, 300, 0.01, 0.3},
                          {0, 500, 0.005, 0.3},
                          {0, 150, 0.02, 0.3},
                          {-150, 150, 0.01, 0.3}})
      for (const bool held : {false, true}) {
        if (held && (c.thread != 0 || shape != ObstacleParams::Shape::sphere)) continue;  // the body meets no clamp
        WorldParams p = thread_world(c.step_s);
        p.solver = {};
        ObstacleParams o;
        o.shape = shape;
        o.from = {0, -20, 0}, o.to = {0, 20, 0};
        o.diameter_mm = 2;
        o.velocity = {0, 0, c.body};
        p.obstacles.push_back(o);
        ThreadParams t = nylon({{c.aside, -8, 4}, {c.aside, 8, 4}}, 0.1, 32);
        t.inertial = true;
        t.velocity = {0, 0, c.thread};
        if (held) t.clamps.resize(1), t.clamps[0].at.kind = Place::Kind::first;
        p.threads.push_back(t);
        World world = make_world(p);
        double least = 9;
        ThreadShape before = world.shape(0);
        for (int k = 0; k < std::lround(12 / ((c.body - c.thread) * c.step_s)); ++k) {
          world.step({});
          const ThreadShape after = world.shape(0);
          const double drop = c.body * c.step_s;
          for (std::size_t i = 0; i < after.x.size(); ++i) {
            const auto seen = [&](const Vec3& x, double at) {
              return Vec3{x.x, shape == ObstacleParams::Shape::sphere ? x.y : 0.0, x.z - at};
            };
            const Vec3 a = seen(before.x[i], k * drop), way = seen(after.x[i], (k + 1) * drop) - a;
            const double square = norm(way) * norm(way);
            const double u = square > 0 ? std::clamp(-(a.x * way.x + a.y * way.y + a.z * way.z) / square, 0.0, 1.0) : 0;
            least = std::min(least, norm(a + u * way));
          }
          before = after;
        }
        EXPECT_GT(least, 1) << static_cast<int>(shape) << ", thread " << c.thread << ", body " << c.body << " mm/s, "
                            << c.step_s << " s, aside " << c.aside << (held ? ", held" : "");
      }
}

// A free 10-0 thread that a post strikes bends gently and goes along: its inertia and its drag are next to nothing.
TEST(ObstacleMotion, AFastPostTakesAFineThreadAlong) {
  struct Case {
    double post, edge, speed;
  };
  for (const Case& c : {Case{0.05, 0.2, 200}, {0.05, 0.1, 200}, {0.5, 0.2, 400}, {0.5, 0.1, 200}}) {
    WorldParams p = thread_world(0.005);
    p.solver = {};
    const double above = 0.5 * c.post + 0.04;
    ObstacleParams post;
    post.shape = ObstacleParams::Shape::cylinder;
    post.from = {0, -5, above}, post.to = {0.3, 5, above};
    post.diameter_mm = c.post;
    post.velocity = {0, 0, -c.speed};
    post.until_s = 0.02;
    p.friction.thread_obstacle = 0.2;
    p.obstacles.push_back(post);
    ThreadParams t = nylon({{-5, 0, 0}, {5, 0, 0}}, 0.025, 50, 1e-2);
    t.segment_mm = c.edge;
    p.threads.push_back(t);
    World world = make_world(p);
    for (int k = 1; k <= 20; ++k) {
      const StepReport r = world.step({});
      EXPECT_EQ(r.obstacle_lag_mm, 0) << c.post << " " << c.edge << " " << k;
      for (const auto& at : world.contacts())
        EXPECT_GT(at.gap_mm, -1e-3 * 0.0125) << c.post << " " << c.edge << " " << k;
    }
    const ThreadShape s = world.shape(0);
    EXPECT_LT(s.x[s.x.size() / 2].z, above - c.speed * post.until_s - 0.5 * c.post + 0.01) << c.post << " " << c.edge;
  }
}

MeshData ball(double radius, std::uint32_t around, std::uint32_t rings) {
  MeshData m;
  for (std::uint32_t k = 1; k < rings; ++k)
    for (std::uint32_t i = 0; i < around; ++i) {
      const double a = 2 * std::numbers::pi * i / around, b = std::numbers::pi * k / rings;
      m.vertices.emplace_back(radius * std::sin(b) * std::cos(a), radius * std::sin(b) * std::sin(a),
                              -radius * std::cos(b));
    }
  m.vertices.emplace_back(0, 0, -radius);
  m.vertices.emplace_back(0, 0, radius);
  const std::uint32_t low = around * (rings - 1), high = low + 1, last = around * (rings - 2);
  for (std::uint32_t i = 0; i < around; ++i) {
    const std::uint32_t j = (i + 1) % around;
    for (std::uint32_t k = 0; k < last; k += around) {
      m.triangles.push_back({k + i, k + j, k + around + j});
      m.triangles.push_back({k + i, k + around + j, k + around + i});
    }
    m.triangles.push_back({low, j, i});
    m.triangles.push_back({high, last + i, last + j});
  }
  return m;
}

// They press on each other, too, and the contacts come to bear much more than anything did when the step began.
TEST(ObstacleMotion, FreeThreadsThatCollideOnAMovingMeshGoAlong) {
  for (const double falls : {-200.0, -400.0}) {
    WorldParams p = thread_world(0.005);
    p.solver = {};
    p.friction = {};
    ObstacleParams o;
    o.shape = ObstacleParams::Shape::mesh;
    const MeshData m = ball(1, 24, 16);
    for (const auto& v : m.vertices) o.vertices.push_back({v.x(), v.y(), v.z()});
    o.triangles = m.triangles;
    o.velocity = {0, 0, 100};
    p.obstacles.push_back(o);
    for (const bool flying : {false, true}) {
      ThreadParams t = flying ? nylon({{0.3, -4, 1.0725}, {0.1, 4, 1.0725}}, kTen0, 80)
                              : nylon({{-4, 0, 1.0225}, {4, 0, 1.0225}}, kTen0, 80);
      t.name = flying ? "flying" : "lying";
      t.inertial = true;
      t.material.drag = 0;
      if (flying) t.velocity = {0, 0, falls};
      p.threads.push_back(t);
    }
    World world = make_world(p);
    int unconverged = 0;
    for (int k = 0; k < 10; ++k) {
      const StepReport r = world.step({});
      unconverged += r.flags & step_not_converged ? 1 : 0;
      EXPECT_EQ(r.obstacle_lag_mm, 0) << falls << " " << k;
    }
    EXPECT_LT(unconverged, 3) << falls;
    for (std::size_t k : {0u, 1u}) {
      const ThreadMeasure at = world.measure(k, false);
      const double mass = kNylonDensity * 0.25 * std::numbers::pi * kTen0 * kTen0 * at.rest_length_mm;
      // Their free arms are thrown further and bounce: with steps of 0.25 ms both go on at 129 to 235 mm/s.
      EXPECT_GT(at.momentum.z / mass, 95) << falls << " thread " << k;
      EXPECT_LT(at.momentum.z / mass, 125) << falls << " thread " << k;
    }
  }
}

// Between two posts there is no room for a thread: what is in the way of a body that moves is told.
TEST(ObstacleMotion, ABodyThatIsHeldUpTellsHowFarItIsBehind) {
  WorldParams p = thread_world(0.005);
  p.solver = {};
  ObstacleParams post;
  post.shape = ObstacleParams::Shape::cylinder;
  post.from = {0, -5, -0.6}, post.to = {0, 5, -0.6};
  post.diameter_mm = 1;
  p.obstacles.push_back(post);
  post.from.z = post.to.z = 0.8;
  post.velocity = {0, 0, -20};
  post.until_s = 0.05;
  p.obstacles.push_back(post);
  p.threads.push_back(nylon({{-5, 0, 0}, {5, 0, 0}}, 0.2, 50, 1e-2));
  World world = make_world(p);
  double most = 0;
  std::uint32_t flags = 0;
  for (int k = 1; k <= 20; ++k) {
    const StepReport r = world.step({});
    flags |= r.flags;
    const Vec3 led = std::min(k * p.step_s, post.until_s) * post.velocity;
    EXPECT_NEAR(r.obstacle_lag_mm, norm(led - world.obstacle_shift(1)), 1e-6) << k;
    most = std::max(most, r.obstacle_lag_mm);
  }
  EXPECT_GT(most, 0.01);
  EXPECT_TRUE(flags & step_contact_gave_way);
}

// Faster in one step than what it overruns can follow, a body waits; at rest again it does not crawl after its path.
TEST(ObstacleMotion, ABodyThatWasHeldUpCatchesUpAtItsOwnSpeed) {
  WorldParams p = thread_world(0.01);
  p.solver = {};
  ObstacleParams post;
  post.shape = ObstacleParams::Shape::cylinder;
  post.from = {1.03, -3, 3}, post.to = {1.37, 3, 3.1};
  post.diameter_mm = 1;
  post.velocity = {0, 0, -500};
  post.until_s = 0.02;
  p.obstacles.push_back(post);
  ThreadParams t = nylon({{-10, 0.1, 0}, {10, 0, 0.2}}, 0.1, 100);
  t.material.stretch_stiffness = 5e4;
  t.clamps.push_back(clamp_at(Place::Kind::first, ClampParams::Hold::position));
  t.clamps.push_back(clamp_at(Place::Kind::last, ClampParams::Hold::position));
  p.threads.push_back(t);
  World world = make_world(p);
  double most = 0, last = 0;
  for (int k = 0; k < 12; ++k) last = world.step({}).obstacle_lag_mm, most = std::max(most, last);
  EXPECT_GT(most, 4);
  EXPECT_EQ(last, 0);  // at 20 mm/s it was 0.27 s
  EXPECT_NEAR(world.obstacle_shift(0).z, -10, 1e-6);
}

TEST(Capstan, HoldsBackByTheExponentialOfTheAngle) {
  struct Case {
    double friction, turn, until_s;
  };
  for (const Case& given : {Case{0.05, 1, 0.2}, Case{0.2, 0.5, 0.2}, Case{0.2, 1, 0.35}, Case{0.4, 0.5, 0.3}}) {
    Capstan c;
    c.friction = given.friction;
    c.turn = given.turn * std::numbers::pi;
    WorldParams p = c.scene();
    p.solver.iterations = 40;
    World world = make_world(p);
    double force = 0;
    int count = 0;
    const int steps = static_cast<int>(given.until_s / c.step_s);
    for (int k = 0; k < steps; ++k) {
      world.step({});
      if (k >= steps - 10) force += norm(world.clamps()[0].force.x == 0 ? Vec3{} : world.clamps()[0].force), ++count;
    }
    EXPECT_NEAR(force / count / c.load / c.ratio(), 1, 0.02) << given.friction << " " << given.turn;
    RecordProperty("error_" + std::to_string(given.friction) + "_" + std::to_string(given.turn),
                   std::to_string(force / count / c.load / c.ratio() - 1));
  }
}

// All contacts of three half turns slide as one, and nothing but the rest of the thread says how far.
TEST(Capstan, StepsOfManyTurnsConverge) {
  Capstan c;
  c.friction = 0.4;
  c.turn = 3 * std::numbers::pi;
  c.segment_mm = 0.2;
  c.speed_mm_per_s = 5;
  c.drag = 0.2;
  c.load = 4e6 * std::exp(-c.friction * c.turn);
  WorldParams p = c.scene();
  p.solver.iterations = 40;
  World world = make_world(p);
  double force = 0;
  for (int k = 0; k < 120; ++k) {
    const StepReport r = world.step({});
    EXPECT_FALSE(r.flags & step_not_converged) << k;
    if (k >= 110) force += norm(world.clamps()[0].force) / 10;
  }
  EXPECT_NEAR(force / c.load / c.ratio(), 1, 0.02);
}

// A vertex of the thread has one ridge of the post or two in turn: each of them is a contact of its own.
TEST(Capstan, RoundAMeshPullsAsHardWhetherFacetsAreFinerThanEdgesOrCoarser) {
  for (const auto& [facets, segment_mm] : {std::pair(96u, 0.2), {24u, 0.2}, {24u, 0.1}, {9u, 0.2}}) {
    Capstan c;
    c.segment_mm = segment_mm;
    WorldParams p = c.scene();
    ObstacleParams& post = p.obstacles[0];
    post.shape = ObstacleParams::Shape::mesh;
    const MeshData m = prism(c.cylinder_mm, 10, facets);
    for (const auto& v : m.vertices) post.vertices.push_back({v.x(), v.y(), v.z()});
    post.triangles = m.triangles;
    p.solver.iterations = 40;
    World world = make_world(p);
    double force = 0;
    for (int k = 0; k < 70; ++k) {
      const StepReport r = world.step({});
      EXPECT_FALSE(k >= 20 && r.flags & step_not_converged) << facets << " " << segment_mm << " " << k;
      if (k >= 50) force += norm(world.clamps()[0].force) / 20;
    }
    EXPECT_NEAR(force / c.load / c.ratio(), 1, 0.02) << facets << " " << segment_mm;
  }
}

// Without friction the difference of the pulls is what the fluid takes: F2 - F1 = c L v, however the thread bends.
TEST(Capstan, WithoutFrictionAThreadSlidesAsFastAsItsDragLetsIt) {
  for (const double fine : {1.0, 0.5}) {
    Capstan c;
    c.friction = 0;
    c.cylinder_mm = 0.25;
    c.diameter_mm = 0.025;
    c.segment_mm = 0.04 * fine;
    c.load = 2e4;
    c.drag = 40;
    WorldParams p = c.scene();
    ThreadParams& t = p.threads[0];
    const Vec3 held = t.clamps[0].velocity;
    t.clamps.clear();
    t.forces.push_back(force_at(Place::Kind::last, 1.5 * c.load / norm(held) * held, 0));
    p.solver.iterations = 40;
    World world = make_world(p);
    for (int k = 0; k < 30; ++k) world.step({});
    const auto end = [&] { return world.shape(0).x.back(); };
    const Vec3 from = end();
    for (int k = 0; k < 20; ++k) EXPECT_FALSE(world.step({}).flags & step_not_converged) << fine << " " << k;
    const double length = world.shape(0).s_mm.back();
    EXPECT_NEAR(norm(end() - from) / (20 * c.step_s) * c.drag * length / (0.5 * c.load), 1, 0.01) << fine;
  }
}

// Edges of 4 to 8 diameters, which turn by 0.2 to 0.4 rad from one to the next round the post. Where their corners were
// cut by a fifth of the radius alone, the thread lay round it as a polygon that only a large pull turns (0.1 mm/s).
TEST(Capstan, EdgesThatAreLongBesideTheThreadDoNotCatchOnAThinPost) {
  for (const auto& [radius_mm, segment_mm] : {std::pair(0.25, 0.1), {0.5, 0.2}, {1.0, 0.2}}) {
    Capstan c;
    c.friction = 0;
    c.cylinder_mm = radius_mm;
    c.diameter_mm = 0.025;
    c.segment_mm = segment_mm;
    c.load = 2e4;
    c.drag = 1;
    c.step_s = 1e-3;
    WorldParams p = c.scene();
    ThreadParams& t = p.threads[0];
    const Vec3 held = t.clamps[0].velocity;
    t.clamps.clear();
    t.forces.push_back(force_at(Place::Kind::last, 1.05 * c.load / norm(held) * held, 0));
    World world = make_world(p);
    for (int k = 0; k < 120; ++k) world.step({});
    const auto end = [&] { return world.shape(0).x.back(); };
    const Vec3 from = end();
    for (int k = 0; k < 20; ++k) world.step({});
    const double length = world.shape(0).s_mm.back();
    EXPECT_NEAR(norm(end() - from) / (20 * c.step_s) * c.drag * length / (0.05 * c.load), 1, 0.1) << radius_mm;
  }
}

}  // namespace
}  // namespace ligature::world
