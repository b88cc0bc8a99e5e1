#include "appliance/run/hands.hpp"

namespace ligature::appliance {
namespace {

drivers::PoseFilter filter(const HandsParams& params) {
  drivers::PoseFilterParams p;
  p.max_lead_ms = params.max_lead_ms;
  return drivers::PoseFilter(p);
}

}  // namespace

Hands::Hands(const HandsParams& params) : params_(params), filters_{filter(params), filter(params)} {}

void Hands::take(const InstrumentSample& raw) noexcept {
  raw_ = raw;
  for (std::size_t i = 0; i < kInstruments; ++i)
    filters_[i].update(raw.instruments[i], raw.instruments[i].variance, raw.mid_exposure_ns);
}

InstrumentSample Hands::at(std::int64_t t_ns) const noexcept {
  InstrumentSample out = raw_;
  if (!params_.filter) return out;
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const drivers::FilteredPose shown = filters_[i].at(t_ns);
    if (shown.status == TrackStatus::lost) continue;
    out.instruments[i].X_RT = shown.X_RT;
    out.instruments[i].opening_rad = shown.opening_rad;
  }
  return out;
}

}  // namespace ligature::appliance
