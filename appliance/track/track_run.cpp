#include "appliance/track/track_run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <opencv2/core/utility.hpp>
#include <opencv2/imgcodecs.hpp>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "appliance/track/pose_table.hpp"
#include "appliance/track/track_report.hpp"
#include "config/atomic_file.hpp"
#include "config/rig_file.hpp"
#include "drivers/camera/recorded.hpp"
#include "drivers/markers/detector.hpp"
#include "drivers/tracking/tracker.hpp"

namespace ligature::tracking {
namespace {

namespace fs = std::filesystem;
using drivers::FrameStatus;

/// The first image of a folder, so that a recording of another camera is refused before anything is tracked; a video
/// tells its size when it is opened.
Result<void> check_size(const fs::path& folder, const drivers::CameraModel& camera) {
  if (!fs::is_directory(folder)) return {};
  std::vector<fs::path> images;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".png") images.push_back(entry.path());
  std::sort(images.begin(), images.end());
  for (const fs::path& file : images) {
    const cv::Mat image = cv::imread(file.string(), cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);
    if (image.empty()) continue;  // truncated: one missing image more
    if (image.cols == camera.width_px && image.rows == camera.height_px) return {};
    return usage_error(
        fmt::format("{}: the image is {}x{}, the rig file says {}x{} for {}: use the rig file the recording "
                    "was made with",
                    file.string(), image.cols, image.rows, camera.width_px, camera.height_px, camera.name));
  }
  return {};
}

struct Input {
  drivers::Rig rig;
  std::shared_ptr<const drivers::RecordingIndex> index;
  std::array<std::unique_ptr<drivers::FrameSource>, kCameras> cameras;
};

Result<Input> open(const TrackOptions& options) {
  Input in;
  auto rig = config::load_rig(options.rig);
  if (!rig) return unexpected(rig.error());
  in.rig = std::move(*rig);
  const std::string dir = options.frames.string();
  auto recording = drivers::open_recording(dir);
  if (!recording) return unexpected(recording.error());
  auto index = drivers::load_recording_index(dir);
  if (!index) return unexpected(index.error());
  in.index = std::make_shared<const drivers::RecordingIndex>(std::move(*index));
  bool video = false;
  for (std::size_t c = 0; c < kCameras; ++c) {
    const drivers::CameraModel& camera = in.rig.cameras[c];
    in.cameras[c] = std::move(recording->cameras[c]);
    if (!recording->present[c]) continue;
    if (Result<void> fits = check_size(options.frames / ("C" + std::to_string(c)), camera); !fits)
      return unexpected(fits.error());
    auto source = drivers::open_recorded(dir, c, in.index, drivers::ImageSize{camera.width_px, camera.height_px});
    if (!source) return unexpected(source.error());
    in.cameras[c] = std::move(*source);
    video |= !fs::is_directory(options.frames / ("C" + std::to_string(c)));
  }
  if (in.index->triggers.empty() && !video)
    return usage_error(dir + ": the folders C0 ... C3 hold no image 000000.png, 000001.png, ...: name them so");
  return in;
}

bool holds_table(const fs::path& file) {
  std::ifstream in(file);
  std::string head;
  return std::getline(in, head) && head.starts_with(kPoseColumns);
}

/// Whether the table can be made, before hours of tracking, and is none of what is tracked.
Result<void> prepare(const fs::path& out, const TrackOptions& options) {
  std::error_code none;
  if (fs::equivalent(out, options.rig, none))
    return usage_error(out.string() + ": is the rig file that is read: give another file for the table");
  const fs::path inside =
      fs::weakly_canonical(out, none).lexically_relative(fs::weakly_canonical(options.frames, none));
  if (!inside.empty() && *inside.begin() != ".." && fs::exists(out, none) && !holds_table(out))
    return usage_error(out.string() + ": is a file of the recording that is read: give another file for the table");
  const fs::path folder = out.has_parent_path() ? out.parent_path() : fs::path(".");
  std::error_code wrong;
  fs::create_directories(folder, wrong);
  if (!fs::is_directory(folder))
    return usage_error(folder.string() + ": is no folder and cannot be made one: give another file for the table");
  if (fs::is_directory(out)) return usage_error(out.string() + ": is a folder, must be a file: give FOLDER/poses.csv");
  if (access((fs::exists(out) ? out : folder).c_str(), W_OK) != 0)
    return usage_error(fmt::format("{}: cannot be written: {}: give another file", out.string(), std::strerror(errno)));
  return {};
}

Result<void> write_table(const fs::path& out, const std::string& rows) {
  if (!fs::exists(out) || fs::is_regular_file(out)) return config::write_file_atomically(out, rows);
  std::ofstream device(out, std::ios::binary);  // a pipe or a device is not replaced
  device << rows << std::flush;
  if (!device) return failure(out.string() + ": could not be written whole");
  return {};
}

}  // namespace

