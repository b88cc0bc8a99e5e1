#pragma once
/// Runs the product's triple buffer in relacy's memory model. Apart from the test, because relacy's headers redefine
/// new, delete, malloc and assert as macros.
#include <string>

namespace ligature::rt {

struct ModelResult {
  bool success = false;
  bool data_race = false;
  unsigned long iterations = 0;
  unsigned long taken = 0;  ///< values the reader got, over all iterations
  std::string verdict;
};
enum class ModelOrder { acq_rel, relaxed, release_only, acquire_only };
enum class ModelSearch { random, full };
ModelResult check_triple_buffer_model(ModelOrder order, ModelSearch search, unsigned long iterations);

}  // namespace ligature::rt
