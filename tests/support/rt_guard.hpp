#pragma once
/// Proves that real-time code neither allocates nor locks: linked into a test program, it interposes malloc and its
/// relatives, and pthread mutexes, and looks at the calling thread's marks (appliance/rt/rt_section.hpp).
///
///   guard::reset();
///   { rt::RtSection section("physics"); world.step(sample); }
///   EXPECT_EQ(guard::violations(), 0u) << guard::report();
///
/// Threads of the product mark themselves with RtSection, so a whole pipeline can run under the guard. Calls inside an
/// RtExempt are counted under its name and are no violation.
///
/// Not seen: futexes and spin locks of one's own, mutexes locked inside the C library, and, under ThreadSanitizer,
/// aligned_alloc and posix_memalign.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace ligature::guard {

enum class Call : std::uint8_t { allocate, release, lock };

struct Violation {
  Call call;
  const char* section;  ///< label of the RtSection
  std::string where;    ///< call stack, innermost first, as far as symbols go (link with -rdynamic)
};

struct Exempted {
  std::string name;
  std::uint64_t allocations = 0, releases = 0, locks = 0;
};

/// Forgets what was counted. Call it while no marked thread runs.
void reset();
/// Calls that should not have been made, since reset().
std::uint64_t violations();
std::uint64_t violations(Call call);
/// The first of them (bounded; the counts are complete).
std::vector<Violation> first_violations();
/// What happened inside exemptions since reset(), by name.
std::vector<Exempted> exempted();
/// All of it as text, for a failing test.
std::string report();
/// True if the interposed functions are really the ones that run: a plant that a test asserts before it trusts zero.
bool active();

/// The calling thread is real-time code within this scope, for tests of code that does not mark itself.
class ForbidAlloc {
 public:
  explicit ForbidAlloc(const char* name = "ForbidAlloc");
  ~ForbidAlloc();
  ForbidAlloc(const ForbidAlloc&) = delete;
  ForbidAlloc& operator=(const ForbidAlloc&) = delete;
  /// Violations on any thread since this scope began.
  std::uint64_t count() const;

 private:
  const char* outer_section_;
  const char* outer_exempt_;
  std::uint64_t before_;
};

}  // namespace ligature::guard
