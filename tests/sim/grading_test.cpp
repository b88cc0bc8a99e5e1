// Threads whose edges are as long as their shape and neighbourhood allow.
#include "sim/world/grading.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "tests/sim/scene.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

constexpr double kDiameter = 0.025;

ThreadParams adaptive(std::vector<Vec3> points, double coarsest_mm = 0.4) {
  ThreadParams t = nylon(std::move(points), kDiameter, 20);
  t.segment_mm = kDiameter;
  t.coarsest_mm = coarsest_mm;
  t.inertial = false;
  return t;
}

std::vector<Vec3> arc(double radius_mm, double angle) {
  std::vector<Vec3> out;
  for (int i = 0; i <= 400; ++i) {
    const double a = angle * i / 400;
    out.push_back({radius_mm * std::sin(a), 0, radius_mm * (1 - std::cos(a))});
  }
  return out;
}

void expect_graded(const std::vector<std::uint32_t>& nodes, const Grid& grid) {
  ASSERT_GE(nodes.size(), 2u);
  EXPECT_EQ(nodes.front(), 0u);
  EXPECT_EQ(nodes.back(), grid.units);
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) {
    const std::uint32_t size = nodes[i + 1] - nodes[i];
    EXPECT_EQ(size & (size - 1), 0u) << "no power of two";
    EXPECT_EQ(nodes[i] % size, 0u) << "not at a multiple of itself";
    EXPECT_LE(size, grid.block);
    if (i > 0) {
      const std::uint32_t before = nodes[i] - nodes[i - 1];
      EXPECT_LE(size, 2 * before);
      EXPECT_LE(before, 2 * size);
    }
  }
}

TEST(Grading, AStraightThreadAloneHasTheLongestEdges) {
  const ThreadParams t = adaptive({{0, 0, 0}, {60, 0, 0}});
  const Grid grid = grid_of(t);
  EXPECT_EQ(grid.block, 16u);
  EXPECT_EQ(grid.units, 2400u);
  const auto nodes = grade({t})[0];
  expect_graded(nodes, grid);
  EXPECT_EQ(nodes.size(), 151u);
}

TEST(Grading, TurnsByNoMoreThanIsAllowedAlongAnEdge) {
  for (const double radius : {0.3, 1.0, 3.0}) {
    const ThreadParams t = adaptive(arc(radius, std::numbers::pi), 0.8);
    const Grid grid = grid_of(t);
    const auto nodes = grade({t})[0];
    expect_graded(nodes, grid);
    const double unit = std::numbers::pi * radius / static_cast<double>(grid.units);
    std::uint32_t longest = 0;
    for (std::size_t i = 0; i + 1 < nodes.size(); ++i) longest = std::max(longest, nodes[i + 1] - nodes[i]);
    EXPECT_LE(longest * unit / radius, kMostTurn * 1.01);
    if (longest < grid.block) {
      EXPECT_GT(2 * longest * unit / radius, kMostTurn * 0.99) << "finer than need be";
    }
  }
}

TEST(Grading, IsFinestWhereStrandsAreNear) {
  const std::vector<ThreadParams> threads{adaptive({{-10, 0, 0}, {10, 0, 0}}),
                                          adaptive({{0, -10, 2 * kDiameter}, {0, 10, 2 * kDiameter}})};
  const auto nodes = grade(threads);
  for (std::size_t k = 0; k < 2; ++k) {
    const Grid grid = grid_of(threads[k]);
    expect_graded(nodes[k], grid);
    const double unit = 20.0 / static_cast<double>(grid.units);
    for (std::size_t i = 0; i + 1 < nodes[k].size(); ++i) {
      const double at = std::abs((nodes[k][i] + 0.5) * unit - 10);
      if (at < kFineBeside * kDiameter) {
        EXPECT_EQ(nodes[k][i + 1] - nodes[k][i], 1u);
      }
      if (at > 40 * kDiameter) {
        EXPECT_EQ(nodes[k][i + 1] - nodes[k][i], grid.block);
      }
    }
    EXPECT_LT(nodes[k].size(), 90u);
  }
}

TEST(Grading, HasAVertexWhereSomethingHoldsOrPulls) {
  ThreadParams t = adaptive({{0, 0, 0}, {20, 0, 0}});
  ForceParams f;
  f.at = {Place::Kind::arc, 0, 7.13};
  t.forces.push_back(f);
  const auto nodes = grade({t})[0];
  expect_graded(nodes, grid_of(t));
  EXPECT_TRUE(std::binary_search(nodes.begin(), nodes.end(), 285u));
}

TEST(Grading, WeighsAndMeasuresWhatAUniformThreadDoes) {
  WorldParams p = thread_world();
  auto ring = arc(1, 2 * std::numbers::pi);
  ring.pop_back();
  p.threads = {adaptive(ring)};
  p.threads[0].closed = true;
  p.threads[0].inertial = true;
  p.threads[0].velocity = {1, 2, 3};
  const auto graded = World::create(p, {});
  ASSERT_TRUE(graded) << graded.error().message;
  p.threads[0].coarsest_mm = 0;
  const auto uniform = World::create(p, {});
  ASSERT_TRUE(uniform);
  const ThreadMeasure a = graded->measure(0), b = uniform->measure(0);
  EXPECT_LT(a.vertices, b.vertices / 3);
  EXPECT_NEAR(a.rest_length_mm, b.rest_length_mm, 1e-12 * b.rest_length_mm);
  EXPECT_NEAR(a.momentum.z, b.momentum.z, 1e-12 * b.momentum.z);
  EXPECT_NEAR(a.bend_energy, b.bend_energy, 6e-3 * b.bend_energy);  // turn^2/12 along an edge, and less
}

}  // namespace
}  // namespace ligature::world
