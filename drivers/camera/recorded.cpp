#include "drivers/camera/recorded.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <numeric>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>
#include <utility>

#include "drivers/text.hpp"

namespace ligature::drivers {
namespace {

namespace fs = std::filesystem;

constexpr std::array<const char*, 3> kVideoEndings{".mkv", ".mp4", ".avi"};
constexpr double kDefaultRate_hz = 60;

std::string camera_name(std::size_t index) {
  return "C" + std::to_string(index);
}

std::string image_file(const fs::path& folder, std::uint64_t frame) {
  char name[32];
  std::snprintf(name, sizeof name, "%06llu.png", static_cast<unsigned long long>(frame));
  return (folder / name).string();
}

/// Numbers of a folder's images; other files are nobody's business, and neither are numbers beyond seven digits (a day
/// and a half at 60 Hz), for which the index would take all memory.
template <typename F>
void for_each_image(const fs::path& folder, F&& f) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const fs::path& file = it->path();
    const std::string stem = file.stem().string();
    if (file.extension() != ".png" || stem.empty() || stem.size() > 7 ||
        !std::all_of(stem.begin(), stem.end(), [](char c) { return c >= '0' && c <= '9'; }))
      continue;
    f(std::uint64_t{std::stoull(stem)});
  }
}

/// One past the highest image number in a folder.
std::uint64_t image_count(const fs::path& folder) {
  std::uint64_t count = 0;
  for_each_image(folder, [&](std::uint64_t number) { count = std::max(count, number + 1); });
  return count;
}

/// Its folder or video, empty where it has neither. Errors (usage): more than one, any of which may be the right one.
Result<fs::path> images_of(const fs::path& dir, std::size_t camera) {
  const std::string name = camera_name(camera);
  fs::path found;
  if (fs::is_directory(dir / name)) found = dir / name;
  for (const char* ending : kVideoEndings) {
    const fs::path file = dir / (name + ending);
    if (!fs::is_regular_file(file)) continue;
    if (!found.empty())
      return usage_error(dir.string() + ": holds both " + found.filename().string() + " and " +
                         file.filename().string() + " of one camera: move the one that is not to be read elsewhere");
    found = file;
  }
  return found;
}

/// Which camera's times stand in each column after the second. Errors: what is wrong with the header.
Result<std::array<std::size_t, kCameras>> columns_of(const std::vector<std::string_view>& header) {
  std::array<std::size_t, kCameras> camera{};
  std::array<bool, kCameras> named{};
  if (header[1] != "t_s") return usage_error("the second column is '" + std::string(header[1]) + "', must be t_s");
  for (std::size_t k = 0; k + 2 < header.size(); ++k) {
    std::size_t c = 0;
    while (c < kCameras && header[2 + k] != "t_" + camera_name(c) + "_s") ++c;
    if (c == kCameras || std::exchange(named[c], true))
      return usage_error("column '" + std::string(header[2 + k]) + "', must be t_C0_s ... t_C3_s, each once");
    camera[k] = c;
  }
  return camera;
}

std::int64_t at_default_rate(std::uint64_t frame) {
  return std::llround(1e9 * static_cast<double>(frame) / kDefaultRate_hz);
}

/// Walks the common list of triggers; how an image is got is the derived class's.
class IndexedSource : public FrameSource {
 public:
  IndexedSource(std::size_t camera, std::shared_ptr<const RecordingIndex> index)
      : camera_(camera), index_(std::move(index)) {}

  FrameStatus next(Frame& frame) noexcept override { return advance(frame, true); }
  FrameStatus skip(Frame& frame) noexcept override { return advance(frame, false); }

 protected:
  FrameStatus advance(Frame& frame, bool wanted) noexcept {
    if (at_ >= index_->triggers.size()) {
      const FrameStatus status = after_last(frame);
      return status == FrameStatus::image && !wanted ? FrameStatus::missing : status;
    }
    const RecordingIndex::Trigger& trigger = index_->triggers[at_++];
    const std::int64_t mid = trigger.mid_exposure_ns[camera_];
    stamp(frame, trigger.frame, mid == kNoImage ? trigger.t_ns : mid);
    if (mid == kNoImage) return FrameStatus::missing;
    try {
      if (!wanted) {
        pass_over();
        return FrameStatus::missing;
      }
      return read(frame, trigger.frame) ? FrameStatus::image : FrameStatus::missing;
    } catch (...) {  // the decoder's own complaint about one image
      return FrameStatus::missing;
    }
  }

