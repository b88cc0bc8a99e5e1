#pragma once
/// Marks what is real-time code and what is somebody else's, per thread. Costs two thread-local stores, so it is always
/// compiled in; the guard in tests/support reads it from interposed malloc and mutex functions.
///
///   RtSection section("physics");            // from here on: no allocation, no lock
///   { RtExempt exempt("opencv decode"); ... } // third-party call: exempt by name, counted
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace ligature::rt {

/// State of the calling thread; names are string literals.
struct RtState {
  const char* section = nullptr;  ///< innermost RtSection; nullptr = ordinary code
  const char* exempt = nullptr;   ///< innermost RtExempt inside that section
  bool guarded() const { return section != nullptr && exempt == nullptr; }
};

// initial-exec: the guard reads it inside malloc, where a lazily allocated TLS block would recurse.
inline constinit thread_local RtState rt_state __attribute__((tls_model("initial-exec"))) = {};

/// Keeps the marks where they are written. The compiler knows that malloc and free look at no variable of ours, so
/// without this it drops a mark that is set before and taken back after them. Costs no instruction.
inline void keep_marks() noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

class RtSection {
 public:
  explicit RtSection(const char* name) noexcept : outer_(rt_state) {
    rt_state = {name, nullptr};
    keep_marks();
  }
  ~RtSection() {
    keep_marks();
    rt_state = outer_;
    keep_marks();
  }
  RtSection(const RtSection&) = delete;
  RtSection& operator=(const RtSection&) = delete;

 private:
  RtState outer_;
};

/// How often each exemption was entered, process-wide.
struct ExemptionCount {
  const char* name = nullptr;
  std::uint64_t entered = 0;
};
inline constexpr std::size_t kMaxExemptions = 32;
/// Counts one entry. @rt wait-free, bounded by kMaxExemptions; names beyond that share the last row
void count_exemption(const char* name) noexcept;
/// The table so far; rows with a null name are unused.
std::array<ExemptionCount, kMaxExemptions> exemption_counts() noexcept;

class RtExempt {
 public:
  explicit RtExempt(const char* name) noexcept : outer_(rt_state) {
    keep_marks();
    rt_state.exempt = name;
    keep_marks();
    if (outer_.section != nullptr) count_exemption(name);
  }
  ~RtExempt() {
    keep_marks();
    rt_state = outer_;
    keep_marks();
  }
  RtExempt(const RtExempt&) = delete;
  RtExempt& operator=(const RtExempt&) = delete;

 private:
  RtState outer_;
};

}  // namespace ligature::rt
