#pragma once
/// Flat marks over the picture: status, message line, test picture. Positions in pixels of one eye's picture.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "render/sheet.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::render {

inline constexpr std::size_t kMaxMarks = 2048;

struct Colour {
  float r = 1, g = 1, b = 1, a = 1;  ///< sRGB as seen, 0..1
};
enum class Shape : std::uint32_t { rectangle, disc, ring, glyph, ramp, film };
enum Eyes : std::uint32_t { left_only = 1, right_only = 2, both_eyes = 3 };

/// One mark; the same layout as in frame.glsl (std430).
struct Mark {
  float x = 0, y = 0, width = 0, height = 0;  ///< top left corner and size [px]
  Colour colour;
  std::uint32_t shape = 0;
  std::uint32_t eyes = both_eyes;
  std::uint32_t glyph_low = 0, glyph_high = 0;  ///< 5x7 bits, row by row from the top left; film: which, 0
};
static_assert(sizeof(Mark) == 48);

class Overlay {
 public:
  Overlay(Mark* out, std::size_t capacity) : out_(out), capacity_(capacity) {}
  /// Silently full: marks beyond the capacity are not drawn.
  void add(Shape shape, float x, float y, float width, float height, Colour colour, std::uint32_t eyes = both_eyes);
  /// Capital letters, digits and a few signs; `cell_px` is the size of one font pixel. @return width [px]
  float text(std::string_view text, float x, float y, float cell_px, Colour colour, std::uint32_t eyes = both_eyes);
  /// A picture that was kept.
  void frame(std::uint32_t kept, float x, float y, float width, float height);
  static float text_width(std::string_view text, float cell_px) {
    return static_cast<float>(text.size()) * 6 * cell_px;
  }
  std::size_t size() const { return size_; }

 private:
  Mark* out_;
  std::size_t capacity_, size_ = 0;
};

/// Camera dots, both instruments and the message, at zero parallax.
void draw_status(Overlay& overlay, const SceneSnapshot& scene, std::string_view message, int width_px, int height_px);
/// What an exercise ended with, over the whole picture; frames that were not kept are left blank.
/// @param kept bits of the frames that there are
void draw_sheet(Overlay& overlay, const Sheet& sheet, std::uint32_t kept, int width_px, int height_px);
/// Which eye is which, alignment, convergence and brightness.
/// @param disparity_px x_L - x_R of the bars that shall stand before and behind the screen
void draw_test_picture(Overlay& overlay, int width_px, int height_px, float disparity_px);

}  // namespace ligature::render
