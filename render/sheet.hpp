#pragma once
/// What stands over the dimmed picture when an exercise is over: lines of text, and pictures kept on the way.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "sim/base/fixed_vector.hpp"

namespace ligature::render {

/// Pictures that a renderer can keep, a quarter as wide and high as shown.
inline constexpr std::size_t kFilmFrames = 8;

struct Sheet {
  enum class Tone : std::uint8_t { title, plain, good, bad };
  struct Line {
    Tone tone = Tone::plain;
    std::uint8_t size = 0;
    std::array<char, 64> text{};
    std::string_view view() const { return {text.data(), size}; }
  };
  struct Frame {
    std::uint8_t kept = 0;  ///< which of the kept pictures
    std::uint8_t size = 0;
    std::array<char, 16> text{};  ///< below it
    std::string_view view() const { return {text.data(), size}; }
  };
  FixedVector<Line, 16> lines;
  FixedVector<Frame, kFilmFrames> film;  ///< from left to right
  bool empty() const { return lines.empty() && film.empty(); }
  /// Too much of it is left out.
  void add(Tone tone, std::string_view text);
  void add_frame(std::size_t kept, std::string_view text);
};

}  // namespace ligature::render
