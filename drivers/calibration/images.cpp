#include "drivers/calibration/images.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <limits>
#include <map>
#include <opencv2/calib3d.hpp>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/videoio.hpp>
#include <set>

#include "drivers/camera/recorded.hpp"

namespace ligature::calibration {
namespace {

namespace fs = std::filesystem;

constexpr double kSameViewPx = 0.75;  // corners that lie this near on average are the same view again

bool is_picture(const fs::path& file) {
  static const std::set<std::string> endings{".jpg", ".jpeg", ".png", ".bmp", ".tif", ".tiff", ".pgm", ".ppm", ".webp"};
  std::string ending = file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(), [](unsigned char c) { return std::tolower(c); });
  return endings.count(ending) > 0 && file.filename().string().front() != '.';
}

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

cv::Mat read_image(const fs::path& file) {
  try {
    // As the sensor has it: the turn that a photo's metadata asks for is not the lens's.
    return cv::imread(file.string(), cv::IMREAD_GRAYSCALE | cv::IMREAD_IGNORE_ORIENTATION);
  } catch (const std::exception&) {
    return {};
  }
}

/// Takes pictures one by one and keeps what the detector says of them.
class Collector {
 public:
  Collector(const Board& board, std::vector<std::string> cameras, const ProgressFunction& progress, std::size_t total)
      : detector_(board), progress_(progress), total_(total) {
    out_.cameras = std::move(cameras);
    out_.size_px.resize(out_.cameras.size());
  }

  /// @return false: cancelled
  bool take(int camera, const std::string& frame, const std::string& source, const cv::Mat& image) {
    if (progress_ && !progress_({Progress::Stage::reading, done_, total_, source})) return false;
    ++done_;
    Detection d = detector_.detect(image);
    ViewReport report;
    report.source = source, report.frame = frame;
    report.camera = out_.cameras[static_cast<std::size_t>(camera)];
    report.reject = d.reject, report.reason = std::move(d.reason), report.corners = d.corners.size();
    sizes_.push_back({d.width_px, d.height_px});
    if (report.used()) out_.views.push_back({camera, frame, out_.reports.size(), std::move(d.corners)});
    out_.reports.push_back(std::move(report));
    return true;
  }

  void refuse(int camera, const std::string& frame, const std::string& source, Reject reject, std::string reason) {
    ViewReport report;
    report.source = source, report.frame = frame, report.camera = out_.cameras[static_cast<std::size_t>(camera)];
    report.reject = reject, report.reason = std::move(reason);
    sizes_.push_back({0, 0});
    out_.reports.push_back(std::move(report));
  }

  /// A camera's pictures have one size: that of most of those with a board in them.
  Pictures finish() {
    for (std::size_t c = 0; c < out_.cameras.size(); ++c) {
      std::map<std::array<int, 2>, int> votes;
      for (const View& v : out_.views)
        if (v.camera == static_cast<int>(c)) ++votes[sizes_[v.report]];
      const auto most = std::max_element(votes.begin(), votes.end(),
                                         [](const auto& a, const auto& b) { return a.second < b.second; });
      if (most == votes.end()) continue;
      out_.size_px[c] = most->first;
    }
    const auto text = [](std::array<int, 2> s) { return std::to_string(s[0]) + "x" + std::to_string(s[1]); };
    std::vector<View> kept;
    for (View& v : out_.views) {
      const auto size = out_.size_px[static_cast<std::size_t>(v.camera)];
      if (sizes_[v.report] == size) {
        kept.push_back(std::move(v));
        continue;
      }
      ViewReport& report = out_.reports[v.report];
      report.reject = Reject::size;
      report.reason = "is " + text(sizes_[v.report]) + " pixels, the camera's other pictures are " + text(size);
    }
    out_.views = std::move(kept);
    out_.board = detector_.board();
    return std::move(out_);
  }

 private:
  BoardDetector detector_;
  const ProgressFunction& progress_;
  std::size_t done_ = 0, total_ = 0;
  std::vector<std::array<int, 2>> sizes_;  // of each report
  Pictures out_;
};

/// Every n-th of them, so that at most `most` are left; `always` stays.
template <class Item, class IsAlways>
std::vector<Item> spread(std::vector<Item> items, std::size_t most, IsAlways is_always) {
  if (items.size() <= most || most == 0) return items;
  std::vector<Item> out;
  std::size_t next = 0;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool turn = i * most / items.size() >= next;
    if (turn) next = i * most / items.size() + 1;
    if (turn || is_always(items[i])) out.push_back(std::move(items[i]));
  }
  return out;
}

struct CameraFiles {
  std::vector<std::pair<std::string, fs::path>> images;  // frame, file
  std::vector<std::pair<std::string, fs::path>> doubles;
  bool video = false;
};

