#include "render/overlay.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace ligature::render {
namespace {

struct Glyph {
  char character;
  std::array<const char*, 7> rows;
};

// Drawn for this product: capitals, digits and what the messages need.
constexpr Glyph kFont[] = {
    {'A', {" ### ", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"}},
    {'B', {"#### ", "#   #", "#   #", "#### ", "#   #", "#   #", "#### "}},
    {'C', {" ### ", "#   #", "#    ", "#    ", "#    ", "#   #", " ### "}},
    {'D', {"#### ", "#   #", "#   #", "#   #", "#   #", "#   #", "#### "}},
    {'E', {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#####"}},
    {'F', {"#####", "#    ", "#    ", "#### ", "#    ", "#    ", "#    "}},
    {'G', {" ### ", "#   #", "#    ", "# ###", "#   #", "#   #", " ####"}},
    {'H', {"#   #", "#   #", "#   #", "#####", "#   #", "#   #", "#   #"}},
    {'I', {" ### ", "  #  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "}},
    {'J', {"  ###", "   # ", "   # ", "   # ", "   # ", "#  # ", " ##  "}},
    {'K', {"#   #", "#  # ", "# #  ", "##   ", "# #  ", "#  # ", "#   #"}},
    {'L', {"#    ", "#    ", "#    ", "#    ", "#    ", "#    ", "#####"}},
    {'M', {"#   #", "## ##", "# # #", "# # #", "#   #", "#   #", "#   #"}},
    {'N', {"#   #", "#   #", "##  #", "# # #", "#  ##", "#   #", "#   #"}},
    {'O', {" ### ", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "}},
    {'P', {"#### ", "#   #", "#   #", "#### ", "#    ", "#    ", "#    "}},
    {'Q', {" ### ", "#   #", "#   #", "#   #", "# # #", "#  # ", " ## #"}},
    {'R', {"#### ", "#   #", "#   #", "#### ", "# #  ", "#  # ", "#   #"}},
    {'S', {" ####", "#    ", "#    ", " ### ", "    #", "    #", "#### "}},
    {'T', {"#####", "  #  ", "  #  ", "  #  ", "  #  ", "  #  ", "  #  "}},
    {'U', {"#   #", "#   #", "#   #", "#   #", "#   #", "#   #", " ### "}},
    {'V', {"#   #", "#   #", "#   #", "#   #", "#   #", " # # ", "  #  "}},
    {'W', {"#   #", "#   #", "#   #", "# # #", "# # #", "# # #", " # # "}},
    {'X', {"#   #", "#   #", " # # ", "  #  ", " # # ", "#   #", "#   #"}},
    {'Y', {"#   #", "#   #", "#   #", " # # ", "  #  ", "  #  ", "  #  "}},
    {'Z', {"#####", "    #", "   # ", "  #  ", " #   ", "#    ", "#####"}},
    {'0', {" ### ", "#   #", "#  ##", "# # #", "##  #", "#   #", " ### "}},
    {'1', {"  #  ", " ##  ", "  #  ", "  #  ", "  #  ", "  #  ", " ### "}},
    {'2', {" ### ", "#   #", "    #", "   # ", "  #  ", " #   ", "#####"}},
    {'3', {"#####", "   # ", "  #  ", "   # ", "    #", "#   #", " ### "}},
    {'4', {"   # ", "  ## ", " # # ", "#  # ", "#####", "   # ", "   # "}},
    {'5', {"#####", "#    ", "#### ", "    #", "    #", "#   #", " ### "}},
    {'6', {"  ## ", " #   ", "#    ", "#### ", "#   #", "#   #", " ### "}},
    {'7', {"#####", "    #", "   # ", "  #  ", " #   ", " #   ", " #   "}},
    {'8', {" ### ", "#   #", "#   #", " ### ", "#   #", "#   #", " ### "}},
    {'9', {" ### ", "#   #", "#   #", " ####", "    #", "   # ", " ##  "}},
    {'.', {"     ", "     ", "     ", "     ", "     ", " ##  ", " ##  "}},
    {',', {"     ", "     ", "     ", "     ", " ##  ", "  #  ", " #   "}},
    {':', {"     ", " ##  ", " ##  ", "     ", " ##  ", " ##  ", "     "}},
    {'-', {"     ", "     ", "     ", "#####", "     ", "     ", "     "}},
    {'+', {"     ", "  #  ", "  #  ", "#####", "  #  ", "  #  ", "     "}},
    {'/', {"     ", "    #", "   # ", "  #  ", " #   ", "#    ", "     "}},
    {'%', {"##   ", "##  #", "   # ", "  #  ", " #   ", "#  ##", "   ##"}},
    {'=', {"     ", "     ", "#####", "     ", "#####", "     ", "     "}},
    {'(', {"   # ", "  #  ", " #   ", " #   ", " #   ", "  #  ", "   # "}},
    {')', {" #   ", "  #  ", "   # ", "   # ", "   # ", "  #  ", " #   "}},
    {'#', {" # # ", " # # ", "#####", " # # ", "#####", " # # ", " # # "}},
    {'!', {"  #  ", "  #  ", "  #  ", "  #  ", "  #  ", "     ", "  #  "}},
    {'_', {"     ", "     ", "     ", "     ", "     ", "     ", "#####"}},
};
constexpr std::array<const char*, 7> kUnknown = {"#####", "#   #", "#   #", "#   #", "#   #", "#   #", "#####"};

constexpr std::uint64_t pack(const std::array<const char*, 7>& rows) {
  std::uint64_t bits = 0;
  for (std::size_t y = 0; y < 7; ++y)
    for (std::size_t x = 0; x < 5; ++x)
      if (rows[y][x] == '#') bits |= std::uint64_t{1} << (5 * y + x);
  return bits;
}
constexpr std::array<std::uint64_t, 128> packed_font() {
  std::array<std::uint64_t, 128> bits{};
  for (std::uint64_t& glyph : bits) glyph = pack(kUnknown);
  bits[' '] = 0;
  for (const Glyph& g : kFont) {
    bits[static_cast<std::size_t>(g.character)] = pack(g.rows);
    if (g.character >= 'A' && g.character <= 'Z') bits[static_cast<std::size_t>(g.character + 32)] = pack(g.rows);
  }
  return bits;
}
constexpr std::array<std::uint64_t, 128> kGlyphs = packed_font();

}  // namespace

void Overlay::add(Shape shape, float x, float y, float width, float height, Colour colour, std::uint32_t eyes) {
  if (size_ == capacity_) return;
  out_[size_++] = {x, y, width, height, colour, static_cast<std::uint32_t>(shape), eyes, 0, 0};
}

float Overlay::text(std::string_view text, float x, float y, float cell_px, Colour colour, std::uint32_t eyes) {
  const float start = x;
  for (const char c : text) {
    const auto code = static_cast<unsigned char>(c);
    const std::uint64_t bits = code < 128 ? kGlyphs[code] : kGlyphs[1];
    if (bits != 0 && size_ < capacity_)
      out_[size_++] = {x,
                       y,
                       5 * cell_px,
                       7 * cell_px,
                       colour,
                       static_cast<std::uint32_t>(Shape::glyph),
                       eyes,
                       static_cast<std::uint32_t>(bits),
                       static_cast<std::uint32_t>(bits >> 32)};
    x += 6 * cell_px;
  }
  return x - start;
}

void Overlay::frame(std::uint32_t kept, float x, float y, float width, float height) {
  if (size_ == capacity_) return;
  out_[size_++] = {x, y, width, height, {}, static_cast<std::uint32_t>(Shape::film), both_eyes, kept, 0};
}

void draw_status(Overlay& overlay, const SceneSnapshot& scene, std::string_view message, int width_px, int height_px) {
  const auto width = static_cast<float>(width_px), height = static_cast<float>(height_px);
  const float cell = std::max(1.0F, std::floor(height / 300));
  const float line = 7 * cell, margin = 8 * cell, y = height - margin - line;
  const Colour alive{0.35F, 0.85F, 0.45F, 0.85F}, dead{0.95F, 0.25F, 0.2F, 0.95F}, dim{0.85F, 0.9F, 0.9F, 0.6F},
      warn{1.0F, 0.75F, 0.25F, 0.95F};

  float x = margin;
  x += overlay.text("CAM", x, y, cell, dim) + 2 * cell;
  for (std::size_t i = 0; i < kCameras; ++i, x += 9 * cell) {
    const bool lives = ((scene.cameras_alive >> i) & 1U) != 0, blind = ((scene.cameras_blind >> i) & 1U) != 0;
    overlay.add(Shape::disc, x, y, line, line, !lives ? dead : blind ? warn : alive);
  }

  const auto state = [&](std::size_t i, float at) {
    const SnapshotForceps& f = scene.forceps[i];
    const bool tracked = f.status == TrackStatus::tracked, lost = f.status == TrackStatus::lost;
    at += overlay.text(i == 0 ? "L" : "R", at, y, cell, dim) + cell;
    const Colour colour = lost ? dead : tracked ? alive : warn;
    overlay.text(lost ? "LOST" : tracked ? (f.grasping ? "GRASP" : "OK") : "HIDDEN", at, y, cell, colour);
  };
  state(0, width - margin - 20 * 6 * cell);
  state(1, width - margin - 9 * 6 * cell);

  if (!message.empty()) {
    const auto fits = static_cast<std::size_t>(std::max(0.0F, (width - 4 * margin) / (6 * cell)));
    const std::string_view shown = message.substr(0, std::min<std::size_t>(fits, 96));
    const float w = Overlay::text_width(shown, cell);
    const float left = 0.5F * (width - w);
    overlay.add(Shape::rectangle, left - 4 * cell, margin - 4 * cell, w + 7 * cell, line + 8 * cell, {0, 0, 0, 0.6F});
    overlay.text(shown, left, margin, cell, warn);
  }
}

void draw_sheet(Overlay& overlay, const Sheet& sheet, std::uint32_t kept, int width_px, int height_px) {
  const auto width = static_cast<float>(width_px), height = static_cast<float>(height_px);
  const float cell = std::max(1.0F, std::floor(std::min(height / 240, width / 320)));
  const float row = 11 * cell, margin = 6 * cell;
  const Colour plain{0.85F, 0.9F, 0.9F, 1}, good{0.35F, 0.85F, 0.45F, 1}, bad{1.0F, 0.45F, 0.35F, 1},
      title{1.0F, 0.75F, 0.25F, 1}, blank{0.2F, 0.22F, 0.22F, 1};
  const Colour colours[] = {title, plain, good, bad};
  overlay.add(Shape::rectangle, 0, 0, width, height, {0.02F, 0.03F, 0.03F, 0.9F});

  float y = 2 * margin;
  for (const Sheet::Line& line : sheet.lines) {
    const bool large = line.tone == Sheet::Tone::title;
    const float size = large ? 1.5F * cell : cell;
    const auto fits = static_cast<std::size_t>(std::max(0.0F, (width - 2 * margin) / (6 * size)));
    overlay.text(line.view().substr(0, std::min(fits, line.view().size())), margin, y, size,
                 colours[static_cast<std::size_t>(line.tone)]);
    y += large ? 2 * row : row;
  }
  if (sheet.film.empty()) return;
  const auto count = static_cast<float>(sheet.film.size());
  const float gap = 2 * cell, step = std::min((width - 2 * margin) / count, 0.25F * width);
  const float w = step - gap, h = w * height / width, top = height - margin - h - row;
  float x = 0.5F * (width - step * count + gap), letters = cell;
  for (const Sheet::Frame& frame : sheet.film)
    letters = std::min(letters, w / std::max(1.0F, Overlay::text_width(frame.view(), 1)));
  for (const Sheet::Frame& frame : sheet.film) {
    if ((kept >> frame.kept & 1U) != 0)
      overlay.frame(frame.kept, x, top, w, h);
    else
      overlay.add(Shape::rectangle, x, top, w, h, blank);
    overlay.text(frame.view(), x, top + h + 2 * cell, letters, plain);
    x += step;
  }
}

void draw_test_picture(Overlay& overlay, int width_px, int height_px, float disparity_px) {
  const auto w = static_cast<float>(width_px), h = static_cast<float>(height_px);
  const float px = std::max(1.0F, std::round(h / 480));
  const Colour grey{0.5F, 0.5F, 0.5F, 1}, white{1, 1, 1, 1};

  // Frame, corner marks and crosshair at zero parallax: they must fuse without effort.
  overlay.add(Shape::rectangle, 0, 0, w, px, white);
  overlay.add(Shape::rectangle, 0, h - px, w, px, white);
  overlay.add(Shape::rectangle, 0, 0, px, h, white);
  overlay.add(Shape::rectangle, w - px, 0, px, h, white);
  const float arm = 0.06F * h, inset = 0.04F * h;
  for (const float sx : {0.0F, 1.0F})
    for (const float sy : {0.0F, 1.0F}) {
      const float cx = sx > 0 ? w - inset : inset, cy = sy > 0 ? h - inset : inset;
      overlay.add(Shape::rectangle, sx > 0 ? cx - arm : cx, cy - px, arm, 2 * px, white);
      overlay.add(Shape::rectangle, cx - px, sy > 0 ? cy - arm : cy, 2 * px, arm, white);
    }
  overlay.add(Shape::rectangle, 0.5F * w - 0.5F * px, 0.14F * h, px, 0.72F * h, grey);
  overlay.add(Shape::rectangle, 0.08F * w, 0.5F * h - 0.5F * px, 0.84F * w, px, grey);
  const float d = 0.5F * h;
  overlay.add(Shape::ring, 0.5F * (w - d), 0.5F * (h - d), d, d, grey);

  // The eye's name and colour, seen by that eye alone; both at once read as LEFT above RIGHT.
  const Colour red{1, 0.15F, 0.1F, 1}, cyan{0.1F, 0.9F, 1, 1};
  const float cell = std::max(1.0F, std::floor(h / 56));
  overlay.text("LEFT", 0.5F * (w - Overlay::text_width("LEFT", cell) + cell), 0.31F * h, cell, red, left_only);
  overlay.text("RIGHT", 0.5F * (w - Overlay::text_width("RIGHT", cell) + cell), 0.55F * h, cell, cyan, right_only);
  overlay.add(Shape::disc, 0.12F * w, 0.5F * h - 0.05F * h, 0.1F * h, 0.1F * h, red, left_only);
  overlay.add(Shape::disc, 0.88F * w - 0.1F * h, 0.5F * h - 0.05F * h, 0.1F * h, 0.1F * h, cyan, right_only);

  // Seven bars from behind the screen (leftmost) to before it (rightmost), the middle one in its plane.
  const float small = std::max(1.0F, std::floor(h / 240));
  overlay.text("FAR", 0.14F * w, 0.125F * h, small, white);
  overlay.text("NEAR", 0.86F * w - Overlay::text_width("NEAR", small), 0.125F * h, small, white);
  for (int i = -3; i <= 3; ++i) {
    const float shift = 0.5F * disparity_px * static_cast<float>(i) / 3.0F;
    const float x = 0.5F * w + 0.075F * w * static_cast<float>(i) - 2 * px;
    overlay.add(Shape::rectangle, x + shift, 0.10F * h, 4 * px, 0.12F * h, white, left_only);
    overlay.add(Shape::rectangle, x - shift, 0.10F * h, 4 * px, 0.12F * h, white, right_only);
  }

  // Brightness: eleven steps, even to the eye, each with its percentage's neighbour told apart.
  const float step = 0.7F * w / 11;
  for (int i = 0; i <= 10; ++i) {
    const float v = static_cast<float>(i) / 10;
    overlay.add(Shape::rectangle, 0.15F * w + step * static_cast<float>(i), 0.79F * h, step, 0.06F * h, {v, v, v, 1});
  }
  overlay.add(Shape::ramp, 0.15F * w, 0.85F * h, 0.7F * w, 0.03F * h, white);
}

}  // namespace ligature::render
