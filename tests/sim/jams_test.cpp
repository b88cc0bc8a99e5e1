/// What hangs together goes on as one.
#include "sim/contact/jams.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature::contact {
namespace {

Jams::Part vertex(std::uint32_t strand, std::uint32_t index, const Vector3d& own, bool held = false) {
  Jams::Part p;
  p.owner = strand, p.index = index, p.own = own, p.held = held;
  return p;
}
Jams::Part node(std::uint32_t body, std::uint32_t index, const Vector3d& own, bool held = false) {
  Jams::Part p = vertex(body, index, own, held);
  p.soft = true;
  return p;
}
Vector3d move_of(const Jams& jams, bool soft, std::uint32_t owner, std::uint32_t index) {
  for (const Jams::Part& p : jams.parts())
    if (p.soft == soft && p.owner == owner && p.index == index) return p.move;
  ADD_FAILURE() << owner << " " << index;
  return {};
}

TEST(Jams, APieceMovesByTheMeanOfItsParts) {
  Jams jams(16);
  const std::array<Jams::Part, 3> pair{vertex(0, 7, {3, 0, 0}), vertex(0, 8, {0, 3, 0}), node(0, 7, {0, 0, 3})};
  jams.join(pair);
  jams.settle();
  EXPECT_EQ(jams.parts().size(), 3u) << "vertex 7 is not node 7";
  for (const Jams::Part& p : jams.parts()) EXPECT_LT((p.move - Vector3d(1, 1, 1)).norm(), 1e-15);
}

TEST(Jams, WhatIsHeldLaterIsHeldFromThenOn) {
  Jams jams(16);
  jams.join(std::array<Jams::Part, 2>{vertex(0, 7, {3, 0, 0}), node(0, 1, {1, 0, 0})});
  jams.join(std::array<Jams::Part, 2>{vertex(0, 7, {0, 2, 0}, true), vertex(0, 8, {0, 4, 0}, true)});
  jams.join(std::array<Jams::Part, 2>{vertex(0, 7, {9, 9, 9}), vertex(0, 8, {9, 9, 9})});
  jams.settle();
  EXPECT_EQ(move_of(jams, false, 0, 7), Vector3d(0, 2, 0));
  EXPECT_EQ(move_of(jams, false, 0, 8), Vector3d(0, 4, 0));
  EXPECT_LT((move_of(jams, true, 0, 1) - Vector3d(0, 3, 0)).norm(), 1e-15) << "goes with those that are held";
}

TEST(Jams, WhatHasAPartInCommonIsOnePieceInWhateverOrderItIsTold) {
  // A chain of 12 links and a pair beside it.
  std::vector<std::array<Jams::Part, 2>> links;
  Vector3d sum = Vector3d::Zero();
  Random random(3);
  std::vector<Vector3d> own;
  for (std::uint32_t i = 0; i < 13; ++i) {
    own.push_back({random.normal(), random.normal(), random.normal()});
    sum += own.back();
  }
  for (std::uint32_t i = 0; i < 12; ++i) links.push_back({node(1, i, own[i]), node(1, i + 1, own[i + 1])});
  for (int round = 0; round < 20; ++round) {
    for (std::size_t i = links.size(); i-- > 1;)
      std::swap(links[i], links[std::min(i, static_cast<std::size_t>(random.uniform(0, static_cast<double>(i + 1))))]);
    Jams jams(32);
    for (const auto& link : links) jams.join(link);
    jams.join(std::array<Jams::Part, 2>{vertex(1, 3, {1, 0, 0}), vertex(2, 3, {0, 0, 0})});
    jams.settle();
    for (std::uint32_t i = 0; i < 13; ++i) EXPECT_LT((move_of(jams, true, 1, i) - sum / 13).norm(), 1e-14) << round;
    EXPECT_EQ(move_of(jams, false, 1, 3), Vector3d(0.5, 0, 0));
    EXPECT_EQ(move_of(jams, false, 2, 3), Vector3d(0.5, 0, 0));
  }
}

TEST(Jams, WhatIsHeldLeadsTheRest) {
  Jams jams(16);
  jams.join(std::array<Jams::Part, 3>{vertex(0, 1, {0, 0, 5}), vertex(0, 2, {1, 0, 0}, true), node(3, 9, {7, 7, 7})});
  jams.settle();
  for (const Jams::Part& p : jams.parts()) EXPECT_EQ(p.move, Vector3d(1, 0, 0));
  // One that goes elsewhere goes there.
  jams.join(std::array<Jams::Part, 2>{node(3, 9, {7, 7, 7}), vertex(0, 5, {0, 1, 0}, true)});
  jams.settle();
  EXPECT_EQ(move_of(jams, false, 0, 2), Vector3d(1, 0, 0));
  EXPECT_EQ(move_of(jams, false, 0, 5), Vector3d(0, 1, 0));
  EXPECT_EQ(move_of(jams, false, 0, 1), Vector3d(0.5, 0.5, 0));
  jams.clear();
  EXPECT_TRUE(jams.empty());
}

TEST(Jams, WhatDoesNotFitIsLeftOut) {
  Jams jams(3);
  const guard::ForbidAlloc forbid;
  jams.join(std::array<Jams::Part, 2>{vertex(0, 0, {1, 0, 0}), vertex(0, 1, {3, 0, 0})});
  jams.join(std::array<Jams::Part, 3>{vertex(0, 2, {5, 0, 0}), vertex(0, 3, {9, 0, 0}), vertex(0, 1, {3, 0, 0})});
  jams.settle();
  ASSERT_EQ(jams.parts().size(), 3u);
  EXPECT_TRUE(jams.has(false, 0, 2));
  EXPECT_FALSE(jams.has(false, 0, 3));
  for (const Jams::Part& p : jams.parts()) EXPECT_EQ(p.move, Vector3d(3, 0, 0));
}

}  // namespace
}  // namespace ligature::contact
