// Proof 4, second half: the same stress over the ordering named on the command line. Built with ThreadSanitizer,
// `relaxed` must be reported and `acq_rel` must not.
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <thread>

#include "appliance/rt/triple_buffer.hpp"

namespace {

struct Pair {
  std::uint64_t a = 0, b = 0;
};

template <class Byte>
std::uint64_t stress() {
  constexpr std::uint64_t kValues = 100'000;
  ligature::rt::TripleBuffer<Pair, Byte> buffer;
  std::thread writer([&] {
    for (std::uint64_t i = 1; i <= kValues; ++i) {
      buffer.back() = {i, i};
      buffer.publish();
    }
  });
  std::uint64_t torn = 0;
  for (std::uint64_t last = 0; last < kValues;) {
    if (!buffer.fetch()) continue;
    torn += buffer.front().a != buffer.front().b;
    last = buffer.front().a;
  }
  writer.join();
  return torn;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const std::uint64_t torn = std::strcmp(argv[1], "relaxed") == 0 ? stress<ligature::rt::BrokenRelaxed>()
                                                                  : stress<ligature::rt::AcquireRelease>();
  std::printf("%llu torn values\n", static_cast<unsigned long long>(torn));
  return torn == 0 ? 0 : 1;
}
