/// Where threads meet a surface of triangles: the nearest places against a search along the curve, that none of them
/// comes from nowhere as the thread glides, beside holes, and where the polyline is deeper than its curve.
#include "sim/contact/mesh_contacts.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <tuple>
#include <vector>

#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/tolerances.hpp"
#include "tests/sim/crumpled.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastDeeper = 1.01e-4;   // of the radius: edges and faces nearer by less are left to where they end
constexpr double kGiven = kFaceHold / 32;  // of the radius: what drawing a place to the middle of its piece gives away
constexpr double kEdge = 0.1;              // of threads [mm]

struct Thread {
  std::vector<Vector3d> x;
  double radius = 0;
  bool closed = false;
  Strand strand() const {
    return {.x = x.data(), .vertices = x.size(), .closed = closed, .radius = radius, .rest_length = kEdge};
  }
  /// From a place in a direction, bent evenly.
  Thread(const Vector3d& from, const Vector3d& along, const Vector3d& bend, int vertices, double r) : radius(r) {
    for (int i = 0; i < vertices; ++i) {
      const double s = kEdge * (i - 0.5 * (vertices - 1));
      x.push_back(from + s * along + 0.5 * s * s * bend);
    }
  }
  double last() const { return static_cast<double>(x.size() - (closed ? 0 : 1)); }
  /// Least signed distance of the curve from the surface less the radius, looked for along it.
  double least_gap(const TriangleMesh& mesh) const {
    const Strand s = strand();
    return least_of([&](double t) { return mesh.nearest(curve_at(s, last() * t).p, 1e3).distance - radius; },
                    20 * static_cast<int>(x.size()));
  }
};

struct Scene {
  Still body;
  Obstacle obstacle = Obstacle::soft(body.surface());
  const Obstacle* body_list = &obstacle;
  SoftBody* soft_list = &body;
  MeshContacts contacts{2048};
  std::vector<Passage> passages;

  explicit Scene(TriangleMesh mesh) : body(std::move(mesh)) {}
  const std::vector<BodyContact>& find(const Thread& thread, double reach) {
    const Strand s = thread.strand();
    EXPECT_EQ(contacts.find(&s, 1, {&body_list, 1, 1, &soft_list}, reach, &passages), 0u);
    return contacts.contacts();
  }
};

bool of_polyline(const BodyContact& c) {
  return c.number == static_cast<std::uint32_t>(StrandFeature::polyline);
}

TEST(MeshContacts, TheNearestPlaceOfTheCurveIsOneOfThem) {
  Random random(20261123);
  for (const double rough : {0.0, 0.02, 0.1}) {
    int bore = 0, exact = 0;
    for (int k = 0; k < 60; ++k) {
      Scene scene(crumpled(random, 0.5, 18, 12, rough));
      for (int place = 0; place < 40; ++place) {
        // Across it, along it, an end towards it; straight, or bent as far as a thread about a 1 mm vessel.
        const Vector3d way = unit(random), along = unit(random), aside = unit(random);
        const double radius = random.uniform(0.01, 0.1);
        Thread thread(random.uniform(0.5, 0.62) * way, along, random.uniform(0, 2) * aside, 12, radius);
        const double least = thread.least_gap(scene.body.surface());
        if (least < -0.7 * radius || least > 0.2) continue;
        double found = 1e9;
        const Strand s = thread.strand();
        for (const BodyContact& c : scene.find(thread, 0.25)) {
          if (of_polyline(c)) continue;
          found = std::min(found, c.contact.gap);
          const Vector3d p = curve_at(s, c.contact.pair.edge_a + c.contact.sa).p;
          const Vector3d on = place_of(c.contact, scene.body.surface());
          EXPECT_NEAR((p - on).norm() - radius, c.contact.gap, 1e-9);
          EXPECT_NEAR((p - on).normalized().dot(c.contact.normal), 1, 1e-9);
          EXPECT_LE(std::abs(c.contact.pair.edge_a + c.contact.sa - c.vertex), 0.5 + 1e-9);
        }
        ++bore;
        EXPECT_GT(found, least - 1e-9) << "rough " << rough << ", mesh " << k << ", " << place;
        EXPECT_LT(found, least + (kLeastDeeper + kGiven) * radius + 1e-9) << rough << ", mesh " << k << ", " << place;
        exact += found < least + kLeastDeeper * radius + 1e-9;
      }
    }
    EXPECT_GT(bore, 100) << rough;
    EXPECT_GT(exact, 0.75 * bore) << "of the others a face was nearest";
  }
}

