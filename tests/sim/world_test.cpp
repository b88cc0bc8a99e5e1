#include "sim/world/world.hpp"

#include <gtest/gtest.h>

#include "tests/sim/scene.hpp"

namespace ligature::world {
namespace {

World make(const WorldParams& p) {
  auto world = World::create(p, {});
  EXPECT_TRUE(world) << (world ? "" : world.error().message);
  return std::move(*world);
}

TEST(World, ADroppedThreadComesToRestOnTheBench) {
  World world = make(thread_over_bench(5));
  StepReport last;
  for (int k = 0; k < 400; ++k) {
    last = world.step({});
    EXPECT_LT(last.worst_penetration_mm, 1e-3) << "step " << k;
  }
  const auto s = look(world);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-4);
  EXPECT_EQ(last.flags & step_not_converged, 0u);
  EXPECT_EQ(last.contacts, 301u);
}

TEST(World, ForcepsGraspLiftCrossAndLetGo) {
  World world = make(thread_over_bench());
  double highest = 0;
  std::uint32_t flags = 0;
  for (int k = 0; k < 1800; ++k) {
    const double t = 0.005 * k;
    flags |= world.step(demo_hands(t)).flags;
    const auto s = look(world);
    for (const auto& v : s->vertices) ASSERT_TRUE(std::isfinite(v.x + v.y + v.z)) << t;
    ASSERT_LT(longest_edge(*s, s->threads[0]), 0.2 * 1.05) << t;
    if (t > 3) highest = std::max(highest, static_cast<double>(s->vertices[150].z));
    if (t > 3 && t < 6.9) {
      EXPECT_TRUE(s->forceps[0].grasping && s->forceps[1].grasping) << t;
      EXPECT_GT(s->vertices[110].z, 8) << t;
    }
  }
  EXPECT_GT(highest, 8);
  EXPECT_TRUE(flags & step_grasped);
  EXPECT_TRUE(flags & step_released);
  EXPECT_FALSE(flags & step_non_finite_restored);
  const auto s = look(world);
  EXPECT_EQ(s->grasps, 2u);
  EXPECT_FALSE(s->forceps[0].grasping || s->forceps[1].grasping);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 0.02);
}

TEST(World, RepeatsBitForBit) {
  World a = make(thread_over_bench(1)), b = make(thread_over_bench(1));
  for (int k = 0; k < 500; ++k) a.step(demo_hands(0.005 * k)), b.step(demo_hands(0.005 * k));
  EXPECT_EQ(a.state_hash(), b.state_hash());
  b.step({});
  EXPECT_NE(a.state_hash(), b.state_hash());
}

TEST(World, ANonFiniteVertexIsRestoredAndCounted) {
  World world = make(thread_over_bench());
  for (int k = 0; k < 10; ++k) world.step({});
  world.inject_non_finite();
  EXPECT_TRUE(world.step({}).flags & step_non_finite_restored);
  for (int k = 0; k < 10; ++k) EXPECT_FALSE(world.step({}).flags & step_non_finite_restored);
  const auto s = look(world);
  EXPECT_EQ(s->non_finite_resets, 1u);
  for (const auto& v : s->vertices) EXPECT_NEAR(v.z, kRadius, 1e-4);
}

}  // namespace
}  // namespace ligature::world
