/// Detection and fit of four 640x480 images on one core: of the demo recording, of the virtual rig on bad days, and of
/// pictures that are nothing but coloured discs. Wall time as a thread of the appliance would see it, and beside it the
/// processor's, which a busy machine raises less.
#include <algorithm>
#include <cmath>
#include <opencv2/core.hpp>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/thread.hpp"
#include "config/profile_file.hpp"
#include "config/rig_file.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"
#include "drivers/virtual_rig/virtual_camera.hpp"
#include "sim/base/random.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {
namespace {

using drivers::Frame;
using drivers::FrameStatus;
using watchdog::Histogram;

struct Both {
  std::unique_ptr<Histogram> wall = std::make_unique<Histogram>(), processor = std::make_unique<Histogram>();
};

/// Four detectors and a tracker, and what they take.
class Eyes {
 public:
  static Result<Eyes> create(const drivers::Rig& rig) {
    Eyes eyes;
    auto tracker = drivers::Tracker::create(rig);
    if (!tracker) return unexpected(tracker.error());
    eyes.tracker_ = std::make_unique<drivers::Tracker>(std::move(*tracker));
    for (std::size_t c = 0; c < kCameras; ++c) {
      auto detector = drivers::MarkerDetector::create(rig, c);
      if (!detector) return unexpected(detector.error());
      eyes.detectors_.push_back(std::move(*detector));
    }
    return eyes;
  }
  InstrumentSample look(const std::array<Frame, kCameras>& frames, const std::array<FrameStatus, kCameras>& status) {
    // As the appliance runs them: first in line for the processor, where the machine grants it.
    granted_ = rt::apply_to_this_thread({"bench", rt::Policy::fifo, 80, -1}).granted;
    const std::int64_t wall = rt::monotonic_now_ns(), processor = rt::processor_now_ns();
    for (std::size_t c = 0; c < kCameras; ++c) detectors_[c].detect(frames[c], status[c], sets_[c]);
    const std::int64_t between = rt::monotonic_now_ns();
    const InstrumentSample sample = tracker_->track({&sets_[0], &sets_[1], &sets_[2], &sets_[3]});
    const std::int64_t processor_end = rt::processor_now_ns(), end = rt::monotonic_now_ns();
    rt::apply_to_this_thread({"bench", rt::Policy::other, 0, -1});
    both_.wall->record(end - wall), both_.processor->record(processor_end - processor);
    detect_->record(between - wall), fit_->record(end - between);
    return sample;
  }
  void report(Table& table, const std::string& of) const {
    table.add("detect + fit, " + of, *both_.wall);
    table.add("  processor time", *both_.processor);
    if (!granted_) table.remark("not under SCHED_FIFO: other programs' turns are in the wall time");
  }
  void report_parts(Table& table) const {
    table.add("  detect markers in four images", *detect_);
    table.add("  fit both forceps", *fit_);
  }

 private:
  bool granted_ = false;
  std::unique_ptr<drivers::Tracker> tracker_;
  std::vector<drivers::MarkerDetector> detectors_;
  std::array<drivers::MarkerSet, kCameras> sets_;
  Both both_;
  std::unique_ptr<Histogram> detect_ = std::make_unique<Histogram>(), fit_ = std::make_unique<Histogram>();
};

/// Discs of the six colours anywhere, most of them cut, with noise: what no session shows.
cv::Mat discs(Random& random, int count, double smallest_px, double largest_px, double noise) {
  constexpr std::array<std::array<double, 3>, 6> kColours{
      {{10, 10, 220}, {10, 220, 220}, {10, 220, 10}, {220, 220, 10}, {220, 10, 10}, {220, 10, 220}}};
  cv::Mat image(480, 640, CV_8UC3, cv::Scalar::all(8));
  for (int i = 0; i < count; ++i) {
    const double r = random.uniform(smallest_px, largest_px), cx = random.uniform(0, 640), cy = random.uniform(0, 480),
                 cut = random.uniform(-0.6, 1) * r;
    for (int y = std::max(0, static_cast<int>(cy - r) - 1); y <= std::min(479, static_cast<int>(cy + r) + 1); ++y)
      for (int x = std::max(0, static_cast<int>(cx - r) - 1); x <= std::min(639, static_cast<int>(cx + r) + 1); ++x) {
        if (x - cx > cut) continue;
        const double share = std::clamp(r - std::hypot(x - cx, y - cy) + 0.5, 0.0, 1.0);
        for (std::size_t k = 0; k < 3; ++k) {
          std::uint8_t& level = image.ptr(y)[3 * x + static_cast<int>(k)];
          level = static_cast<std::uint8_t>(level + share * (kColours[static_cast<std::size_t>(i) % 6][k] - level));
        }
      }
  }
  for (int y = 0; y < 480; ++y)
    for (int k = 0; k < 3 * 640; ++k)
      image.ptr(y)[k] = cv::saturate_cast<std::uint8_t>(image.ptr(y)[k] + noise * random.normal());
  return image;
}

Result<void> measure_virtual(Table& table, const drivers::Rig& rig, const std::string& name,
                             drivers::VirtualRigParams params, const std::shared_ptr<const drivers::HandPath>& path) {
  params.rate_hz = 10, params.duration_s = path->duration_s();
  auto eyes = Eyes::create(rig);
  if (!eyes) return unexpected(eyes.error());
  std::array<std::unique_ptr<drivers::FrameSource>, kCameras> cameras;
  for (std::size_t c = 0; c < kCameras; ++c) {
    auto camera = drivers::make_virtual_camera(params, rig, c, path);
    if (!camera) return unexpected(camera.error());
    cameras[c] = std::move(*camera);
  }
  std::array<Frame, kCameras> frames;
  std::array<FrameStatus, kCameras> status{};
  for (;;) {
    for (std::size_t c = 0; c < kCameras; ++c) status[c] = cameras[c]->next(frames[c]);
    if (status[0] == FrameStatus::end) break;
    eyes->look(frames, status);
  }
  eyes->report(table, name);
  return {};
}

Result<void> measure_discs(Table& table, const drivers::Rig& rig, const std::string& name, int count, double smallest,
                           double largest, double noise) {
  auto eyes = Eyes::create(rig);
  if (!eyes) return unexpected(eyes.error());
  Random random(7);
  std::array<Frame, kCameras> frames;
  std::array<FrameStatus, kCameras> status{};
  for (int round = 0; round < 100; ++round) {
    for (std::size_t c = 0; c < kCameras; ++c) {
      frames[c].image = discs(random, count, smallest, largest, noise);
      frames[c].sequence = static_cast<std::uint64_t>(round);
      frames[c].mid_exposure_ns = round * 16'666'667LL;
      status[c] = FrameStatus::image;
    }
    eyes->look(frames, status);
  }
  eyes->report(table, name);
  return {};
}

/// The demo's hands without a file of theirs: both turn and move about in the working volume.
Result<std::shared_ptr<const drivers::HandPath>> moving_hands(const drivers::Rig& rig) {
  Random random(3);
  std::array<drivers::ForcepsPath, kInstruments> keys;
  for (int i = 0; i <= 20; ++i)
    for (std::size_t hand = 0; hand < kInstruments; ++hand) {
      drivers::PathKey key;
      key.t_s = 0.5 * i;
      key.X.q = axis_angle({0, 0, 1}, random.uniform(-0.4, 0.4) + (hand == 1 ? 3.14159 : 0.0)) *
                axis_angle({1, 0, 0}, random.uniform(-0.4, 0.4));
      key.X.p = {random.uniform(-40, 40), random.uniform(-30, 30), random.uniform(-20, 20)};
      key.opening_rad = random.uniform(0, 0.15);
      keys[hand].push_back(key);
    }
  auto path = drivers::HandPath::create(keys, drivers::PathBlend::minimum_jerk, {}, rig, false);
  if (!path) return unexpected(path.error());
  return std::make_shared<const drivers::HandPath>(std::move(*path));
}

}  // namespace

