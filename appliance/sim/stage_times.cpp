#include "appliance/sim/stage_times.hpp"

#include <cmath>

#include "appliance/rt/clock.hpp"

namespace ligature::simulate {

void StageTimes::Windows::add(double step_ms, bool ends) {
  ms_ += step_ms;
  if (ends) {
    windows_.add(ms_);
    ms_ = 0;
  } else if (windows_.count() == 0) {
    part_ = {};
    part_.add(ms_);
  }
}

void StageTimes::stage_done(void* context, StepStage stage) noexcept {
  auto& self = *static_cast<StageTimes*>(context);
  const auto now = Clock::now();
  self.stage_ms_[static_cast<std::size_t>(stage)] += ms_between(self.last_, now);
  self.last_ = now;
}

void StageTimes::begin_step() noexcept {
  stage_ms_.fill(0);
  processor_begun_ns_ = rt::processor_now_ns();
  begun_ = last_ = Clock::now();
}

void StageTimes::end_step() {
  total_ms_ = ms_between(begun_, Clock::now());
  processor_ms_ = 1e-6 * static_cast<double>(rt::processor_now_ns() - processor_begun_ns_);
  total_.add(total_ms_);
  for (std::size_t c = 0; c < kStageColumns.size(); ++c) {
    column_ms_[c] = stage_ms_[static_cast<std::size_t>(kStageColumns[c].stage)];
    columns_[c].add(column_ms_[c]);
  }
  // A step belongs to the window in which it ends; the window (0, 30 ms] has index 0.
  ++step_;
  const auto next = static_cast<std::uint64_t>(std::floor(static_cast<double>(step_) * step_s_ / kWindow_s + 1e-9));
  clock_.add(total_ms_, next > window_);
  processor_.add(processor_ms_, next > window_);
  window_ = next;
}

}  // namespace ligature::simulate