  virtual bool read(Frame& frame, std::uint64_t number) = 0;
  virtual void pass_over() {}  ///< the image that read() would have read
  virtual FrameStatus after_last(Frame&) noexcept { return FrameStatus::end; }
  const RecordingIndex& index() const { return *index_; }
  static void stamp(Frame& frame, std::uint64_t number, std::int64_t mid_ns) {
    frame.sequence = number;
    frame.mid_exposure_ns = mid_ns;
    frame.delivery_ns = mid_ns + kRecordedDelivery_ns;
  }

 private:
  std::size_t camera_;
  std::shared_ptr<const RecordingIndex> index_;
  std::size_t at_ = 0;
};

class AbsentCamera final : public IndexedSource {
 public:
  using IndexedSource::IndexedSource;

 private:
  bool read(Frame&, std::uint64_t) override { return false; }
};

class FolderSource final : public IndexedSource {
 public:
  FolderSource(std::size_t camera, std::shared_ptr<const RecordingIndex> index, fs::path folder,
               std::optional<ImageSize> expected)
      : IndexedSource(camera, std::move(index)), folder_(std::move(folder)), expected_(expected) {}

 private:
  bool more() noexcept override {
    try {
      bool unnamed = false;
      for_each_image(folder_, [&](std::uint64_t number) {
        const auto& triggers = index().triggers;
        const auto at = std::lower_bound(triggers.begin(), triggers.end(), number,
                                         [](const auto& trigger, std::uint64_t n) { return trigger.frame < n; });
        unnamed = unnamed || at == triggers.end() || at->frame != number;
      });
      return unnamed;
    } catch (...) {
      return false;
    }
  }
  bool read(Frame& frame, std::uint64_t number) override {
    const std::string file = image_file(folder_, number);
    if (!fs::exists(file)) return false;
    cv::Mat image =
        cv::imread(file, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION);  // pixels as the sensor has them
    if (image.empty()) return give_up(file, "cannot be decoded");
    if (expected_ && (image.cols != expected_->width_px || image.rows != expected_->height_px))
      return give_up(file, "the image is " + std::to_string(image.cols) + "x" + std::to_string(image.rows) +
                               ", the rig file says " + std::to_string(expected_->width_px) + "x" +
                               std::to_string(expected_->height_px));
    frame.image = std::move(image);
    return true;
  }
  bool give_up(const std::string& file, const std::string& why) {
    if (unusable_++ == 0) first_unusable_ = file + ": " + why + ": counted as missing";
    return false;
  }
  std::string unusable() const override {
    return unusable_ < 2 ? first_unusable_ : first_unusable_ + " (and " + std::to_string(unusable_ - 1) + " more)";
  }

  fs::path folder_;
  std::optional<ImageSize> expected_;
  std::size_t unusable_ = 0;
  std::string first_unusable_;
};

constexpr int kMostDamaged = 64;  // images one after the other that are passed over

/// Every image is decoded by itself: what comes after a damaged one is as good as before.
bool decodes_each_alone(const cv::VideoCapture& video) {
  return static_cast<int>(video.get(cv::CAP_PROP_FOURCC)) == cv::VideoWriter::fourcc('M', 'J', 'P', 'G');
}

class VideoSource final : public IndexedSource {
 public:
  VideoSource(std::size_t camera, std::shared_ptr<const RecordingIndex> index, fs::path file, cv::VideoCapture video)
      : IndexedSource(camera, index),
        file_(std::move(file)),
        video_(std::move(video)),
        alone_(!index->from_file && index->triggers.empty()),
        each_alone_(decodes_each_alone(video_)) {}

 private:
  bool read(Frame& frame, std::uint64_t) override {
    if (!due()) return false;
    bool whole = false;
    try {
      whole = video_.retrieve(frame.image) && frame.image.type() == CV_8UC3;
    } catch (const cv::Exception&) {  // the decoder's own complaint about one image
    }
    unusable_ += !whole;
    return whole;
  }
  void pass_over() override { due(); }

  /// Whether the image that the video holds next is this frame's: not where one before it could not be decoded.
  bool due() {
    if (lost_ > 0) {
      --lost_;
      return false;
    }
    if (held_) {
      held_ = false;
      return true;
    }
    if (over_ || !grab()) {
      ++short_by_;
      return false;
    }
    if (lost_ == 0) return true;
    held_ = true;
    unusable_ += lost_--;
    return false;
  }

  bool grab() {
    for (lost_ = 0; lost_ <= (each_alone_ ? kMostDamaged : 0); ++lost_)
      if (video_.grab()) return true;
    lost_ = 0;
    over_ = true;
    return false;
  }

