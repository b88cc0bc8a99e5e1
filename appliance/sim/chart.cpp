#include "appliance/sim/chart.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace ligature::simulate {
namespace {

/// One axis: from values to 0..1.
struct Axis {
  bool log = false;
  double low = 0, high = 1;  // of log10 when log

  double at(double value) const {
    const double v = log ? (value > 0 ? std::log10(value) : -std::numeric_limits<double>::infinity()) : value;
    return (v - low) / (high - low);
  }
  std::vector<std::pair<double, std::string>> ticks(double count) const {
    std::vector<std::pair<double, std::string>> out;
    if (log) {
      const double step = std::max(1.0, std::ceil((high - low) / count));
      for (double d = std::ceil(low - 1e-9); d <= high + 1e-9; d += step) {
        const bool plain = d >= -2 && d <= 3;
        out.emplace_back((d - low) / (high - low),
                         plain ? fmt::format("{:g}", std::pow(10, d)) : fmt::format("1e{:g}", d));
      }
    } else {
      const double step = nice_step(high - low, count);
      for (double v = std::ceil(low / step - 1e-9) * step; v <= high + 1e-9 * step; v += step)
        out.emplace_back((v - low) / (high - low), tick_text(v, step));
    }
    return out;
  }
};

Axis value_axis(const ChartSettings& settings, const std::vector<Series>& series) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  // On a logarithmic axis a series counts down to where it ends, or through six decades of what it was; and what is
  // less than it ends with through three.
  if (settings.log_v) {
    for (const Series& s : series) {
      const double most = s.v.empty() ? 0 : *std::max_element(s.v.begin(), s.v.end());
      if (!(most > 0)) continue;
      high = std::max(high, most);
      low = std::min(low, std::max(s.v.back(), 1e-6 * most));
      for (const double v : s.v)
        if (v >= 1e-3 * most) low = std::min(low, v);
    }
    for (const double v : settings.levels) low = std::min(low, v);
    if (!(low <= high)) low = 0.1, high = 1;
    const double top = std::ceil(std::log10(high) + 1e-9);
    return {true, std::min(std::max(std::floor(std::log10(low)), top - settings.most_decades), top - 1), top};
  }
  const auto take = [&](double v) {
    if (!std::isfinite(v)) return;
    low = std::min(low, v);
    high = std::max(high, v);
  };
  for (const Series& s : series)
    for (const double v : s.v) take(v);
  if (!(low <= high)) low = 0, high = 1;
  // What differs by rounding only is shown flat, not blown up to the full height.
  const double least = std::max({1e-9 * std::max(std::abs(low), std::abs(high)), 1e-12});
  if (high - low < least) low -= least, high += least;
  const double margin = 0.06 * (high - low);
  return {false, low - margin, high + margin};
}

}  // namespace

double nice_step(double range, double count) {
  const double rough = range / std::max(1.0, count);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  const double f = rough / power;
  return power * (f < 1.5 ? 1 : f < 3.5 ? 2 : f < 7.5 ? 5 : 10);
}

std::string tick_text(double value, double step) {
  if (std::abs(value) < 1e-9 * step) return "0";
  const double size = std::abs(value);
  if (size >= 1e5 || step < 1e-4) return fmt::format("{:.3g}", value);
  const int digits = std::max(0, static_cast<int>(-std::floor(std::log10(step) + 1e-9)));
  return fmt::format("{:.{}f}", value, digits);
}

void draw_chart(Drawing& drawing, const Box& box, const ChartSettings& settings, const std::vector<Series>& series) {
  const Axis v_axis = value_axis(settings, series);
  double t_end = 0;
  for (const Series& s : series)
    if (!s.t.empty()) t_end = std::max(t_end, s.t.back());
  Axis t_axis{false, 0, t_end > 0 ? t_end : 1};
  if (settings.log_t && settings.t_least > 0 && t_end > settings.t_least)
    t_axis = {true, std::log10(settings.t_least), std::log10(t_end)};

  double labels = 0;
  const auto v_ticks = v_axis.ticks(std::max(2.0, box.height / 55));
  for (const auto& [at, text] : v_ticks) labels = std::max(labels, Drawing::text_width(text, kLabelSize));
  const Box in{box.x + labels + 10, box.y + 52, box.width - labels - 10, box.height - 52 - 40};

  drawing.text({box.x, box.y + 14}, settings.title, 15, kInk, Anchor::left, true);
  double legend = in.x;
  for (const Series& s : series) {
    drawing.line({{legend, box.y + 34}, {legend + 22, box.y + 34}}, s.colour, s.width, s.dashed);
    drawing.text({legend + 28, box.y + 38.5}, s.name, kLabelSize, kInk);
    legend += 28 + Drawing::text_width(s.name, kLabelSize) + 18;
  }

  for (const auto& [at, text] : v_ticks) {
    const double y = in.bottom() - at * in.height;
    drawing.line({{in.x, y}, {in.right(), y}}, kGrid, 1);
    drawing.text({in.x - 8, y + 4.5}, text, kLabelSize, kSoft, Anchor::right);
  }
  for (const auto& [at, text] : t_axis.ticks(std::max(2.0, in.width / 90))) {
    const double x = in.x + at * in.width;
    drawing.line({{x, in.y}, {x, in.bottom()}}, kGrid, 1);
    drawing.text({x, in.bottom() + 18}, text, kLabelSize, kSoft, Anchor::middle);
  }
  drawing.line({{in.x, in.y}, {in.right(), in.y}, {in.right(), in.bottom()}, {in.x, in.bottom()}, {in.x, in.y}}, kFrame,
               1);
  drawing.text({in.x + 0.5 * in.width, in.bottom() + 36}, settings.t_title, kLabelSize, kSoft, Anchor::middle);

  for (const double level : settings.levels) {
    const double y = in.bottom() - v_axis.at(level) * in.height;
    if (y >= in.y && y <= in.bottom()) drawing.line({{in.x, y}, {in.right(), y}}, kSoft, 1, true);
  }
  for (const Series& s : series) {
    std::vector<Point> piece;
    const auto end_piece = [&] {
      if (piece.size() == 1) drawing.disc(piece[0], s.width, s.colour);
      drawing.line(piece, s.colour, s.width, s.dashed);
      piece.clear();
    };
    // Cut off where it leaves through the floor; what is no number on a logarithmic axis lies a little below it.
    bool drawn = false;
    double u0 = 0, w0 = 0;
    for (std::size_t i = 0; i < s.t.size(); ++i) {
      const double u = t_axis.at(s.t[i]), w = std::max(v_axis.at(s.v[i]), -0.3);
      if (u < -1e-9 || !(w <= 1 + 1e-9)) {
        end_piece();
        drawn = false;
        continue;
      }
      const auto put = [&](double pu, double pw) {
        piece.push_back({in.x + pu * in.width, in.bottom() - pw * in.height});
      };
      if (drawn && (w0 < 0) != (w < 0)) put(u0 + (u - u0) * w0 / (w0 - w), 0);
      if (w >= 0)
        put(u, w);
      else
        end_piece();
      drawn = true;
      u0 = u;
      w0 = w;
    }
    end_piece();
  }
}

}  // namespace ligature::simulate
