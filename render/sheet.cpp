#include "render/sheet.hpp"

#include <algorithm>

namespace ligature::render {
namespace {

template <class Text>
std::uint8_t copy(std::string_view from, Text& to) {
  const std::size_t size = std::min(from.size(), to.size());
  std::copy_n(from.data(), size, to.data());
  return static_cast<std::uint8_t>(size);
}

}  // namespace

void Sheet::add(Tone tone, std::string_view text) {
  Line line;
  line.tone = tone;
  line.size = copy(text, line.text);
  lines.push_back(line);
}

void Sheet::add_frame(std::size_t kept, std::string_view text) {
  Frame frame;
  frame.kept = static_cast<std::uint8_t>(kept);
  frame.size = copy(text, frame.text);
  film.push_back(frame);
}

}  // namespace ligature::render