/// Corners that both pictures have, RMS distance; large when they share few.
double distance(const View& a, const View& b) {
  double sum = 0;
  std::size_t n = 0, i = 0, j = 0;
  while (i < a.corners.size() && j < b.corners.size()) {
    if (a.corners[i].id < b.corners[j].id) {
      ++i;
    } else if (a.corners[i].id > b.corners[j].id) {
      ++j;
    } else {
      const double du = a.corners[i].u_px - b.corners[j].u_px, dv = a.corners[i].v_px - b.corners[j].v_px;
      sum += du * du + dv * dv;
      ++n, ++i, ++j;
    }
  }
  if (n == 0 || 2 * n < std::min(a.corners.size(), b.corners.size())) return 1e3;
  return std::sqrt(sum / static_cast<double>(n));
}

}  // namespace

bool frame_before(const std::string& a, const std::string& b) {
  return a.size() != b.size() ? a.size() < b.size() : a < b;
}

std::string frame_of(const fs::path& file) {
  const std::string stem = file.stem().string();
  std::size_t end = stem.size();
  while (end > 0 && !is_digit(stem[end - 1])) --end;
  std::size_t begin = end;
  while (begin > 0 && is_digit(stem[begin - 1])) --begin;
  if (begin == end) return stem;
  while (begin + 1 < end && stem[begin] == '0') ++begin;
  return stem.substr(begin, end - begin);
}

Result<Pictures> read_pictures(const Board& board, const std::string& camera, const std::vector<fs::path>& images,
                               const ProgressFunction& progress) {
  for (const fs::path& file : images)
    if (!fs::is_regular_file(file)) return usage_error(file.string() + ": no such file: give pictures of the board");
  Collector collector(board, {camera}, progress, images.size());
  for (std::size_t i = 0; i < images.size(); ++i)
    if (!collector.take(0, std::to_string(i), images[i].string(), read_image(images[i]))) return failure("cancelled");
  return collector.finish();
}

Result<Pictures> read_recording(const Board& board, const fs::path& dir, const std::vector<std::string>& cameras,
                                const std::string& always, std::size_t most, const ProgressFunction& progress) {
  if (!fs::is_directory(dir)) return usage_error(dir.string() + ": no such folder: give one that holds C0 ... C3");
  std::vector<CameraFiles> files(cameras.size());
  bool numbers_tell = true;
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    const fs::path folder = dir / cameras[c];
    if (!fs::is_directory(folder)) {
      for (const char* ending : {".mkv", ".mp4", ".avi"})
        files[c].video |= fs::is_regular_file(dir / (cameras[c] + ending));
      if (!files[c].video)
        return usage_error(dir.string() + ": no pictures of " + cameras[c] + ": need a folder " + cameras[c] + " or " +
                           cameras[c] + ".mkv, .mp4, .avi; name the cameras that are there with --cameras");
      continue;
    }
    std::error_code wrong;
    std::vector<fs::path> all;
    for (fs::directory_iterator it(folder, wrong), end; !wrong && it != end; it.increment(wrong))
      if (it->is_regular_file() && is_picture(it->path())) all.push_back(it->path());
    if (wrong) return usage_error(folder.string() + ": cannot be listed: " + wrong.message());
    if (all.empty()) return usage_error(folder.string() + ": holds no pictures (jpg, png, bmp, tif, pgm, ppm, webp)");
    std::sort(all.begin(), all.end());
    std::set<std::string> seen;
    for (const fs::path& file : all) {
      files[c].images.emplace_back(frame_of(file), file);
      numbers_tell &= seen.insert(frame_of(file)).second;
    }
  }
  for (CameraFiles& f : files) {
    // Where the last number does not tell pictures apart (dates), their whole names do; then only endings may differ.
    std::map<std::string, fs::path> by_frame;
    for (auto& [frame, file] : f.images) {
      if (!numbers_tell) frame = file.stem().string();
      if (!by_frame.emplace(frame, file).second) f.doubles.emplace_back(frame, file);
    }
    f.images.assign(by_frame.begin(), by_frame.end());
    std::sort(f.images.begin(), f.images.end(),
              [](const auto& a, const auto& b) { return frame_before(a.first, b.first); });
  }
  // Cameras are thinned alike: by frames, not each for itself.
  std::set<std::string> frames;
  for (const CameraFiles& f : files)
    for (const auto& image : f.images) frames.insert(image.first);
  std::vector<std::string> ordered(frames.begin(), frames.end());
  std::sort(ordered.begin(), ordered.end(), frame_before);
  ordered = spread(std::move(ordered), most, [&](const std::string& f) { return f == always; });
  frames = {ordered.begin(), ordered.end()};

  std::size_t total = 0;
  for (const CameraFiles& f : files)
    total += static_cast<std::size_t>(
        std::count_if(f.images.begin(), f.images.end(), [&](const auto& i) { return frames.count(i.first) > 0; }));
  Collector collector(board, cameras, progress, total);
  for (std::size_t c = 0; c < cameras.size(); ++c) {
    const int camera = static_cast<int>(c);
    for (const auto& [frame, file] : files[c].doubles)
      collector.refuse(camera, frame, file.string(), Reject::no_number, "another picture has the same frame number");
    for (const auto& [frame, file] : files[c].images)
      if (frames.count(frame) > 0 && !collector.take(camera, frame, file.string(), read_image(file)))
        return failure("cancelled");
    if (!files[c].video) continue;
    // Videos: as they are played to the tracker, so that frame numbers mean the same.
    const auto name_is = [&](std::size_t k) { return cameras[c] == "C" + std::to_string(k); };
    std::size_t index = 0;
    while (index < kCameras && !name_is(index)) ++index;
    auto source = drivers::open_recorded(dir.string(), index);
    if (!source) return unexpected(source.error());
    std::size_t every = 1;
    {
      double count = 0;
      for (const char* ending : {".mkv", ".mp4", ".avi"})
        if (const fs::path file = dir / (cameras[c] + ending); count == 0 && fs::is_regular_file(file))
          count = cv::VideoCapture(file.string(), cv::CAP_FFMPEG).get(cv::CAP_PROP_FRAME_COUNT);
      if (most > 0 && count > static_cast<double>(most))
        every = static_cast<std::size_t>(std::ceil(count / static_cast<double>(most)));
    }
    drivers::Frame frame;
    for (;;) {
      const drivers::FrameStatus status = (*source)->next(frame);
      if (status == drivers::FrameStatus::end || status == drivers::FrameStatus::failed) break;
      if (status != drivers::FrameStatus::image) continue;
      const std::string number = std::to_string(frame.sequence);
      if (frame.sequence % every != 0 && number != always) continue;
      if (!collector.take(camera, number, cameras[c] + "#" + number, frame.image)) return failure("cancelled");
    }
  }
  return collector.finish();
}