  /// Without frames.csv the video itself says how long it is.
  FrameStatus after_last(Frame& frame) noexcept override {
    if (!alone_) return FrameStatus::end;
    stamp(frame, played_, at_default_rate(played_));
    bool is_image = false;
    try {
      is_image = read(frame, played_);
    } catch (...) {
      over_ = true;
    }
    if (over_) {
      short_by_ = 0;
      return FrameStatus::end;
    }
    ++played_;
    return is_image ? FrameStatus::image : FrameStatus::missing;
  }

  bool more() noexcept override {
    try {
      return !alone_ && !over_ && (held_ || video_.grab());
    } catch (...) {
      return false;
    }
  }

  std::string unusable() const override {
    const auto images = [](long long n) { return std::to_string(n) + (n == 1 ? " image" : " images"); };
    std::string out;
    if (unusable_ > 0) out = file_.string() + ": " + images(unusable_) + " of it damaged: counted as missing";
    if (short_by_ > 0)
      out += (out.empty() ? file_.string() + ": " : "; ") + "ends " + images(short_by_) +
             " before frames.csv does: cut off, or images are lost in it and those after them have the times of others";
    return out;
  }

  fs::path file_;
  cv::VideoCapture video_;
  bool alone_, each_alone_, over_ = false;
  bool held_ = false;  // an image is grabbed for a later frame: after so many that are lost
  long long lost_ = 0, unusable_ = 0, short_by_ = 0;
  std::uint64_t played_ = 0;
};

}  // namespace

std::string recording_in(const std::string& dir) {
  for (std::size_t c = 0; c < kCameras; ++c) {
    const std::string name = camera_name(c);
    if (fs::exists(fs::path(dir) / name)) return name;
    for (const char* ending : kVideoEndings)
      if (fs::exists(fs::path(dir) / (name + ending))) return name + ending;
  }
  return {};
}

Result<RecordingIndex> load_recording_index(const std::string& dir) {
  if (!fs::is_directory(dir)) return usage_error(dir + ": no such directory: give a folder holding C0 ... C3");
  RecordingIndex index;
  const std::string file = (fs::path(dir) / "frames.csv").string();
  if (!fs::exists(file)) {
    std::uint64_t count = 0;
    bool any_video = false;
    for (std::size_t c = 0; c < kCameras; ++c) {
      const Result<fs::path> images = images_of(dir, c);
      if (!images) return unexpected(images.error());
      if (images->empty()) continue;
      if (fs::is_directory(*images))
        count = std::max(count, image_count(*images));
      else
        any_video = true;
    }
    if (count > 0 || !any_video)
      for (std::uint64_t k = 0; k < count; ++k) {
        RecordingIndex::Trigger trigger{k, at_default_rate(k), {}};
        trigger.mid_exposure_ns.fill(trigger.t_ns);
        index.triggers.push_back(trigger);
      }
    return index;
  }

  std::ifstream in(file);
  if (!in) return usage_error(file + ": cannot be read: check its permissions");
  index.from_file = true;
  std::size_t columns = 0;
  std::array<std::size_t, kCameras> camera_of{};
  std::iota(camera_of.begin(), camera_of.end(), std::size_t{0});
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    if (number == 1 && line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // what some editors begin a file with
    const auto wrong = [&](const std::string& what) {
      return usage_error(file + ":" + std::to_string(number) + ": " + what);
    };
    const std::vector<std::string_view> cells = text::split_csv(line);
    if (cells.empty()) continue;
    if (columns == 0) {
      columns = cells.size();
      if (columns != 2 && columns != 2 + kCameras)
        return wrong(std::to_string(columns) + " columns, must be 2 (frame,t_s) or 6 (frame,t_s,t_C0_s,...,t_C3_s)");
      if (cells[0] == "frame") {
        const auto named = columns_of(cells);
        if (!named) return wrong(named.error().message);
        camera_of = *named;
        continue;
      }
    }
    if (cells.size() != columns)
      return wrong(std::to_string(cells.size()) + " columns, the lines above have " + std::to_string(columns));
    const auto time = [&](std::string_view cell, std::int64_t& ns) {
      double s = 0;
      if (!text::parse_number(cell, s) || std::abs(s) > 1e9) return false;
      ns = std::llround(1e9 * s);
      return true;
    };
    RecordingIndex::Trigger trigger;
    double frame = 0;
    if (!text::parse_number(cells[0], frame) || frame < 0 || frame > 1e15 || frame != std::floor(frame))
      return wrong("frame is '" + std::string(cells[0]) + "', must be a whole number from 0");
    trigger.frame = static_cast<std::uint64_t>(frame);
    if (!time(cells[1], trigger.t_ns))
      return wrong("t_s is '" + std::string(cells[1]) + "', must be a time in seconds, within 1e9 of 0");
    trigger.mid_exposure_ns.fill(trigger.t_ns);
    for (std::size_t k = 0; columns > 2 && k < kCameras; ++k) {
      const std::size_t c = camera_of[k];
      std::int64_t& t = trigger.mid_exposure_ns[c];
      if (cells[2 + k].empty())
        t = kNoImage;
      else if (!time(cells[2 + k], t))
        return wrong("t_" + camera_name(c) + "_s is '" + std::string(cells[2 + k]) +
                     "', must be a time in seconds, within 1e9 of 0, or empty when there is no image");
    }
    if (!index.triggers.empty() &&
        (trigger.frame <= index.triggers.back().frame || trigger.t_ns <= index.triggers.back().t_ns))
      return wrong("frame and t_s must rise from line to line");
    index.triggers.push_back(trigger);
  }
  if (in.bad()) return usage_error(file + ": cannot be read to its end");
  if (index.triggers.empty()) return usage_error(file + ":1: no frame listed: remove the file to play at 60 Hz");
  return index;
}

