#include "appliance/run/pipeline.hpp"

namespace ligature::appliance {

Pipeline::Pipeline(const PipelineSettings& of_this_run)
    : settings(of_this_run),
      samples(realtime() ? rt::LinkMode::newest : rt::LinkMode::lossless),
      scenes(realtime() ? rt::LinkMode::newest : rt::LinkMode::lossless) {
  const rt::LinkMode mode = samples.mode();
  for (auto& link : markers)
    link = std::make_unique<rt::Link<CameraMarkers>>(mode, realtime() ? &markers_arrived : nullptr);
  if (settings.pictures) pictures = std::make_unique<rt::Link<PictureSlot>>(mode);
  if (settings.record)
    for (auto& link : records) link = std::make_unique<rt::Link<RecordSlot>>(mode);
}

Pipeline::~Pipeline() {
  delete fresh_scene.load();
  delete worn_scene.load();
}

void Pipeline::end_input() {
  stop_flag.store(true, std::memory_order_release);
  for (auto& link : markers) link->stop();
  samples.stop();
  markers_arrived.notify();
}

}  // namespace ligature::appliance
