#pragma once
/// Axes with ticks, and curves over them.
#include <string>
#include <vector>

#include "appliance/sim/drawing.hpp"

namespace ligature::simulate {

struct Box {
  double x = 0, y = 0, width = 0, height = 0;
  double right() const { return x + width; }
  double bottom() const { return y + height; }
};

inline constexpr Colour kInk{34, 40, 49}, kSoft{110, 118, 129}, kGrid{232, 235, 239}, kFrame{190, 196, 204},
    kStart{150, 156, 164};
inline constexpr double kLabelSize = 13;

/// 1, 2 or 5 times a power of ten, such that about `count` of it span the range. @pre range > 0
double nice_step(double range, double count);
/// A number on an axis whose ticks are `step` apart.
std::string tick_text(double value, double step);

struct Series {
  std::string name;
  Colour colour;
  std::vector<double> t, v;
  bool dashed = false;
  double width = 2;
};

struct ChartSettings {
  std::string title;                ///< what and in which unit
  std::string t_title = "time, s";  ///< below
  bool log_t = false, log_v = false;
  double t_least = 0;          ///< log_t: where the axis begins
  double most_decades = 12;    ///< log_v: of the axis, from the top
  std::vector<double> levels;  ///< thin dashed lines at these values
};

/// Title and legend above, ticks left and below, the curves inside `box` (all of it together).
void draw_chart(Drawing& drawing, const Box& box, const ChartSettings& settings, const std::vector<Series>& series);

}  // namespace ligature::simulate
