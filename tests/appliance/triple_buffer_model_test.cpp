#include "triple_buffer_model.hpp"

#include <gtest/gtest.h>

namespace ligature::rt {
namespace {

// Proof 2: the product's own template in relacy's C++11 memory model.

TEST(TripleBufferModel, AcquireReleaseHasNoRaceInRandomSearch) {
  const ModelResult result = check_triple_buffer_model(ModelOrder::acq_rel, ModelSearch::random, 300'000);
  EXPECT_TRUE(result.success) << result.verdict << " at iteration " << result.iterations;
  EXPECT_GT(result.taken, result.iterations) << "the reader hardly ever got a value: the search proves nothing";
  RecordProperty("iterations", static_cast<int>(result.iterations));
}

TEST(TripleBufferModel, AcquireReleaseHasNoRaceInFullSearch) {
  constexpr unsigned long kBound = 5'000'000;
  const ModelResult result = check_triple_buffer_model(ModelOrder::acq_rel, ModelSearch::full, kBound);
  EXPECT_TRUE(result.success) << result.verdict << " at iteration " << result.iterations;
  EXPECT_LT(result.iterations, kBound) << "the search ended by its bound, so it was not full";
  EXPECT_GT(result.taken, result.iterations) << "the reader hardly ever got a value: the search proves nothing";
  RecordProperty("iterations", static_cast<int>(result.iterations));
}

// Proof 4, first half: each weaker order must be caught, and as a race, not as something else.

class TripleBufferModelBroken : public testing::TestWithParam<ModelOrder> {};

TEST_P(TripleBufferModelBroken, WeakerOrderIsCaughtAsARace) {
  const ModelResult result = check_triple_buffer_model(GetParam(), ModelSearch::random, 50'000);
  EXPECT_FALSE(result.success);
  EXPECT_TRUE(result.data_race) << result.verdict;
}

INSTANTIATE_TEST_SUITE_P(Orders, TripleBufferModelBroken,
                         testing::Values(ModelOrder::relaxed, ModelOrder::release_only, ModelOrder::acquire_only));

}  // namespace
}  // namespace ligature::rt