// Cut, or divided anew, a thread bears where it bore.
TEST(MeshContacts, ForcesGoWithThePiecesOfAThread) {
  Random random(11);
  int behind_the_cut = 0, compared = 0;
  for (int k = 0; k < 20; ++k) {
    Scene scene(crumpled(random, 0.5, 18, 12, 0.05));
    const Thread whole({0, 0, random.uniform(0.48, 0.53)}, {1, 0, 0}, {0, 0, -1.0}, 15, 0.03);
    scene.find(whole, 0.1);
    std::vector<BodyContact>& contacts = scene.contacts.contacts();
    ASSERT_GE(contacts.size(), 3u);
    for (std::size_t i = 0; i < contacts.size(); ++i)
      contacts[i].contact.force = (1.0 + static_cast<double>(i)) * contacts[i].contact.normal;
    const std::vector<BodyContact> before = contacts;
    scene.contacts.remember();
    constexpr std::uint32_t kAt = 6;
    Thread first = whole, second = whole;
    first.x.resize(kAt + 1);
    second.x.erase(second.x.begin(), second.x.begin() + kAt);
    const Strand pieces[] = {first.strand(), second.strand()};
    scene.contacts.divide(0, kAt, 1);
    EXPECT_EQ(scene.contacts.find(pieces, 2, {&scene.body_list, 1, 1, &scene.soft_list}, 0.1), 0u);
    // By the cut the curve has ends now; elsewhere each has the force that it had.
    for (const BodyContact& was : before) {
      const double u = was.contact.pair.edge_a + was.contact.sa;
      if (std::abs(u - kAt) < 1.6) continue;
      const bool behind = u > kAt;
      const auto is = std::find_if(contacts.begin(), contacts.end(), [&](const BodyContact& c) {
        const double now = c.contact.pair.edge_a + c.contact.sa + (behind ? kAt : 0);
        return c.contact.pair.strand_a == (behind ? 1u : 0u) && c.number == was.number && std::abs(now - u) < 1e-6 &&
               (c.contact.normal - was.contact.normal).norm() < 1e-6;
      });
      ASSERT_NE(is, contacts.end()) << k << ", at " << u;
      EXPECT_NEAR(is->contact.force.norm(), was.contact.force.norm(), 1e-6) << k << ", at " << u;
      behind_the_cut += behind ? 1 : 0;
      ++compared;
    }

    // Every edge in two, and back.
    Scene graded(crumpled(random, 0.5, 18, 12, 0.05));
    graded.find(whole, 0.1);
    for (BodyContact& c : graded.contacts.contacts()) c.contact.force = c.contact.normal;
    graded.contacts.remember();
    const std::vector<BodyContact> there = graded.contacts.contacts();
    std::vector<EdgeMove> finer, coarser;
    for (std::uint32_t e = 0; e + 1 < whole.x.size(); ++e) {
      finer.push_back({2 * e, 0, 2});
      coarser.push_back({e, 0, 0.5}), coarser.push_back({e, 0.5, 0.5});
    }
    graded.contacts.regrade(0, finer.data());
    for (const BodyContact& c : graded.contacts.contacts()) {
      EXPECT_LT(c.contact.pair.edge_a, 2 * (whole.x.size() - 1));
      EXPECT_GE(c.contact.sa, 0);
      EXPECT_LE(c.contact.sa, 1);
      EXPECT_LE(std::abs(c.contact.pair.edge_a + c.contact.sa - c.vertex), 0.5 + 1e-9);
    }
    graded.contacts.regrade(0, coarser.data());
    ASSERT_EQ(graded.contacts.contacts().size(), there.size());
    for (std::size_t i = 0; i < there.size(); ++i) {
      const StrandContact &was = there[i].contact, &is = graded.contacts.contacts()[i].contact;
      EXPECT_NEAR(was.pair.edge_a + was.sa, is.pair.edge_a + is.sa, 1e-12) << k;
      EXPECT_EQ(there[i].contact.force, graded.contacts.contacts()[i].contact.force) << k;
    }
  }
  EXPECT_GT(compared, 20);
  EXPECT_GT(behind_the_cut, 10);
}

