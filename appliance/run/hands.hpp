#pragma once
/// The hands that physics, and with it the picture, follows: steadied by the pose filter, or as tracked. Made from the
/// logged samples and the step's time alone, so that a session and its replay have the same ones, bit for bit.
#include <array>
#include <cstdint>

#include "drivers/tracking/pose_filter.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::appliance {

struct HandsParams {
  bool filter = true;
  double max_lead_ms = 5;  ///< 0..20
};

/// @rt noexcept, no allocation, bounded
class Hands {
 public:
  explicit Hands(const HandsParams& params = {});
  /// A sample that physics uses from now on: exactly those that the log holds, in their order.
  void take(const InstrumentSample& raw) noexcept;
  /// As the hands are at t_ns of session time, no further ahead of the newest sample than max_lead_ms. What is not
  /// the poses' (number, times, cameras) is the newest sample's.
  InstrumentSample at(std::int64_t t_ns) const noexcept;

 private:
  HandsParams params_;
  InstrumentSample raw_;
  std::array<drivers::PoseFilter, kInstruments> filters_;
};

}  // namespace ligature::appliance
