#include "appliance/run/camera_recorder.hpp"

#include <thread>
#include <vector>

namespace ligature::appliance {

Result<std::unique_ptr<CameraRecorder>> CameraRecorder::create(Pipeline& pipeline, const drivers::Rig& rig,
                                                               const std::filesystem::path& directory, double rate_hz,
                                                               config::OutputSettings::Codec codec) {
  using Codec = config::OutputSettings::Codec;
  using drivers::RecordingCodec;
  drivers::RecorderParams params;
  params.codec = codec == Codec::mjpeg  ? RecordingCodec::mjpeg
                 : codec == Codec::ffv1 ? RecordingCodec::ffv1
                 : codec == Codec::png  ? RecordingCodec::png
                                        : RecordingCodec::h264;
  params.rate_hz = rate_hz;
  auto recorder = drivers::FrameRecorder::create(directory, params);
  if (!recorder) return unexpected(recorder.error());
  for (std::size_t c = 0; c < kCameras; ++c)
    pipeline.records[c]->buffer().for_each_slot(
        [&](RecordSlot& slot) { slot.pixels.create(rig.cameras[c].height_px, rig.cameras[c].width_px, CV_8UC3); });
  return std::unique_ptr<CameraRecorder>(new CameraRecorder(pipeline, std::move(*recorder)));
}

void CameraRecorder::run_camera(std::size_t camera) {
  auto& link = *pipeline_.records[camera];
  std::uint64_t taken = 0;
  for (;;) {
    const rt::Take took = link.take();
    if (took == rt::Take::closed || took == rt::Take::stopped) break;
    if (took != rt::Take::value) continue;
    ++taken;
    if (broken()) continue;
    const RecordSlot& slot = link.front();
    drivers::Frame frame;
    frame.sequence = slot.sequence;
    frame.mid_exposure_ns = slot.mid_exposure_ns;
    if (slot.image) frame.image = slot.pixels;
    const auto status = slot.image ? drivers::FrameStatus::image : drivers::FrameStatus::missing;
    if (const auto written = recorder_->write(camera, frame, status); !written && !broken_.exchange(true))
      failure_ = written.error().message;
  }
  skipped_ += link.published() - taken;
}

void CameraRecorder::run() {
  std::vector<std::thread> cameras;
  for (std::size_t c = 0; c < kCameras; ++c) cameras.emplace_back([this, c] { run_camera(c); });
  for (std::thread& camera : cameras) camera.join();
  if (const auto finished = recorder_->finish(); !finished && !broken_.exchange(true))
    failure_ = finished.error().message;
}

}  // namespace ligature::appliance