Result<std::vector<InstrumentSample>> track_recording(Table& table, const std::string& directory,
                                                      const drivers::Rig& rig) {
  auto recording =
      drivers::open_recording(directory, drivers::ImageSize{rig.cameras[0].width_px, rig.cameras[0].height_px});
  if (!recording) return unexpected(recording.error());
  auto eyes = Eyes::create(rig);
  if (!eyes) return unexpected(eyes.error());
  auto decode = std::make_unique<Histogram>();
  std::array<Frame, kCameras> frames;
  std::array<FrameStatus, kCameras> status{};
  std::vector<InstrumentSample> samples;
  for (;;) {
    bool over = false;
    for (std::size_t c = 0; c < kCameras; ++c) {
      const std::int64_t start = rt::monotonic_now_ns();
      status[c] = recording->cameras[c]->next(frames[c]);
      decode->record(rt::monotonic_now_ns() - start);
      over = over || status[c] == FrameStatus::end;
    }
    if (over) break;
    samples.push_back(eyes->look(frames, status));
  }
  table.add("decode one 640x480 frame (H.264)", *decode);
  eyes->report(table, "four frames of the recording");
  eyes->report_parts(table);
  return samples;
}

bool measure_markers(Table& table, const std::string& profile_file) {
  const auto measure = [&]() -> Result<void> {
    const auto profile = config::load_profile(profile_file);
    if (!profile) return unexpected(profile.error());
    const auto rig = config::load_rig(profile->rig);
    if (!rig) return unexpected(rig.error());
    if (const auto samples = track_recording(table, profile->cameras.directory, *rig); !samples)
      return unexpected(samples.error());

    const auto path = moving_hands(*rig);
    if (!path) return unexpected(path.error());
    drivers::VirtualRigParams plain, bad, crowd;
    bad.bodies = true, bad.highlight = 1.5, bad.shot_noise = 0.05, bad.defocus_px = 0.8;
    Random random(5);
    for (int i = 0; i < 18; ++i) {
      drivers::BlobFault ball;
      ball.hue_deg = 60 * (i % 6), ball.diameter_mm = random.uniform(3, 10), ball.until_s = 1e9;
      ball.p_R = {random.uniform(-60, 60), random.uniform(-50, 50), random.uniform(30, 90)};
      crowd.blobs.push_back(ball);
    }
    drivers::VirtualRigParams all = bad;
    all.blobs = crowd.blobs, all.jpeg_quality = 60;
    for (const auto& [name, params] : {std::pair<std::string, drivers::VirtualRigParams>{"virtual rig", plain},
                                       {"bodies, glints, photons, defocus", bad},
                                       {"18 more balls", crowd},
                                       {"all that, through JPEG", all}})
      if (Result<void> done = measure_virtual(table, *rig, name, params, *path); !done) return done;
    if (Result<void> done = measure_discs(table, *rig, "200 cut discs", 200, 4, 12, 10); !done) return done;
    if (Result<void> done = measure_discs(table, *rig, "1500 small discs", 1500, 2, 4, 10); !done) return done;
    return measure_discs(table, *rig, "600 discs in noise", 600, 3, 12, 50);
  };
  const Result<void> done = measure();
  if (!done) std::fprintf(stderr, "%s\n", done.error().message.c_str());
  return done.has_value();
}

}  // namespace ligature::bench
