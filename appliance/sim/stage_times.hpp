#pragma once
/// How long each stage of the step takes, and each window of 30 ms of simulated time: on the clock, and what this
/// thread spent of its core, which waiting for others does not lengthen. With more than one thread at work on a step
/// (`--width`) that is its own share.
#include <array>
#include <chrono>
#include <cstdint>
#include <utility>

#include "appliance/sim/quantiles.hpp"
#include "sim/contract/step_report.hpp"

namespace ligature::simulate {

/// The stages of CONTRACT and where they come from. `instruments` and `finish` are the rest of the step.
struct StageColumn {
  const char* name;
  int stage;  ///< StepStage
};
inline constexpr std::array<StageColumn, 7> kStageColumns{{
    {"integrate", static_cast<int>(StepStage::integrate)},
    {"detect", static_cast<int>(StepStage::detect)},
    {"couple", static_cast<int>(StepStage::couple)},
    {"solve", static_cast<int>(StepStage::solve)},
    {"continuous", static_cast<int>(StepStage::continuous)},
    {"instruments", static_cast<int>(StepStage::instruments)},
    {"finish", static_cast<int>(StepStage::finish)},
}};

class StageTimes {
 public:
  static constexpr double kWindow_s = 0.030;

  explicit StageTimes(double step_s) : step_s_(step_s) {}

  /// For World::observe_stages, with this object as context.
  static void stage_done(void* context, StepStage stage) noexcept;
  void begin_step() noexcept;
  void end_step();

  double total_ms() const { return total_ms_; }                              ///< of the last step
  double processor_ms() const { return processor_ms_; }                      ///< likewise
  double column_ms(std::size_t column) const { return column_ms_[column]; }  ///< of the last step
  const Quantiles& total() const { return total_; }
  const Quantiles& column(std::size_t column) const { return columns_[column]; }
  /// Whole windows only; a run shorter than one window counts as one.
  const Quantiles& windows() const { return clock_.whole(); }
  const Quantiles& processor_windows() const { return processor_.whole(); }

 private:
  class Windows {
   public:
    void add(double step_ms, bool ends);
    const Quantiles& whole() const { return windows_.count() > 0 ? windows_ : part_; }

   private:
    double ms_ = 0;
    Quantiles windows_, part_;
  };
  using Clock = std::chrono::steady_clock;
  static double ms_between(Clock::time_point a, Clock::time_point b) {
    return std::chrono::duration<double, std::milli>(b - a).count();
  }

  double step_s_;
  Clock::time_point begun_, last_;
  std::array<double, kStepStages> stage_ms_{};
  std::array<double, kStageColumns.size()> column_ms_{};
  double total_ms_ = 0, processor_ms_ = 0;
  std::int64_t processor_begun_ns_ = 0;
  std::uint64_t step_ = 0, window_ = 0;
  Quantiles total_;
  Windows clock_, processor_;
  std::array<Quantiles, kStageColumns.size()> columns_;
};

}  // namespace ligature::simulate