Result<std::unique_ptr<FrameSource>> open_recorded(const std::string& dir, std::size_t camera_index,
                                                   std::shared_ptr<const RecordingIndex> index,
                                                   std::optional<ImageSize> expected) {
  if (camera_index >= kCameras) return usage_error(dir + ": a recording has cameras 0..3");
  const std::string name = camera_name(camera_index);
  const Result<fs::path> file = images_of(dir, camera_index);
  if (!file) return unexpected(file.error());
  if (fs::is_directory(*file))
    return std::unique_ptr<FrameSource>(
        std::make_unique<FolderSource>(camera_index, std::move(index), *file, expected));
  if (file->empty())
    return usage_error(dir + ": no images of " + name + ": need a folder " + name + " or " + name + ".mkv, .mp4, .avi");
  try {
    cv::VideoCapture video(file->string(), cv::CAP_FFMPEG);
    if (!video.isOpened())
      return usage_error(file->string() + ": not a video that can be decoded: make it again, or use a folder of PNG");
    const int w = static_cast<int>(video.get(cv::CAP_PROP_FRAME_WIDTH));
    const int h = static_cast<int>(video.get(cv::CAP_PROP_FRAME_HEIGHT));
    if (expected && (w != expected->width_px || h != expected->height_px))
      return usage_error(file->string() + ": images are " + std::to_string(w) + "x" + std::to_string(h) +
                         ", the rig file says " + std::to_string(expected->width_px) + "x" +
                         std::to_string(expected->height_px) + ": use the rig file the recording was made with");
    return std::unique_ptr<FrameSource>(
        std::make_unique<VideoSource>(camera_index, std::move(index), *file, std::move(video)));
  } catch (const std::exception& e) {
    return usage_error(file->string() + ": cannot be opened: " + e.what());
  }
}

Result<std::unique_ptr<FrameSource>> open_recorded(const std::string& dir, std::size_t camera_index,
                                                   std::optional<ImageSize> expected) {
  auto index = load_recording_index(dir);
  if (!index) return unexpected(index.error());
  return open_recorded(dir, camera_index, std::make_shared<const RecordingIndex>(std::move(*index)), expected);
}

Result<Recording> open_recording(const std::string& dir, std::optional<ImageSize> expected) {
  auto loaded = load_recording_index(dir);
  if (!loaded) return unexpected(loaded.error());
  const auto index = std::make_shared<const RecordingIndex>(std::move(*loaded));
  Recording recording;
  recording.triggers = index->triggers.size();
  for (std::size_t c = 0; c < kCameras; ++c) {
    const Result<fs::path> images = images_of(dir, c);
    if (!images) return unexpected(images.error());
    recording.present[c] = !images->empty();
    if (!recording.present[c]) {
      recording.cameras[c] = std::make_unique<AbsentCamera>(c, index);
      continue;
    }
    auto camera = open_recorded(dir, c, index, expected);
    if (!camera) return unexpected(camera.error());
    recording.cameras[c] = std::move(*camera);
  }
  if (std::none_of(recording.present.begin(), recording.present.end(), [](bool p) { return p; }))
    return usage_error(dir + ": no camera has images: need folders C0 ... C3 or videos C0.mkv ... C3.mkv");
  return recording;
}

}  // namespace ligature::drivers