Result<TrackOutcome> track(const TrackOptions& options) {
  auto opened = open(options);
  if (!opened) return unexpected(opened.error());
  Input& in = *opened;
  auto tracker = drivers::Tracker::create(in.rig);
  if (!tracker) return unexpected(tracker.error());
  std::vector<drivers::MarkerDetector> detectors;
  for (std::size_t c = 0; c < kCameras; ++c) {
    auto detector = drivers::MarkerDetector::create(in.rig, c);
    if (!detector) return unexpected(detector.error());
    detectors.push_back(std::move(*detector));
  }
  const bool to_file = !options.out.empty() && options.out != "-";
  if (to_file)
    if (Result<void> ready = prepare(options.out, options); !ready) return unexpected(ready.error());

  TrackReport report(in.rig, options.rig.string());
  std::string rows(kPoseColumns);
  if (options.filter) rows += kFilteredColumns;
  rows += '\n';
  std::array<drivers::PoseFilter, kInstruments> filters;
  std::array<drivers::Frame, kCameras> frames;
  std::array<FrameStatus, kCameras> status{};
  std::array<drivers::MarkerSet, kCameras> sets;
  bool interrupted = false;
  for (std::size_t k = 0;; ++k) {
    if (options.stop_request && options.stop_request->load()) {
      interrupted = true;
      break;
    }
    cv::parallel_for_(cv::Range(0, static_cast<int>(kCameras)), [&](const cv::Range& range) {
      for (int c = range.start; c < range.end; ++c)
        status[static_cast<std::size_t>(c)] =
            in.cameras[static_cast<std::size_t>(c)]->next(frames[static_cast<std::size_t>(c)]);
    });
    const auto ended = [](FrameStatus s) { return s == FrameStatus::end || s == FrameStatus::failed; };
    if (std::all_of(status.begin(), status.end(), ended)) break;

    const std::int64_t start = rt::monotonic_now_ns();
    std::uint64_t frame = k;
    std::int64_t t_ns = 0;
    for (std::size_t c = 0; c < kCameras; ++c) {
      if (ended(status[c])) {
        sets[c] = {};
        continue;
      }
      detectors[c].detect(frames[c], status[c], sets[c]);
      frame = frames[c].sequence, t_ns = frames[c].mid_exposure_ns;
    }
    if (k < in.index->triggers.size()) frame = in.index->triggers[k].frame, t_ns = in.index->triggers[k].t_ns;
    const InstrumentSample sample = tracker->track({&sets[0], &sets[1], &sets[2], &sets[3]}, frame, t_ns);
    report.add(sets, sample, {tracker->support(0), tracker->support(1)}, rt::monotonic_now_ns() - start);
    for (std::size_t i = 0; i < kInstruments; ++i) {
      append_pose(rows, frame, t_ns, in.rig.instruments[i].name, sample.instruments[i], tracker->tip_covariance(i));
      if (options.filter) {
        filters[i].update(sample.instruments[i], tracker->pose_variance(i), t_ns);
        append_filtered(rows, filters[i].at(t_ns));
      }
      rows += '\n';
    }
    if (options.progress && k % 30 == 29) fmt::print(stderr, "\r{} frames", k + 1);
  }
  if (options.progress) fmt::print(stderr, "\r\033[K");

  TrackOutcome outcome;
  nlohmann::ordered_json summary = report.json();
  for (const std::string& line : report.warnings()) outcome.complaint += line + '\n';
  for (std::size_t c = 0; c < kCameras; ++c)
    if (const std::string files = in.cameras[c]->unusable(); !files.empty())
      outcome.complaint += files + '\n';
  for (std::size_t c = 0; c < kCameras && !interrupted; ++c)
    if (in.cameras[c]->more())
      outcome.complaint +=
          fmt::format("C{}: holds images that frames.csv does not name: others may have got their times\n", c);
  if (interrupted) outcome.complaint += "interrupted: the table ends with the last frame tracked\n";
  outcome.exit_code = interrupted || !report.all_tracked() ? 1 : 0;
  summary["outputs"] = nlohmann::ordered_json::array();
  if (to_file) {
    if (Result<void> written = write_table(options.out, rows); written) {
      summary["outputs"].push_back(options.out.string());
    } else {
      outcome.complaint += written.error().message + '\n';
      outcome.exit_code = 1;
    }
  } else if (options.rows_to_stdout || options.out == "-") {
    std::fwrite(rows.data(), 1, rows.size(), stdout);
  }
  outcome.table = report.table();
  outcome.summary = summary.dump();
  return outcome;
}

}  // namespace ligature::tracking
