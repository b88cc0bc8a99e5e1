#include "drivers/camera/faulty_camera.hpp"

#include <cmath>

#include "sim/base/random.hpp"

namespace ligature::drivers {

FaultyCamera::FaultyCamera(std::unique_ptr<FrameSource> source, std::vector<CameraFault> faults,
                           std::size_t camera_index)
    : source_(std::move(source)), faults_(std::move(faults)), camera_index_(camera_index) {
  std::erase_if(faults_, [&](const CameraFault& f) { return f.camera != static_cast<int>(camera_index); });
}

FrameStatus FaultyCamera::next(Frame& frame) noexcept {
  FrameStatus status = source_->next(frame);
  if (status != FrameStatus::image) return status;
  if (dead_.load(std::memory_order_relaxed)) return FrameStatus::missing;
  const double t_s = 1e-9 * static_cast<double>(frame.mid_exposure_ns);
  for (std::size_t i = 0; i < faults_.size(); ++i) {
    const CameraFault& f = faults_[i];
    if (t_s < f.from_s || t_s >= f.until_s) continue;
    if (f.kind == CameraFault::Kind::dead) return FrameStatus::missing;
    Random random(f.seed ^ (frame.sequence * 0xd1342543de82ef95ULL + camera_index_ * 0x2545f4914f6cdd1dULL + i));
    random.next();
    if (random.uniform() >= f.probability) continue;
    if (f.kind == CameraFault::Kind::drop) return FrameStatus::missing;
    frame.delivery_ns += std::llround(1e6 * f.delay_ms);
  }
  return status;
}

}  // namespace ligature::drivers