// What a thread comes to bear on next was known before it did: as deep as it is found then, but for what places glide.
TEST(MeshContacts, NoPlaceComesFromNowhereAsTheThreadGlides) {
  Random random(7);
  constexpr double kMove = 5e-4;
  int taken_over = 0;
  for (int k = 0; k < 20; ++k) {
    Scene scene(crumpled(random, 0.5, 18, 12, 0.03));
    const double turn = random.uniform(0, 6), radius = random.uniform(0.0125, 0.05);
    const Vector3d up(std::cos(turn), 0, std::sin(turn)), round(-std::sin(turn), 0, std::cos(turn));
    // Laid over it, bent about it as it is, on its way along it and aside.
    const Vector3d along = (round + random.uniform(-1, 1) * Vector3d::UnitY()).normalized();
    Vector3d middle = (0.5 + radius) * up - 0.3 * Vector3d::UnitY();
    using Which = std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>;  // one face may bear several pieces
    std::map<Which, Vector3d> known;
    Which nearest_before{};
    for (int i = 0; i < 600; ++i, middle += kMove * (Vector3d::UnitY() + 0.2 * round)) {
      const Thread thread(middle, along, -1.2 * up, 11, radius);
      const Strand s = thread.strand();
      double least = 1e9;
      Which nearest;
      std::map<Which, Vector3d> now;
      for (const BodyContact& c : scene.find(thread, 0.05)) {
        if (of_polyline(c)) continue;
        now[{c.number, c.feature, c.vertex}] = place_of(c.contact, scene.body.surface());
        if (c.contact.gap < least) least = c.contact.gap, nearest = {c.number, c.feature, c.vertex};
      }
      double inside = 0;  // what is inside is let out by another way
      for (int j = 0; j <= 100; ++j)
        inside = std::max(inside, -scene.body.surface().nearest(curve_at(s, thread.last() * j / 100).p, 0.1).distance);
      if (i > 0 && least < 0.02 && least > -0.7 * radius && inside == 0) {
        double foretold = 1e9;
        for (const auto& [which, on] : known)
          for (int j = 0; j <= 1000; ++j)
            foretold = std::min(foretold, (on - curve_at(s, thread.last() * j / 1000).p).norm() - radius);
        if (foretold > -0.7 * radius) {
          EXPECT_NEAR(foretold, least, 0.2 * kMove + kGiven * radius) << "mesh " << k << ", at " << i;
        }
        taken_over += nearest != nearest_before;
      }
      known = std::move(now);
      nearest_before = nearest;
    }
  }
  EXPECT_GT(taken_over, 50) << "it did glide over edges";
}

