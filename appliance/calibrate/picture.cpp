#include "appliance/calibrate/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "appliance/sim/chart.hpp"
#include "appliance/sim/drawing.hpp"
#include "config/atomic_file.hpp"

namespace ligature::calibrate {
namespace {

using calibration::CameraReport;
using calibration::Report;
using simulate::Anchor;
using simulate::Box;
using simulate::Colour;
using simulate::Drawing;
using simulate::Point;

constexpr double kMargin = 28, kPanelWidth = 600, kScatter = 150, kHead = 96, kPanelHead = 62;
constexpr Colour kFew{219, 233, 246}, kMany{107, 159, 206}, kArrow{31, 41, 55}, kOut{200, 40, 40}, kGood{24, 120, 60};
constexpr std::size_t kMostArrows = 1600;

/// 1, 2 or 5 times a power of ten, at most `value`.
double round_down(double value) {
  const double ten = std::pow(10, std::floor(std::log10(value)));
  for (const double m : {5.0, 2.0, 1.0})
    if (m * ten <= value * 1.0001) return m * ten;
  return ten;
}

void draw_camera(Drawing& d, const Box& box, const CameraReport& camera, const drivers::CameraModel& model) {
  d.text({box.x, box.y + 20}, camera.name, 20, simulate::kInk, Anchor::left, true);
  d.text({box.x + 44, box.y + 20},
         fmt::format("{} views, {} corners, {} left out", camera.views, camera.corners, camera.left_out), 14,
         simulate::kInk);
  d.text({box.x, box.y + 40},
         fmt::format("error {:.3f} px, held out {:.3f} px;  corners in {:.0f} % of the image", camera.rms_px,
                     camera.held_out_rms_px, 100 * camera.coverage),
         14, simulate::kSoft);

  const double scale =
      std::min((box.width - kScatter - 16) / model.width_px, (box.height - kPanelHead - 24) / model.height_px);
  const Box image{box.x, box.y + kPanelHead, model.width_px * scale, model.height_px * scale};
  const auto at = [&](double u, double v) { return Point{image.x + (u + 0.5) * scale, image.y + (v + 0.5) * scale}; };

  const int most = std::max(1, *std::max_element(camera.cells.begin(), camera.cells.end()));
  for (int r = 0; r < calibration::kCoverageRows; ++r)
    for (int c = 0; c < calibration::kCoverageCols; ++c) {
      const int n = camera.cells[static_cast<std::size_t>(r * calibration::kCoverageCols + c)];
      if (n == 0) continue;
      const double w = image.width / calibration::kCoverageCols, h = image.height / calibration::kCoverageRows;
      const double x = image.x + c * w, y = image.y + r * h;
      d.area({{x, y}, {x + w, y}, {x + w, y + h}, {x, y + h}}, simulate::mix(kFew, kMany, std::sqrt(1.0 * n / most)));
    }
  d.line({{image.x, image.y},
          {image.right(), image.y},
          {image.right(), image.bottom()},
          {image.x, image.bottom()},
          {image.x, image.y}},
         simulate::kFrame, 1.5);

  // Arrows so long that a usual one can be seen; the rule below tells how long.
  std::vector<double> sizes;
  for (const auto& r : camera.residuals)
    if (!r.left_out) sizes.push_back(std::hypot(r.du_px, r.dv_px));
  double usual = 0.1;
  if (!sizes.empty()) {
    const auto middle = sizes.begin() + static_cast<std::ptrdiff_t>(sizes.size() / 2);
    std::nth_element(sizes.begin(), middle, sizes.end());
    usual = std::max(*middle, 1e-6);
  }
  const double length = 9 / usual;  // drawn pixels of one image pixel
  const std::size_t every = camera.residuals.size() / kMostArrows + 1;
  for (std::size_t i = 0; i < camera.residuals.size(); i += every) {
    const auto& r = camera.residuals[i];
    if (r.left_out) continue;
    const Point p = at(r.u_px, r.v_px);
    d.line({p, {p.x + length * r.du_px, p.y + length * r.dv_px}}, kArrow, 1);
    d.disc(p, 1.2, kArrow);
  }
  for (const auto& r : camera.residuals)
    if (r.left_out) d.ring(at(r.u_px, r.v_px), 4, kOut, 1.5);
  const double rule = round_down(60 / length);
  const double ry = image.bottom() + 16;
  d.line({{image.x, ry}, {image.x + rule * length, ry}}, kArrow, 2);
  d.text({image.x + rule * length + 8, ry + 5},
         fmt::format("{:g} px of error;  red ring: left out{}", rule,
                     every > 1 ? fmt::format(";  every {}. arrow", every) : std::string()),
         13, simulate::kSoft);

  // All errors from one point: round and centred is noise, anything else is not.
  const Box cloud{image.right() + 16, image.y, kScatter, kScatter};
  const Point middle{cloud.x + 0.5 * kScatter, cloud.y + 0.5 * kScatter};
  const double reach = 0.5 * kScatter / std::max(1e-6, 4.2 * usual / 1.1774);
  d.line({{cloud.x, middle.y}, {cloud.right(), middle.y}}, simulate::kGrid, 1);
  d.line({{middle.x, cloud.y}, {middle.x, cloud.bottom()}}, simulate::kGrid, 1);
  for (std::size_t i = 0; i < camera.residuals.size(); i += every) {
    const auto& r = camera.residuals[i];
    const Point p{middle.x + reach * r.du_px, middle.y + reach * r.dv_px};
    if (!r.left_out && std::abs(p.x - middle.x) < 0.5 * kScatter && std::abs(p.y - middle.y) < 0.5 * kScatter)
      d.disc(p, 1.1, kArrow);
  }
  for (const double sigmas : {1.0, 3.0}) d.ring(middle, reach * sigmas * usual / 1.1774, Colour{200, 120, 0}, 1);
  d.text({cloud.x, cloud.bottom() + 16}, fmt::format("1 and 3 sigma: {:.3f},", usual / 1.1774), 12, simulate::kSoft);
  d.text({cloud.x, cloud.bottom() + 31}, fmt::format("{:.3f} px an axis", 3 * usual / 1.1774), 12, simulate::kSoft);
}

}  // namespace

Result<void> write_picture(const std::filesystem::path& path, const Report& report,
                           const std::vector<drivers::CameraModel>& cameras) {
  const std::string ending = path.extension().string();
  if (ending != ".png" && ending != ".svg")
    return usage_error("--picture " + path.string() + ": ends in '" + ending + "', must be .png or .svg");
  const std::size_t n = report.cameras.size(), across = n > 1 ? 2 : 1, down = (n + across - 1) / across;
  double tallest = 0;
  for (const auto& k : cameras)
    tallest =
        std::max(tallest, std::min((kPanelWidth - kScatter - 16) / k.width_px, 620.0 / k.height_px) * k.height_px);
  const double panel_height = kPanelHead + std::max(tallest, kScatter + 20) + 34;
  Drawing d(kMargin + static_cast<double>(across) * (kPanelWidth + kMargin),
            kHead + static_cast<double>(down) * (panel_height + kMargin) + 4);
  d.area({{0, 0}, {d.width(), 0}, {d.width(), d.height()}, {0, d.height()}}, Colour{255, 255, 255});
  d.text({kMargin, 34}, report.good() ? "Calibration: good" : "Calibration: fails its limits", 22,
         report.good() ? kGood : kOut, Anchor::left, true);
  d.text({d.width() - kMargin, 34}, report.board.text(), 14, simulate::kSoft, Anchor::right);
  d.text({kMargin, 58},
         fmt::format("{} board poses; corner noise {:.3f} px; held out: {:.3f} px, {:.3f} mm", report.frames,
                     report.sigma_px, report.held_out_rms_px, report.held_out_mm),
         15, simulate::kInk);
  d.text({kMargin, 80},
         std::isnan(report.tip_sigma_mm)
             ? std::string("uncertainty of a tip: the views do not tell")
             : fmt::format("uncertainty at the working distance ({:.0f} mm): {:.0f} um, {:.0f} um at worst",
                           report.working_distance_mm, 1000 * report.tip_sigma_mm, 1000 * report.tip_sigma_worst_mm),
         15, simulate::kInk);
  for (std::size_t c = 0; c < n; ++c)
    draw_camera(d,
                {kMargin + static_cast<double>(c % across) * (kPanelWidth + kMargin),
                 kHead + static_cast<double>(c / across) * (panel_height + kMargin), kPanelWidth, panel_height + 30},
                report.cameras[c], cameras[c]);
  std::error_code ignored;
  if (path.has_parent_path()) std::filesystem::create_directories(path.parent_path(), ignored);
  if (ending == ".svg")
    return config::write_file_atomically(
        path, d.svg("Calibration", "coverage and residuals of " + std::to_string(n) + " cameras"));
  const auto png = d.png();
  if (!png) return unexpected(png.error());
  return config::write_file_atomically(path, *png);
}

}  // namespace ligature::calibrate
