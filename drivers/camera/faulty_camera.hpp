#pragma once
/// Faults of a camera, seeded, laid over any source: what the fault tests and `--profile virtual` inject.
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "drivers/camera/frame_source.hpp"

namespace ligature::drivers {

struct CameraFault {
  enum class Kind {
    dead,  ///< no image in the interval
    drop,  ///< single images missing, each with `probability`
    late,  ///< images delivered `delay_ms` later, each with `probability`
  };
  Kind kind = Kind::dead;
  int camera = 0;                    ///< 0..3
  double from_s = 0, until_s = 1e9;  ///< session time of the mid-exposure, half open
  double probability = 1;            ///< drop, late
  double delay_ms = 0;               ///< late
  std::uint64_t seed = 1;
};

class FaultyCamera final : public FrameSource {
 public:
  /// @param faults those of other cameras are ignored
  FaultyCamera(std::unique_ptr<FrameSource> source, std::vector<CameraFault> faults, std::size_t camera_index);

  /// The source's answer, spoilt. Whether frame k is hit depends on seed, camera and k alone, so every run agrees.
  FrameStatus next(Frame& frame) noexcept override;
  FrameStatus skip(Frame& frame) noexcept override { return source_->skip(frame); }
  bool more() noexcept override { return source_->more(); }
  std::string unusable() const override { return source_->unusable(); }
  bool live() const noexcept override { return source_->live(); }
  void begin(std::int64_t session_start_ns) noexcept override { source_->begin(session_start_ns); }
  bool take_event(CameraEvent& event) noexcept override { return source_->take_event(event); }
  const CaptureCounters* counters() const noexcept override { return source_->counters(); }

  /// Pulls or plugs the cable by hand, from any thread; what next() answers is `missing` meanwhile.
  void set_dead(bool dead) noexcept { dead_.store(dead, std::memory_order_relaxed); }

 private:
  std::unique_ptr<FrameSource> source_;
  std::vector<CameraFault> faults_;
  std::size_t camera_index_;
  std::atomic<bool> dead_{false};
};

}  // namespace ligature::drivers
