#include "appliance/sim/stage_times.hpp"

#include <cmath>

namespace ligature::simulate {

void StageTimes::stage_done(void* context, StepStage stage) noexcept {
  auto& self = *static_cast<StageTimes*>(context);
  const auto now = Clock::now();
  self.stage_ms_[static_cast<std::size_t>(stage)] += ms_between(self.last_, now);
  self.last_ = now;
}

void StageTimes::begin_step() noexcept {
  stage_ms_.fill(0);
  begun_ = last_ = Clock::now();
}

void StageTimes::end_step() {
  total_ms_ = ms_between(begun_, Clock::now());
  total_.add(total_ms_);
  for (std::size_t c = 0; c < kStageColumns.size(); ++c) {
    column_ms_[c] = stage_ms_[static_cast<std::size_t>(kStageColumns[c].stage)];
    columns_[c].add(column_ms_[c]);
  }
  // A step belongs to the window in which it ends; the window (0, 30 ms] has index 0.
  ++step_;
  window_ms_ += total_ms_;
  const auto next = static_cast<std::uint64_t>(std::floor(static_cast<double>(step_) * step_s_ / kWindow_s + 1e-9));
  if (next > window_) {
    windows_.add(window_ms_);
    window_ = next;
    window_ms_ = 0;
  } else if (windows_.count() == 0) {
    part_of_window_ = {};
    part_of_window_.add(window_ms_);
  }
}

}  // namespace ligature::simulate
