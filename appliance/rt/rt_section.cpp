#include "appliance/rt/rt_section.hpp"

#include <atomic>
#include <cstring>

namespace ligature::rt {
namespace {

struct Row {
  std::atomic<const char*> name{nullptr};
  std::atomic<std::uint64_t> entered{0};
};
constinit std::array<Row, kMaxExemptions> rows;

}  // namespace

void count_exemption(const char* name) noexcept {
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const char* there = rows[i].name.load(std::memory_order_acquire);
    if (there == nullptr) {
      // Another thread may win the row; then `there` says with which name.
      if (rows[i].name.compare_exchange_strong(there, name, std::memory_order_acq_rel)) there = name;
    }
    if (there == name || std::strcmp(there, name) == 0 || i + 1 == rows.size()) {
      rows[i].entered.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
}

std::array<ExemptionCount, kMaxExemptions> exemption_counts() noexcept {
  std::array<ExemptionCount, kMaxExemptions> counts{};
  for (std::size_t i = 0; i < rows.size(); ++i)
    counts[i] = {rows[i].name.load(std::memory_order_acquire), rows[i].entered.load(std::memory_order_relaxed)};
  return counts;
}

}  // namespace ligature::rt
