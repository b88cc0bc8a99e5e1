/// Which triangles of one surface face each other: none is missed that could meet.
#include "sim/contact/self_pairs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/random.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/tissue/tissue.hpp"

namespace ligature::contact {
namespace {

struct Tube {
  std::vector<Vector3d> rest, x;
  std::vector<tissue::Hexahedron> solids;
  TriangleMesh mesh;

  explicit Tube(double wall = 0.1) {
    tissue::Vessel v;
    v.length = 2, v.around = 16, v.along = 8, v.wall = wall;
    const auto model = tissue::vessel_model(v);
    solids = model->elements;
    const auto t = tissue::Tissue::create(*model);
    mesh = t->surface();
    for (std::size_t i = 0; i < mesh.vertices(); ++i) rest.push_back(mesh.vertex(i));
    x = rest;
  }
  void flatten(double left, double bump) {
    Random random(9);
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = Vector3d(rest[i].x(), rest[i].y(), left * rest[i].z()) +
             bump * Vector3d(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
    mesh.deform(x.data());
  }
};

struct Between {
  double distance = 1e9;
  Vector3d from_a{0, 0, 0}, from_b{0, 0, 0};
};
Between between(const TriangleMesh& m, std::uint32_t s, std::uint32_t t) {
  const TriangleMesh::Triangle &a = m.triangle(s), &b = m.triangle(t);
  Between out;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto of_a = closest(m.vertex(a[k]), m.vertex(a[(k + 1) % 3]), m.vertex(b[0]), m.vertex(b[1]), m.vertex(b[2]));
    if (of_a.distance < out.distance) out = {of_a.distance, of_a.on_segment, of_a.on_triangle};
    const auto of_b = closest(m.vertex(b[k]), m.vertex(b[(k + 1) % 3]), m.vertex(a[0]), m.vertex(a[1]), m.vertex(a[2]));
    if (of_b.distance < out.distance) out = {of_b.distance, of_b.on_triangle, of_b.on_segment};
  }
  return out;
}

/// All pairs that lie in front of each other within a distance, tried one by one; but those that were near at rest.
std::set<std::pair<std::uint32_t, std::uint32_t>> facing(const TriangleMesh& m, const TriangleMesh& rest,
                                                         double within) {
  std::set<std::pair<std::uint32_t, std::uint32_t>> out;
  for (std::uint32_t s = 0; s < m.triangles(); ++s)
    for (std::uint32_t t = s + 1; t < m.triangles(); ++t) {
      if (m.face_normal(s).dot(m.face_normal(t)) > -0.2) continue;
      const Between d = between(m, s, t);
      if (d.distance > within || !(d.distance > 0) || between(rest, s, t).distance < 0.05) continue;
      const Vector3d way = (d.from_b - d.from_a) / d.distance;
      if (m.face_normal(s).dot(way) > 0.5 && m.face_normal(t).dot(way) < -0.5) out.insert({s, t});
    }
  return out;
}

TEST(SelfPairs, AreNoneOfAVesselAtRestHoweverThinItsWall) {
  for (const double wall : {0.02, 0.1}) {
    Tube tube(wall);
    SelfPairs pairs(tube.mesh, 0.1 * wall);
    EXPECT_EQ(pairs.find(tube.mesh, 0.15).size(), 0u) << wall;
  }
}

TEST(SelfPairs, MissNoneThatFacesAnotherWithinReach) {
  Tube tube, rest;
  SelfPairs pairs(tube.mesh, 0.01, tube.solids);
  std::size_t found = 0;
  for (int k = 0; k < 40; ++k) {
    tube.flatten(std::max(0.05, 1 - 0.03 * k), 0.001);
    for (const double within : {0.02, 0.1, 0.3}) {
      std::set<std::pair<std::uint32_t, std::uint32_t>> have;
      for (const SelfPairs::Pair& p : pairs.find(tube.mesh, within)) have.insert({p.a, p.b});
      for (const auto& pair : facing(tube.mesh, rest.mesh, within)) {
        EXPECT_TRUE(have.count(pair)) << k << ": " << pair.first << " " << pair.second << " within " << within;
        ++found;
      }
    }
  }
  EXPECT_GT(found, 1000u) << "the lumen's faces lie on each other in the end";
}

// At a corner of an element that is crushed flat, sides of it that are not joined come upon each other.
TEST(SelfPairs, TakeNoneThatOnlyAnElementCrushedFlatBringsTogether) {
  std::size_t without = 0;
  for (const double fold : {0.9, 1.0, 1.1}) {
    Tube tube;
    const tissue::Hexahedron& solid = tube.solids[0];
    // One edge of it is pushed onto the one across, short of it and beyond, what lies behind a fifth as far.
    const Vector3d swing = tube.rest[solid[0]] - tube.rest[solid[1]];
    for (const std::size_t corner : {1, 2, 5, 6}) {
      const Vector3d to = corner == 1 || corner == 5 ? swing : 0.2 * swing;
      tube.x[solid[corner]] += fold * to;
    }
    tube.mesh.deform(tube.x.data());
    const auto across = [&](SelfPairs& pairs) {
      std::size_t count = 0;
      for (const SelfPairs::Pair& p : pairs.find(tube.mesh, 0.05)) {
        std::size_t of_a = 0, of_b = 0;
        for (const std::uint32_t v : solid) {
          const auto has = [&](std::uint32_t t) {
            const TriangleMesh::Triangle& c = tube.mesh.triangle(t);
            return std::find(c.begin(), c.end(), v) != c.end();
          };
          of_a += has(p.a), of_b += has(p.b);
        }
        count += of_a >= 2 && of_b >= 2;
      }
      return count;
    };
    SelfPairs pairs(Tube().mesh, 0.01, tube.solids), blind(Tube().mesh, 0.01);
    EXPECT_EQ(across(pairs), 0u) << fold;
    without += across(blind);
  }
  EXPECT_GT(without, 0u) << "were it not for the elements";
}

TEST(SelfPairs, TakeNoneThroughAWall) {
  Tube tube;
  SelfPairs pairs(tube.mesh, 0.01);
  tube.flatten(0.5, 0);
  for (const SelfPairs::Pair& p : pairs.find(tube.mesh, 0.3)) {
    const TriangleMesh::Triangle &a = tube.mesh.triangle(p.a), &b = tube.mesh.triangle(p.b);
    const Vector3d way = tube.mesh.vertex(b[0]) + tube.mesh.vertex(b[1]) + tube.mesh.vertex(b[2]) -
                         tube.mesh.vertex(a[0]) - tube.mesh.vertex(a[1]) - tube.mesh.vertex(a[2]);
    EXPECT_GT(tube.mesh.face_normal(p.a).dot(way), 0) << p.a << " " << p.b;
    EXPECT_LT(tube.mesh.face_normal(p.b).dot(way), 0) << p.a << " " << p.b;
  }
}

}  // namespace
}  // namespace ligature::contact
