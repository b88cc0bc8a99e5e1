#include "drivers/camera/recorder.hpp"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <map>
#include <mutex>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>

namespace ligature::drivers {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kOpenTriggers = 120;  // a camera silent for this many triggers no longer holds rows back
constexpr int kFlushRows = 60;
constexpr std::uint64_t kLookAtDisk = 60;                        // images from one look to the next
constexpr std::uintmax_t kLeastFree = std::uintmax_t{32} << 20;  // [bytes]
constexpr double kCountedWrongly = 0.02;  // of a video's images: their number is told by its duration

const char* ending(RecordingCodec codec) {
  return codec == RecordingCodec::mjpeg ? ".avi" : ".mkv";
}

int fourcc(RecordingCodec codec) {
  switch (codec) {
    case RecordingCodec::h264:
      return cv::VideoWriter::fourcc('X', '2', '6', '4');
    case RecordingCodec::mjpeg:
      return cv::VideoWriter::fourcc('M', 'J', 'P', 'G');
    default:
      return cv::VideoWriter::fourcc('F', 'F', 'V', '1');
  }
}

class Recorder final : public FrameRecorder {
 public:
  Recorder(fs::path dir, const RecorderParams& params, std::FILE* csv)
      : dir_(std::move(dir)), params_(params), csv_(csv) {}
  ~Recorder() override { (void)finish(); }

  Result<void> write(std::size_t camera_index, const Frame& frame, FrameStatus status) override {
    if (camera_index >= kCameras) return usage_error("recorder: cameras are 0..3");
    if (status == FrameStatus::end || status == FrameStatus::failed) return {};
    Camera& camera = cameras_[camera_index];
    const bool image = status == FrameStatus::image && !camera.broken && !frame.image.empty();
    {
      // The cell first, the image after: a row that has already gone to the file must not get an image.
      const std::lock_guard lock(mutex_);
      if (finished_ || !csv_) return {};
      camera.newest = frame.sequence;
      camera.started = true;
      if (frame.sequence < first_open_ && any_written_) return {};
      Row& row = rows_[frame.sequence];
      if (image)
        row.mid_ns[camera_index] = frame.mid_exposure_ns, row.filled[camera_index] = true;
      else
        row.nominal_ns = frame.mid_exposure_ns;
      row.told[camera_index] = true;
    }
    Result<void> result;
    if (image) result = save(camera, camera_index, frame);
    const std::lock_guard lock(mutex_);
    if (!result) {
      camera.broken = true;
      if (const auto row = rows_.find(frame.sequence); row != rows_.end()) row->second.filled[camera_index] = false;
    }
    if (const auto row = rows_.find(frame.sequence); row != rows_.end()) row->second.done[camera_index] = true;
    if (Result<void> written = write_complete_rows(false); !written) return written;
    return result;
  }

  Result<void> finish() override {
    const std::lock_guard lock(mutex_);
    if (finished_) return {};
    finished_ = true;
    for (Camera& camera : cameras_) camera.video.release();
    Result<void> result = write_complete_rows(true);
    for (std::size_t c = 0; c < kCameras; ++c)
      if (Result<void> whole = check_video(c); !whole && result) result = whole;
    if (csv_ && std::fclose(csv_) != 0) result = failure((dir_ / "frames.csv").string() + ": " + std::strerror(errno));
    csv_ = nullptr;
    return result;
  }

 private:
  struct Camera {
    cv::VideoWriter video;
    cv::Size size;
    bool opened = false, broken = false, started = false;
    std::uint64_t images = 0;  // in the video
    std::uint64_t newest = 0;
  };
  struct Row {
    std::int64_t nominal_ns = 0;
    std::array<std::int64_t, kCameras> mid_ns{};
    std::array<bool, kCameras> filled{}, told{}, done{};
  };

  Result<void> save(Camera& camera, std::size_t index, const Frame& frame) {
    const std::string name = "C" + std::to_string(index);
    try {
      const bool odd = frame.image.cols % 2 != 0 || frame.image.rows % 2 != 0;  // OpenCV's videos cut these
      if (params_.codec == RecordingCodec::png || odd) {
        char file[32];
        std::snprintf(file, sizeof file, "%06" PRIu64 ".png", frame.sequence);
        fs::create_directories(dir_ / name);
        if (!cv::imwrite((dir_ / name / file).string(), frame.image, {cv::IMWRITE_PNG_COMPRESSION, 1}))
          return failure((dir_ / name / file).string() + ": cannot be written: is the disk full?");
        return {};
      }
      if (!camera.opened) {
        const std::string file = (dir_ / (name + ending(params_.codec))).string();
        camera.size = frame.image.size();
        camera.opened = true;
        if (!camera.video.open(file, cv::CAP_FFMPEG, fourcc(params_.codec), params_.rate_hz, camera.size))
          return failure(file + ": this OpenCV cannot write it: choose another codec");
      }
      if (frame.image.size() != camera.size) return failure(name + ": image size changed while recording");
      camera.video.write(frame.image);
      // Nobody says that a video could not be written.
      if (camera.images++ % kLookAtDisk == 0 && fs::space(dir_).available < kLeastFree)
        return failure(dir_.string() + ": less than " + std::to_string(kLeastFree >> 20) +
                       " MB are free: recording has stopped");
      return {};
    } catch (const std::exception& e) {
      return failure(name + ": cannot be recorded: " + e.what());
    }
  }

