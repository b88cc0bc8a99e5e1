#include "appliance/sim/drawing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <utility>

#include "appliance/xml_text.hpp"

namespace ligature::simulate {
namespace {

constexpr double kDash = 7, kGap = 5;
constexpr int kOversample = 3;
constexpr int kShift = 4;  // fractional bits of OpenCV's coordinates

std::string hex(Colour c) {
  return fmt::format("#{:02x}{:02x}{:02x}", c.r, c.g, c.b);
}

/// The strokes know ASCII only: one '?' for every other letter.
std::string ascii(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x80 && byte < 0xC0) continue;
    out += byte >= 0x80 ? '?' : byte < 0x20 ? ' ' : c;
  }
  return out;
}

std::string path_data(const std::vector<Point>& points) {
  std::string d;
  Point last;
  for (std::size_t i = 0; i < points.size(); ++i) {
    const Point p = points[i];
    // What is nearer than a third of a pixel to the point before adds bytes and nothing to see.
    if (i > 0 && i + 1 < points.size() && std::hypot(p.x - last.x, p.y - last.y) < 0.33) continue;
    d += fmt::format("{}{:.2f} {:.2f}", i == 0 ? "M" : "L", p.x, p.y);
    last = p;
  }
  return d;
}

/// The drawn pieces of a dashed line.
std::vector<std::vector<Point>> dashes(const std::vector<Point>& points) {
  std::vector<std::vector<Point>> out;
  double left = kDash;
  bool on = true;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) {
    Point a = points[i];
    const Point b = points[i + 1];
    double length = std::hypot(b.x - a.x, b.y - a.y);
    if (on && out.empty()) out.push_back({a});
    while (length > left) {
      const Point cut{a.x + left / length * (b.x - a.x), a.y + left / length * (b.y - a.y)};
      if (on) out.back().push_back(cut);
      length -= left;
      a = cut;
      on = !on;
      left = on ? kDash : kGap;
      if (on) out.push_back({a});
    }
    left -= length;
    if (on) out.back().push_back(b);
  }
  return out;
}

struct Stroke {
  int font;
  double scale;
  int thickness;
};

Stroke stroke_of(double size, bool bold) {
  // Capitals of the stroke fonts are 21 units high, those of a text font 0.72 of its size.
  const double scale = 0.72 * size / 21;
  const double thickness = size * (bold ? 0.125 : 0.085);
  return {cv::FONT_HERSHEY_SIMPLEX, scale * kOversample,
          std::max(1, static_cast<int>(std::lround(thickness * kOversample)))};
}

cv::Point fixed(Point p) {
  constexpr double k = kOversample * (1 << kShift);
  // Beyond this OpenCV's own arithmetic would overflow; nothing of it could be seen.
  const auto clamp = [](double v) { return static_cast<int>(std::lround(std::clamp(v * k, -1e7, 1e7))); };
  return {clamp(p.x), clamp(p.y)};
}

cv::Scalar bgr(Colour c) {
  return {static_cast<double>(c.b), static_cast<double>(c.g), static_cast<double>(c.r)};
}

void draw_line(cv::Mat& image, const std::vector<Point>& points, Colour colour, double width) {
  std::vector<cv::Point> path;
  for (const Point p : points) path.push_back(fixed(p));
  cv::polylines(image, path, false, bgr(colour), std::max(1, static_cast<int>(std::lround(width * kOversample))),
                cv::LINE_AA, kShift);
}

}  // namespace

Colour mix(Colour a, Colour b, double u) {
  const auto one = [u](std::uint8_t x, std::uint8_t y) {
    return static_cast<std::uint8_t>(std::lround(x + u * (static_cast<double>(y) - x)));
  };
  return {one(a.r, b.r), one(a.g, b.g), one(a.b, b.b)};
}

void Drawing::line(std::vector<Point> points, Colour colour, double width, bool dashed) {
  if (points.size() < 2) return;
  items_.push_back({Item::Kind::line, std::move(points), colour, width, 0, dashed, Anchor::left, ""});
}
void Drawing::area(std::vector<Point> points, Colour colour) {
  items_.push_back({Item::Kind::area, std::move(points), colour, 0, 0, false, Anchor::left, ""});
}
void Drawing::disc(Point centre, double radius, Colour colour) {
  items_.push_back({Item::Kind::disc, {centre}, colour, radius, 0, false, Anchor::left, ""});
}
void Drawing::ring(Point centre, double radius, Colour colour, double width) {
  items_.push_back({Item::Kind::ring, {centre}, colour, radius, width, false, Anchor::left, ""});
}
void Drawing::text(Point at, std::string text, double size, Colour colour, Anchor anchor, bool bold) {
  items_.push_back({Item::Kind::text, {at}, colour, size, 0, bold, anchor, std::move(text)});
}

