#include "appliance/watchdog/histogram.hpp"

#include <algorithm>
#include <cmath>

namespace ligature::watchdog {

std::int64_t Histogram::percentile_ns(double fraction) const noexcept {
  // Summed from the buckets, because count_ may be one ahead of them while the writer runs.
  std::uint64_t total = 0;
  for (const auto& bucket : buckets_) total += bucket.load(std::memory_order_relaxed);
  if (total == 0) return 0;
  const double wanted = std::ceil(std::clamp(fraction, 0.0, 1.0) * static_cast<double>(total));
  const auto rank = std::max<std::uint64_t>(1, static_cast<std::uint64_t>(wanted));
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    below += buckets_[i].load(std::memory_order_relaxed);
    if (below >= rank) return std::min(i + 1 == buckets_.size() ? max_ns() : LogBuckets::middle_of(i), max_ns());
  }
  return max_ns();
}

}  // namespace ligature::watchdog
