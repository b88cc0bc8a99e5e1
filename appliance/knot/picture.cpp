#include "appliance/knot/picture.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>

#include "appliance/xml_text.hpp"
#include "sim/knot/names/layout.hpp"

namespace ligature::knot {
namespace {

constexpr double kLeast_px = 420, kMost_px = 900, kMargin_px = 36, kScale_px = 46, kStroke_px = 7;
constexpr double kGap = 1.35;  // half the gap, in widths of the strand
constexpr double kName_px = 34, kRemark_px = 14;
constexpr std::array<const char*, 6> kColours{"#1f3a5f", "#b5452c", "#3b7d4f", "#8a5a9e", "#b08a1e", "#4a4a4a"};

/// "m8^2_13" with the 2 raised and the 13 lowered; other text as it is.
std::string set_in_type(const std::string& name) {
  std::string out;
  for (std::size_t i = 0; i < name.size();) {
    const bool raised = name[i] == '^', lowered = name[i] == '_';
    std::size_t end = i + 1;
    if (raised || lowered)
      while (end < name.size() && name[end] >= '0' && name[end] <= '9') ++end;
    if ((raised || lowered) && end > i + 1) {
      const double shift = (raised ? -0.4 : 0.22) * kName_px;
      out += fmt::format("<tspan dy=\"{:.1f}\" font-size=\"{:.0f}\">{}</tspan><tspan dy=\"{:.1f}\">&#8203;</tspan>",
                         shift, 0.62 * kName_px, name.substr(i + 1, end - i - 1), -shift);
    } else {
      out += xml_escaped(std::string(1, name[i]));
    }
    i = (raised || lowered) ? end : i + 1;
  }
  return out;
}

struct Canvas {
  double scale = 1, left = 0, top = 0;
  PlanePoint at(PlanePoint p) const { return {left + scale * p.x, top - scale * p.y}; }
};

/// The stretches of a closed strand between the gaps where it passes under, each as a path.
std::vector<std::vector<PlanePoint>> stretches(const LaidComponent& laid, const std::vector<Pass>& passes,
                                               const Canvas& canvas) {
  const std::size_t n = laid.points.size();
  std::vector<PlanePoint> points;
  for (const PlanePoint p : laid.points) points.push_back(canvas.at(p));
  std::vector<double> along(n + 1, 0);
  for (std::size_t i = 0; i < n; ++i)
    along[i + 1] = along[i] + std::hypot(points[(i + 1) % n].x - points[i].x, points[(i + 1) % n].y - points[i].y);
  const double whole = along[n];
  const auto at = [&](double s) {
    s = s - whole * std::floor(s / whole);
    const auto next = std::upper_bound(along.begin(), along.end(), s);
    const auto i = static_cast<std::size_t>(
        std::clamp<std::ptrdiff_t>(next - along.begin() - 1, 0, static_cast<std::ptrdiff_t>(n) - 1));
    const double u = (s - along[i]) / std::max(along[i + 1] - along[i], 1e-12);
    const PlanePoint a = points[i], b = points[(i + 1) % n];
    return PlanePoint{a.x + u * (b.x - a.x), a.y + u * (b.y - a.y)};
  };
  std::vector<double> under;
  for (std::size_t k = 0; k < passes.size(); ++k)
    if (!passes[k].over) under.push_back(along[laid.pass_at[k]]);
  std::vector<std::vector<PlanePoint>> out;
  if (under.empty()) {
    points.push_back(points.front());
    return {points};
  }
  const double gap = kGap * kStroke_px;
  for (std::size_t k = 0; k < under.size(); ++k) {
    const double from = under[k];
    double to = under[(k + 1) % under.size()];
    if (k + 1 == under.size()) to += whole;
    // Between passes that are close the gaps shrink, so that something of the strand is seen.
    const double cut = std::min(gap, 0.35 * (to - from));
    std::vector<PlanePoint> path{at(from + cut)};
    for (std::size_t i = 0; i < 2 * n; ++i) {
      const double s = along[i % n] + (i < n ? 0.0 : whole);
      if (s > from + cut && s < to - cut) path.push_back(points[i % n]);
    }
    path.push_back(at(to - cut));
    out.push_back(std::move(path));
  }
  return out;
}

}  // namespace

Result<std::string> picture_svg(const Diagram& diagram, const std::string& name,
                                const std::vector<std::string>& remarks) {
  const auto layout = lay_out(diagram);
  if (!layout) return unexpected(layout.error());
  const double width = layout->high.x - layout->low.x, height = layout->high.y - layout->low.y;
  const double most = std::max({width, height, 1.0});
  const double shown = std::clamp(kScale_px * most, kLeast_px, kMost_px);
  Canvas canvas;
  canvas.scale = shown / most;
  const double picture_width = std::max(canvas.scale * width, kLeast_px) + 2 * kMargin_px;
  canvas.left = 0.5 * (picture_width - canvas.scale * width) - canvas.scale * layout->low.x;
  canvas.top = kMargin_px + canvas.scale * layout->high.y;
  const double below = 2 * kMargin_px + canvas.scale * height;
  const double picture_height =
      below + kName_px + 1.6 * kRemark_px * static_cast<double>(remarks.size()) + 0.6 * kMargin_px;

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
      "{1:.0f}\">\n"
      "<title>{2}</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
      "<g fill=\"none\" stroke-width=\"{3:.1f}\" stroke-linecap=\"butt\" stroke-linejoin=\"round\">\n",
      picture_width, picture_height, xml_escaped(name), kStroke_px);
  for (std::size_t k = 0; k < diagram.components.size(); ++k)
    for (const auto& path : stretches(layout->components[k], diagram.components[k], canvas)) {
      out += fmt::format("<path stroke=\"{}\" d=\"", kColours[k % kColours.size()]);
      for (std::size_t i = 0; i < path.size(); ++i)
        fmt::format_to(std::back_inserter(out), "{}{:.1f} {:.1f}",
                       i == 0   ? "M"
                       : i == 1 ? "L"
                                : " ",
                       path[i].x, path[i].y);
      out += "\"/>\n";
    }
  out += fmt::format(
      "</g>\n<g font-family=\"DejaVu Serif, Georgia, serif\" fill=\"#222222\" text-anchor=\"middle\">\n"
      "<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\">{}</text>\n",
      0.5 * picture_width, below + 0.5 * kName_px, kName_px, set_in_type(name));
  double y = below + 0.5 * kName_px + 1.2 * kName_px * 0.62;
  for (const std::string& remark : remarks) {
    y += 0.4 * kRemark_px;
    out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:.0f}\" fill=\"#555555\">{}</text>\n",
                       0.5 * picture_width, y, kRemark_px, xml_escaped(remark));
    y += 1.2 * kRemark_px;
  }
  return out + "</g>\n</svg>\n";
}

}  // namespace ligature::knot
