#include "triple_buffer_model.hpp"

#include <ostream>
#include <streambuf>

#include "appliance/rt/triple_buffer.hpp"

// Last, for its macros.
#include <relacy/relacy.hpp>

namespace ligature::rt {
namespace {

/// Swallows relacy's report. A string stream would not do: relacy replaces operator new while a model runs, and what is
/// allocated inside must not be freed outside.
class Discard : public std::streambuf {
  int overflow(int c) override { return c == EOF ? 0 : c; }
};

/// The shared byte over relacy's atomic, in the order under test.
template <rl::memory_order order>
class ModelByte {
 public:
  explicit ModelByte(std::uint8_t value) { byte_($).store(value, rl::mo_relaxed); }
  std::uint8_t exchange(std::uint8_t value) { return static_cast<std::uint8_t>(byte_($).exchange(value, order)); }
  std::uint8_t peek() const { return static_cast<std::uint8_t>(byte_($).load(rl::mo_relaxed)); }

 private:
  rl::atomic<unsigned> byte_;
};

/// Two words that relacy watches: a reader that meets a writer here is a data race, a mixed pair is torn.
struct Words {
  rl::var<unsigned> a, b;
  Words() {
    a($) = 0;
    b($) = 0;
  }
};

constexpr unsigned kValues = 4;
constexpr unsigned kLooks = 6;
unsigned long taken = 0;

template <rl::memory_order order>
struct Model : rl::test_suite<Model<order>, 2> {
  TripleBuffer<Words, ModelByte<order>> buffer;

  void thread(unsigned index) {
    if (index == 0) {
      for (unsigned i = 1; i <= kValues; ++i) {
        buffer.back().a($) = i;
        buffer.back().b($) = i;
        buffer.publish();
      }
    } else {
      unsigned last = 0;
      for (unsigned i = 0; i < kLooks; ++i) {
        if (!buffer.fetch()) continue;
        Words& front = const_cast<Words&>(buffer.front());
        const unsigned a = front.a($), b = front.b($);
        RL_ASSERT(a == b);
        RL_ASSERT(a > last);
        last = a;
        ++taken;
      }
    }
  }
};

template <rl::memory_order order>
ModelResult run(ModelSearch search, unsigned long iterations) {
  Discard discard;
  std::ostream output(&discard);
  rl::test_params parameters;
  parameters.iteration_count = iterations;
  parameters.search_type = search == ModelSearch::full ? rl::sched_full : rl::sched_random;
  parameters.output_stream = &output;
  parameters.progress_stream = &output;
  ModelResult result;
  taken = 0;
  result.success = rl::simulate<Model<order>>(parameters);
  result.data_race = parameters.test_result == rl::test_result_data_race;
  result.iterations = static_cast<unsigned long>(parameters.stop_iteration);
  result.taken = taken;
  result.verdict = rl::test_result_str(parameters.test_result);
  return result;
}

}  // namespace

ModelResult check_triple_buffer_model(ModelOrder order, ModelSearch search, unsigned long iterations) {
  switch (order) {
    case ModelOrder::acq_rel:
      return run<rl::mo_acq_rel>(search, iterations);
    case ModelOrder::relaxed:
      return run<rl::mo_relaxed>(search, iterations);
    case ModelOrder::release_only:
      return run<rl::mo_release>(search, iterations);
    case ModelOrder::acquire_only:
      return run<rl::mo_acquire>(search, iterations);
  }
  return {};
}

}  // namespace ligature::rt