void thin_out(Pictures& pictures, const std::string& always, std::size_t most) {
  std::map<std::string, std::vector<std::size_t>> by_frame;
  for (std::size_t i = 0; i < pictures.views.size(); ++i) by_frame[pictures.views[i].frame].push_back(i);
  std::vector<std::string> frames;
  for (const auto& [frame, views] : by_frame) frames.push_back(frame);
  // Frames with more corners first: of two alike the fuller one stays.
  const auto weight = [&](const std::string& f) {
    std::size_t n = f == always ? 1'000'000 : 0;
    for (const std::size_t v : by_frame[f]) n += pictures.views[v].corners.size();
    return n;
  };
  std::stable_sort(frames.begin(), frames.end(), frame_before);
  std::stable_sort(frames.begin(), frames.end(),
                   [&](const std::string& a, const std::string& b) { return weight(a) > weight(b); });

  const auto apart = [&](const std::string& a, const std::string& b) {
    double most_apart = 0;
    for (const std::size_t v : by_frame[a]) {
      double here = 1e3;
      for (const std::size_t w : by_frame[b])
        if (pictures.views[v].camera == pictures.views[w].camera) here = distance(pictures.views[v], pictures.views[w]);
      most_apart = std::max(most_apart, here);
    }
    return most_apart;
  };
  const auto drop = [&](const std::string& frame, Reject reject, const std::string& reason) {
    for (const std::size_t v : by_frame[frame]) {
      ViewReport& report = pictures.reports[pictures.views[v].report];
      report.reject = reject, report.reason = reason;
      pictures.views[v].corners.clear();
    }
  };

  std::vector<std::string> kept;
  for (const std::string& frame : frames) {
    const auto same =
        std::find_if(kept.begin(), kept.end(), [&](const std::string& k) { return apart(frame, k) < kSameViewPx; });
    if (same == kept.end())
      kept.push_back(frame);
    else
      drop(frame, Reject::duplicate,
           "the same view as " + pictures.reports[pictures.views[by_frame[*same][0]].report].source);
  }
  if (kept.size() > most && most > 0) {
    // Farthest first: always the frame that is least like those taken already.
    std::vector<double> nearest(kept.size(), std::numeric_limits<double>::max());
    std::vector<bool> taken(kept.size());
    std::size_t next = 0;
    for (std::size_t n = 0; n < most; ++n) {
      taken[next] = true;
      for (std::size_t i = 0; i < kept.size(); ++i)
        if (!taken[i]) nearest[i] = std::min(nearest[i], apart(kept[i], kept[next]));
      std::size_t best = next;
      for (std::size_t i = 0; i < kept.size(); ++i)
        if (!taken[i] && (taken[best] || nearest[i] > nearest[best])) best = i;
      next = best;
    }
    for (std::size_t i = 0; i < kept.size(); ++i)
      if (!taken[i]) drop(kept[i], Reject::not_chosen, "good, but " + std::to_string(most) + " other frames show more");
  }
  std::erase_if(pictures.views, [](const View& v) { return v.corners.empty(); });
}

}  // namespace ligature::calibration
