#pragma once
/// Quantiles of positive numbers in fixed memory: logarithmic buckets, 128 to an octave, so that a quantile is within
/// 0.4 % of the true one; the maximum is exact.
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ligature::simulate {

class Quantiles {
 public:
  void add(double value) {
    ++buckets_[bucket_of(value)];
    ++count_;
    max_ = std::max(max_, value);
  }
  std::uint64_t count() const { return count_; }
  double max() const { return max_; }
  /// The smallest value that at least `fraction` of all do not exceed, to within half a bucket. 0 when empty.
  double at(double fraction) const {
    const auto wanted = static_cast<std::uint64_t>(std::ceil(fraction * static_cast<double>(count_)));
    if (wanted >= count_) return max_;
    std::uint64_t seen = 0;
    for (std::size_t b = 0; b < buckets_.size(); ++b)
      if ((seen += buckets_[b]) >= std::max<std::uint64_t>(wanted, 1)) return std::min(middle_of(b), max_);
    return max_;
  }

 private:
  static constexpr int kLeast = -120, kMost = 60, kPerOctave = 128;  // 2^-120 .. 2^60

  // Bucket 0 holds what is zero, negative or too small.
  static std::size_t bucket_of(double value) {
    int exponent = 0;
    const double fraction = std::frexp(value, &exponent);
    if (!(value > 0) || exponent <= kLeast) return 0;
    if (!std::isfinite(value) || exponent > kMost) return (kMost - kLeast) * kPerOctave;
    return 1 + static_cast<std::size_t>((exponent - kLeast - 1) * kPerOctave) +
           static_cast<std::size_t>((fraction - 0.5) * 2 * kPerOctave);
  }
  static double middle_of(std::size_t bucket) {
    if (bucket == 0) return 0;
    const auto octave = static_cast<int>((bucket - 1) / kPerOctave);
    const auto part = static_cast<double>((bucket - 1) % kPerOctave);
    return std::ldexp(0.5 + (part + 0.5) / (2 * kPerOctave), octave + kLeast + 1);
  }

  std::vector<std::uint64_t> buckets_ = std::vector<std::uint64_t>(1 + (kMost - kLeast) * kPerOctave);
  std::uint64_t count_ = 0;
  double max_ = 0;
};

}  // namespace ligature::simulate