// A thread that runs down into a hole comes nearest to the wall where it enters it, and is held off there.
TEST(MeshContacts, BesideAHoleThePlaceWhereItBeginsIsHeldOff) {
  Random random(3);
  Scene scene(crumpled(random, 0.5, 18, 12, 0));
  const double radius = 0.0125;
  const Thread thread({0, 0, 0.74}, Vector3d(0, -1, 0.4).normalized(), Vector3d(0, 0, 0), 21, radius);
  scene.passages = {
      {0, 0, -1, 3.7, 1}};  // its first vertices are inside, the second and those before it below the surface
  double enters = 1e9;
  for (const BodyContact& c : scene.find(thread, 0.2)) {
    EXPECT_GE(c.contact.pair.edge_a + c.contact.sa, 3.7 - 1e-12);
    enters = std::min(enters, c.contact.pair.edge_a + c.contact.sa);
  }
  EXPECT_NEAR(enters, 3.7, 1e-12);
  // Across the thread, which rises from the wall: along it the place stays where the hole is.
  const double across = Vector3d(0, -1, 0.4).normalized().head<2>().norm();
  const double there = curve_at(thread.strand(), 3.7).p.z() - 0.5 * std::cos(std::numbers::pi / 18);
  double gap = 1e9;
  for (const BodyContact& c : scene.contacts.contacts()) gap = std::min(gap, c.contact.gap);
  EXPECT_NEAR(gap, (there - radius) / across, 1e-9) << "from the flat side under it";
  for (const BodyContact& c : scene.contacts.contacts())
    if (c.contact.pair.edge_a + c.contact.sa < 3.7 + 1e-9) {
      EXPECT_NEAR(c.contact.normal.dot(Vector3d(0, -1, 0.4)), 0, 1e-12);
      EXPECT_GT(c.contact.normal.z(), 0.5);
    }
}

TEST(MeshContacts, WhatHasComeInsideIsLetOutByTheNearestWay) {
  Random random(11);
  int inside = 0;
  for (int k = 0; k < 20; ++k) {
    Scene scene(crumpled(random, 0.5, 18, 12, 0.05));
    const TriangleMesh& mesh = scene.body.surface();
    const double radius = random.uniform(0.01, 0.1);
    const Vector3d way = Vector3d(unit(random).x(), 0, unit(random).z()).normalized();
    const Thread thread(random.uniform(0.3, 0.5) * way, unit(random), 2 * unit(random), 12, radius);
    const Strand s = thread.strand();
    scene.passages = {{0, 0, -1, 3.2, 100}};
    scene.find(thread, 0.02);
    for (std::uint32_t i = 0; i < s.vertices; ++i) {
      const bool passes = i < 3;
      const TriangleMesh::Nearest out = mesh.nearest(curve_at(s, std::max(static_cast<double>(i), 3.2)).p, 9);
      const auto of_it = [&](const BodyContact& c) {
        return c.vertex == i && c.number == static_cast<std::uint32_t>(StrandFeature::inside);
      };
      const auto& all = scene.contacts.contacts();
      const auto found = std::find_if(all.begin(), all.end(), of_it);
      ASSERT_EQ(found != all.end(), !passes && out.distance < 0) << "mesh " << k << ", vertex " << i;
      if (found == all.end()) continue;
      ++inside;
      EXPECT_NEAR(found->contact.gap, out.distance - radius, 1e-12);
      EXPECT_GT(found->contact.normal.dot(out.normal), 1 - 1e-12);
      EXPECT_NEAR((place_of(found->contact, mesh) - out.point).norm(), 0, 1e-9);
    }
  }
  EXPECT_GT(inside, 40);
}

// A thread that is bent over a ridge: rounded, its corner would run inside of it.
TEST(MeshContacts, ACornerIsHeldOffWhereTheCurveRunsInside) {
  Random random(3);
  Scene scene(crumpled(random, 0.5, 18, 12, 0));
  const auto on_tube = [](int side) {
    const double a = std::numbers::pi / 9 * side;
    return Vector3d(0.5 * std::cos(a), 0, 0.5 * std::sin(a));
  };
  const double radius = 0.0125;
  const Vector3d ridge = on_tube(4), up = ridge.normalized();
  for (const double above : {0.1, 0.4}) {
    Thread thread(Vector3d(0, 0, 0), up, Vector3d(0, 0, 0), 3, radius);
    thread.x[1] = ridge + above * radius * up;
    thread.x[0] = thread.x[1] + kEdge * (on_tube(5) - ridge).normalized();
    thread.x[2] = thread.x[1] + kEdge * (on_tube(3) - ridge).normalized();
    const double over = (curve_at(thread.strand(), 1).p - ridge).dot(up);  // of the curve
    ASSERT_EQ(over < 0, above < 0.2);
    double corner = 1e9, others = 1e9;
    for (const BodyContact& c : scene.find(thread, 0.02)) {
      if (c.vertex != 1) continue;
      double& of = of_polyline(c) ? corner : others;
      of = std::min(of, c.contact.gap);
    }
    EXPECT_NEAR(over < 0 ? corner : others, over - radius, 0.05 * radius) << over;
    EXPECT_EQ(corner == 1e9, over > 0) << "else the corner has nothing to say";
  }
}