  /// Whether a video that was closed plays to its end.
  Result<void> check_video(std::size_t index) const {
    const Camera& camera = cameras_[index];
    if (camera.images == 0 || camera.broken) return {};
    const std::string file = (dir_ / ("C" + std::to_string(index) + ending(params_.codec))).string();
    try {
      cv::VideoCapture video(file, cv::CAP_FFMPEG);
      const double holds = video.isOpened() ? video.get(cv::CAP_PROP_FRAME_COUNT) : 0;
      const auto wrote = static_cast<double>(camera.images);
      if (holds >= (1 - kCountedWrongly) * wrote - 1 && video.set(cv::CAP_PROP_POS_FRAMES, std::max(0.0, holds - 2)) &&
          video.grab())
        return {};
    } catch (const std::exception&) {
    }
    return failure(file + ": does not play to its end: is the disk full?");
  }

  /// Rows every camera has answered for, or that are too old to wait for. @pre mutex_ held
  Result<void> write_complete_rows(bool all) {
    while (csv_ && !rows_.empty()) {
      const auto& [frame, row] = *rows_.begin();
      bool complete = true, busy = false;
      for (std::size_t c = 0; c < kCameras; ++c) {
        busy |= row.told[c] && !row.done[c];
        complete &= row.done[c] || (cameras_[c].started && cameras_[c].newest > frame);
      }
      if (busy && !all) break;
      if (!complete && !all && rows_.size() <= kOpenTriggers) break;
      std::int64_t sum = 0, n = 0, base = 0;
      for (std::size_t c = 0; c < kCameras; ++c)
        if (row.filled[c]) {
          if (n == 0) base = row.mid_ns[c];
          sum += row.mid_ns[c] - base, ++n;
        }
      if (n > 0 || row.nominal_ns != 0 || frame == 0) {
        std::fprintf(csv_, "%" PRIu64 ",%.9f", frame,
                     1e-9 * static_cast<double>(n > 0 ? base + sum / n : row.nominal_ns));
        for (std::size_t c = 0; c < kCameras; ++c)
          row.filled[c] ? std::fprintf(csv_, ",%.9f", 1e-9 * static_cast<double>(row.mid_ns[c]))
                        : std::fputs(",", csv_);
        std::fputs("\n", csv_);
      }
      first_open_ = frame + 1;
      any_written_ = true;
      rows_.erase(rows_.begin());
      if (++unflushed_ >= kFlushRows || all) unflushed_ = 0, std::fflush(csv_);
    }
    if (csv_ && std::ferror(csv_)) {
      std::fclose(csv_);
      csv_ = nullptr;
      return failure((dir_ / "frames.csv").string() + ": cannot be written: is the disk full? Recording has stopped");
    }
    return {};
  }

  fs::path dir_;
  RecorderParams params_;
  std::mutex mutex_;  // rows and file; each camera's video belongs to the thread that writes this camera
  std::FILE* csv_;
  std::array<Camera, kCameras> cameras_;
  std::map<std::uint64_t, Row> rows_;
  std::uint64_t first_open_ = 0;
  bool any_written_ = false, finished_ = false;
  int unflushed_ = 0;
};

}  // namespace

Result<std::unique_ptr<FrameRecorder>> FrameRecorder::create(const std::string& dir, const RecorderParams& params) {
  if (!(params.rate_hz > 0)) return usage_error("recorder: rate_hz must be above 0");
  std::error_code error;
  fs::create_directories(dir, error);
  if (!fs::is_directory(dir)) return unavailable(dir + ": cannot be made: " + error.message());
  const std::string held = fs::exists(fs::path(dir) / "frames.csv") ? "frames.csv" : recording_in(dir);
  if (!held.empty()) return usage_error(dir + ": already holds " + held + ": give an empty folder");
  const std::string file = (fs::path(dir) / "frames.csv").string();
  std::FILE* csv = std::fopen(file.c_str(), "w");
  if (!csv) return unavailable(file + ": cannot be written: " + std::strerror(errno));
  std::fputs("frame,t_s,t_C0_s,t_C1_s,t_C2_s,t_C3_s\n", csv);
  return std::unique_ptr<FrameRecorder>(std::make_unique<Recorder>(dir, params, csv));
}

}  // namespace ligature::drivers
