#pragma once
/// A flat drawing of lines, areas and text, kept as a list and written as SVG or rasterised to PNG. Pixels, y down.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::simulate {

struct Point {
  double x = 0, y = 0;
};

struct Colour {
  std::uint8_t r = 0, g = 0, b = 0;
};
/// u = 0: a, 1: b
Colour mix(Colour a, Colour b, double u);

enum class Anchor { left, middle, right };

class Drawing {
 public:
  Drawing(double width, double height) : width_(width), height_(height) {}

  double width() const { return width_; }
  double height() const { return height_; }
  void line(std::vector<Point> points, Colour colour, double width, bool dashed = false);
  void area(std::vector<Point> points, Colour colour);
  void disc(Point centre, double radius, Colour colour);
  void ring(Point centre, double radius, Colour colour, double width);
  /// @param size height of the font; `at` is on the baseline
  void text(Point at, std::string text, double size, Colour colour, Anchor anchor = Anchor::left, bool bold = false);

  /// How wide a text comes out, a little on the safe side.
  static double text_width(const std::string& text, double size, bool bold = false);

  std::string svg(const std::string& title, const std::string& description) const;
  /// The bytes of a PNG of width x height. Text is drawn in strokes: letters beyond ASCII are replaced.
  Result<std::string> png() const;

 private:
  struct Item {
    enum class Kind { line, area, disc, ring, text } kind;
    std::vector<Point> points;
    Colour colour;
    double size = 0;  ///< width of a line, radius of a disc, height of a text
    double width = 0;
    bool flag = false;  ///< dashed, bold
    Anchor anchor = Anchor::left;
    std::string text;
  };
  double width_, height_;
  std::vector<Item> items_;
};

}  // namespace ligature::simulate