// Of a rigid surface that is much finer than the thread what neighbours say already is left out, and nothing else: the
// planes of those that are kept bound the curve as all features do.
TEST(MeshContacts, WhatIsLeftOutOfAFineRigidSurfaceIsSaidByWhatIsKept) {
  Random random(8);
  for (const double rough : {0.0, 1e-4}) {
    const TriangleMesh mesh = crumpled(random, 2, 1000, 20, rough);
    const Obstacle rigid = Obstacle::mesh(mesh);
    const Obstacle* list = &rigid;
    Scene soft(mesh);
    MeshContacts contacts(20000);
    std::size_t all = 0, kept = 0;
    for (int place = 0; place < 40; ++place) {
      const double radius = 0.05, height = 2 + radius + random.uniform(-0.3, 0.3) * radius;
      const Vector3d along = Vector3d(1, random.uniform(-0.2, 0.2), 0).normalized();
      Thread thread({0, random.uniform(-1, 1), height}, along, Vector3d(0, 0, -0.5), 8, radius);
      const Strand s = thread.strand();
      ASSERT_EQ(contacts.find(&s, 1, {&list, 1, 1}, 0.02), 0u);
      const std::vector<BodyContact>& told = soft.find(thread, 0.02);
      all += told.size(), kept += contacts.contacts().size();
      for (const BodyContact& c : told) {
        if (of_polyline(c) || c.number == static_cast<std::uint32_t>(StrandFeature::inside)) continue;
        const Vector3d at = curve_at(s, c.contact.pair.edge_a + c.contact.sa).p;
        double least = 1e9;  // by what the planes of those that are kept differ
        for (const BodyContact& k : contacts.contacts()) {
          const Vector3d from = curve_at(s, k.contact.pair.edge_a + k.contact.sa).p;
          if (k.vertex == c.vertex && k.contact.normal.dot(c.contact.normal) > 0.999)
            least = std::min(least, std::abs(k.contact.normal.dot(at - from) + k.contact.gap - c.contact.gap));
        }
        EXPECT_LE(least, 0.0101 * thread.radius) << rough << " " << place;
      }
    }
    EXPECT_GT(kept, 100u);
    EXPECT_GT(all, 2 * kept) << rough;
  }
}

TEST(MeshContacts, ForcesStayWithTheirFeatures) {
  Random random(5);
  Scene scene(crumpled(random, 0.5, 18, 12, 0.02));
  Thread thread({0, 0, 0.52}, Vector3d(0.8, 0.6, 0), Vector3d(0, 0, -1.2), 11, 0.02);
  std::map<std::tuple<std::uint32_t, std::uint32_t>, Vector3d> pushed;
  scene.find(thread, 0.05);
  for (BodyContact& c : scene.contacts.contacts()) {
    c.contact.force = (1.0 + c.feature) * c.contact.normal;
    pushed[{c.number, c.feature}] = c.contact.force;
  }
  ASSERT_GT(pushed.size(), 3u);
  scene.contacts.remember();
  for (Vector3d& x : thread.x) x.y() += 1e-3;
  int kept = 0;
  const auto count = [&] {
    for (const BodyContact& c : scene.find(thread, 0.05)) {
      const auto was = pushed.find({c.number, c.feature});
      if (was == pushed.end()) continue;
      EXPECT_NEAR(c.contact.force.norm(), was->second.norm(), 0.05 * was->second.norm());
      ++kept;
    }
  };
  count();
  EXPECT_GT(kept, 3);
  scene.contacts.contacts().clear();
  scene.contacts.begin();
  kept = 0;
  count();
  EXPECT_GT(kept, 3) << "as they were remembered";
}

}  // namespace
}  // namespace ligature::contact
