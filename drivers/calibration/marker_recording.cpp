#include "drivers/calibration/marker_recording.hpp"

#include <algorithm>
#include <limits>

#include "drivers/calibration/judge.hpp"
#include "drivers/camera/lens.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/markers/detector.hpp"

namespace ligature::calibration {
namespace {

constexpr float kLeastQuality = 0.5F;

}  // namespace

Result<std::vector<MarkerFrame>> read_markers(const drivers::Rig& rig, const std::filesystem::path& dir,
                                              std::size_t most, const ProgressFunction& progress) {
  if (rig.cameras.size() != kCameras)
    return usage_error("the rig file holds " + std::to_string(rig.cameras.size()) +
                       " of 4 cameras: calibrate the rig first");
  std::vector<drivers::MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) {
    auto detector = drivers::MarkerDetector::create(rig, c);
    if (!detector) return unexpected(detector.error());
    detectors.push_back(std::move(*detector));
  }
  auto recording = drivers::open_recording(dir.string());
  if (!recording) return unexpected(recording.error());
  const std::size_t every = most > 0 && recording->triggers > most ? (recording->triggers + most - 1) / most : 1;

  std::vector<MarkerFrame> out;
  drivers::Frame frame;
  drivers::MarkerSet set;
  bool other_size = false;
  for (std::size_t trigger = 0;; ++trigger) {
    if (progress && !progress({Progress::Stage::reading, trigger, recording->triggers, dir.string()}))
      return failure("cancelled");
    MarkerFrame seen;
    std::size_t ended = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      const bool wanted = trigger % every == 0;
      const auto status = wanted ? recording->cameras[c]->next(frame) : recording->cameras[c]->skip(frame);
      ended += status == drivers::FrameStatus::end || status == drivers::FrameStatus::failed;
      if (status != drivers::FrameStatus::image) continue;
      other_size |= frame.image.cols != rig.cameras[c].width_px || frame.image.rows != rig.cameras[c].height_px;
      seen.frame = std::to_string(frame.sequence);
      detectors[c].detect(frame, status, set);
      for (std::size_t m = 0; m < drivers::kMarkers; ++m)
        if (set.found(m) && set.blobs[m][0].quality >= kLeastQuality)
          seen.markers[m].push_back({static_cast<int>(c), set.blobs[m][0].u_px, set.blobs[m][0].v_px});
    }
    if (ended == kCameras) break;
    if (!seen.frame.empty()) out.push_back(std::move(seen));
  }
  if (other_size)
    return usage_error(dir.string() +
                       ": images are of another size than the rig file's cameras: use the rig file of these cameras");
  if (out.empty()) return usage_error(dir.string() + ": no image can be read");
  return out;
}

std::array<double, 2> ball_image(const drivers::CameraModel& camera, Vec3 p_R, double diameter_mm) {
  const Vec3 p_C = inverse(camera.X_RC) * p_R;
  if (p_C.z <= diameter_mm) return {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::quiet_NaN()};
  const auto uv = drivers::Lens(camera).distort(drivers::sphere_image_centre(p_C, 0.5 * diameter_mm));
  return {uv.x, uv.y};
}

std::optional<Vec3> place_ball(const std::vector<drivers::CameraModel>& cameras, const std::vector<MarkerSight>& sights,
                               double diameter_mm) {
  std::vector<Sight> seen;
  for (const MarkerSight& s : sights) seen.push_back({static_cast<std::size_t>(s.camera), s.u_px, s.v_px});
  auto p = triangulate(cameras, seen);
  for (int round = 0; round < 2 && p; ++round) {
    for (std::size_t i = 0; i < sights.size(); ++i) {
      const auto& camera = cameras[seen[i].camera];
      const auto ball = ball_image(camera, *p, diameter_mm), centre = ball_image(camera, *p, 0);
      seen[i].u_px = sights[i].u_px - (ball[0] - centre[0]);
      seen[i].v_px = sights[i].v_px - (ball[1] - centre[1]);
    }
    p = triangulate(cameras, seen);
  }
  return p;
}

}  // namespace ligature::calibration