double Drawing::text_width(const std::string& text, double size, bool bold) {
  const Stroke s = stroke_of(size, bold);
  int baseline = 0;
  const cv::Size box = cv::getTextSize(ascii(text), s.font, s.scale, s.thickness, &baseline);
  return 1.03 * static_cast<double>(box.width) / kOversample;
}

std::string Drawing::svg(const std::string& title, const std::string& description) const {
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:g}\" height=\"{1:g}\" viewBox=\"0 0 {0:g} {1:g}\" "
      "font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\">\n<title>{2}</title>\n<desc>{3}</desc>\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      width_, height_, xml_escaped(title), xml_escaped(description));
  for (const Item& item : items_) switch (item.kind) {
      case Item::Kind::line:
        out += fmt::format(
            "<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\" stroke-linejoin=\"round\" "
            "stroke-linecap=\"{}\"{}/>\n",
            path_data(item.points), hex(item.colour), item.size, item.flag ? "butt" : "round",
            item.flag ? fmt::format(" stroke-dasharray=\"{:g} {:g}\"", kDash, kGap) : "");
        break;
      case Item::Kind::area:
        out += fmt::format("<path d=\"{}Z\" fill=\"{}\"/>\n", path_data(item.points), hex(item.colour));
        break;
      case Item::Kind::disc:
        out += fmt::format("<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" fill=\"{}\"/>\n", item.points[0].x,
                           item.points[0].y, item.size, hex(item.colour));
        break;
      case Item::Kind::ring:
        out += fmt::format(
            "<circle cx=\"{:.2f}\" cy=\"{:.2f}\" r=\"{:g}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{:g}\"/>\n",
            item.points[0].x, item.points[0].y, item.size, hex(item.colour), item.width);
        break;
      case Item::Kind::text:
        out += fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" font-size=\"{:g}\" fill=\"{}\"{}{}>{}</text>\n",
                           item.points[0].x, item.points[0].y, item.size, hex(item.colour),
                           item.anchor == Anchor::middle  ? " text-anchor=\"middle\""
                           : item.anchor == Anchor::right ? " text-anchor=\"end\""
                                                          : "",
                           item.flag ? " font-weight=\"bold\"" : "", xml_escaped(item.text));
        break;
    }
  return out + "</svg>\n";
}

Result<std::string> Drawing::png() const {
  try {
    cv::Mat image(static_cast<int>(height_) * kOversample, static_cast<int>(width_) * kOversample, CV_8UC3,
                  cv::Scalar::all(255));
    for (const Item& item : items_) switch (item.kind) {
        case Item::Kind::line:
          if (item.flag)
            for (const auto& dash : dashes(item.points)) draw_line(image, dash, item.colour, item.size);
          else
            draw_line(image, item.points, item.colour, item.size);
          break;
        case Item::Kind::area: {
          std::vector<cv::Point> path;
          for (const Point p : item.points) path.push_back(fixed(p));
          cv::fillPoly(image, std::vector<std::vector<cv::Point>>{path}, bgr(item.colour), cv::LINE_AA, kShift);
          break;
        }
        case Item::Kind::disc:
        case Item::Kind::ring:
          cv::circle(
              image, fixed(item.points[0]), static_cast<int>(std::lround(item.size * kOversample * (1 << kShift))),
              bgr(item.colour),
              item.kind == Item::Kind::disc ? cv::FILLED : static_cast<int>(std::lround(item.width * kOversample)),
              cv::LINE_AA, kShift);
          break;
        case Item::Kind::text: {
          const Stroke s = stroke_of(item.size, item.flag);
          const std::string text = ascii(item.text);
          int baseline = 0;
          const double width = cv::getTextSize(text, s.font, s.scale, s.thickness, &baseline).width;
          const double shift = item.anchor == Anchor::left ? 0 : item.anchor == Anchor::middle ? 0.5 : 1;
          cv::putText(image, text,
                      cv::Point(static_cast<int>(std::lround(item.points[0].x * kOversample - shift * width)),
                                static_cast<int>(std::lround(item.points[0].y * kOversample))),
                      s.font, s.scale, bgr(item.colour), s.thickness, cv::LINE_AA);
          break;
        }
      }
    cv::Mat shrunk;
    cv::resize(image, shrunk, cv::Size(static_cast<int>(width_), static_cast<int>(height_)), 0, 0, cv::INTER_AREA);
    std::vector<unsigned char> bytes;
    if (!cv::imencode(".png", shrunk, bytes)) return failure("the picture does not encode as PNG");
    return std::string(bytes.begin(), bytes.end());
  } catch (const cv::Exception& wrong) {
    return failure(fmt::format("the picture cannot be drawn: {}", wrong.what()));
  }
}

}  // namespace ligature::simulate
