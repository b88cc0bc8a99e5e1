#include "render/film_strip.hpp"

#include <algorithm>
#include <opencv2/imgproc.hpp>
#include <utility>
#include <vector>

#include "render/picture_file.hpp"

namespace ligature::render {
namespace {

constexpr int kGap = 6;            // between pictures [px]
constexpr int kMostAcross = 1700;  // of a strip, then it goes on in the next row [px]

cv::Mat seen(const PictureView& view) {
  return {view.height_px, view.width_px, CV_8UC4, const_cast<std::uint8_t*>(view.bgra), view.stride_bytes};
}

}  // namespace

struct FilmStrip::State {
  std::vector<cv::Mat> pictures;
  void add(cv::Mat picture, const std::string& caption) {
    const double size = std::max(0.4, picture.rows / 800.0);
    const cv::Point at(static_cast<int>(16 * size), static_cast<int>(32 * size));
    for (const auto& [colour, width] : {std::pair{cv::Scalar(0, 0, 0, 255), 4}, {cv::Scalar(235, 240, 240, 255), 1}})
      cv::putText(picture, caption, at, cv::FONT_HERSHEY_SIMPLEX, size, colour, width, cv::LINE_AA);
    pictures.push_back(std::move(picture));
  }
};

FilmStrip::FilmStrip() : state_(std::make_unique<State>()) {}
FilmStrip::FilmStrip(FilmStrip&&) noexcept = default;
FilmStrip& FilmStrip::operator=(FilmStrip&&) noexcept = default;
FilmStrip::~FilmStrip() = default;

void FilmStrip::add(const PictureView& picture, const std::string& caption) {
  state_->add(seen(picture).clone(), caption);
}

void FilmStrip::add(const PictureView& left, const PictureView& right, const std::string& caption) {
  cv::Mat both;
  cv::hconcat(seen(left), seen(right), both);
  state_->add(std::move(both), caption);
}

bool FilmStrip::empty() const {
  return state_->pictures.empty();
}

Result<void> FilmStrip::write(const std::string& path, const std::string& version_line,
                              const std::string& comment) const {
  const std::vector<cv::Mat>& pictures = state_->pictures;
  const int width = pictures.front().cols, height = pictures.front().rows;
  const auto count = static_cast<int>(pictures.size());
  const int most = std::max(1, (kMostAcross + kGap) / (width + kGap));
  const int rows = (count + most - 1) / most, columns = (count + rows - 1) / rows;
  cv::Mat strip(rows * (height + kGap) + kGap, columns * (width + kGap) + kGap, CV_8UC4,
                cv::Scalar(255, 255, 255, 255));
  for (int i = 0; i < count; ++i)
    pictures[static_cast<std::size_t>(i)].copyTo(
        strip(cv::Rect(kGap + i % columns * (width + kGap), kGap + i / columns * (height + kGap), width, height)));
  return write_png(path, {strip.data, strip.cols, strip.rows, strip.step}, version_line, comment);
}

}  // namespace ligature::render
