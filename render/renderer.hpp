#pragma once
/// The stereo picture: one snapshot in, both eyes out. The one public door of the room, with picture_file.hpp.
///
/// Thread safety: create() on an ordinary thread (Mesa's workers inherit its scheduling policy); after that one thread
/// at a time calls render(). picture() stays valid and unchanged until the next render.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "render/optics.hpp"
#include "render/params.hpp"
#include "render/sheet.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::render {

/// Keys that the trainee has for the exercise, or a pedal that types them. Bits.
enum Key : unsigned {
  key_pause = 1u << 0,  ///< space: halt, and go on
  key_cut = 1u << 1,    ///< c
  key_reset = 1u << 2,  ///< r
  key_next = 1u << 3,   ///< n: the next exercise
};

/// What is said over a picture, and whether it is kept.
struct Words {
  std::string_view message{};    ///< one line above the picture, "" = none; at most 96 characters are shown
  const Sheet* sheet = nullptr;  ///< over all of it; null or empty: none
  int keep = -1;  ///< keep this picture, small, as frame 0 to kFilmFrames - 1; then without words; below 0: do not
};

enum class Outcome {
  presented,  ///< the picture is out (a minimised window counts)
  lost,       ///< the device or the display is gone: destroy this renderer and create another
};

/// Both eyes side by side, left eye left: BGRA, 8 bit sRGB, rows from the top. Empty where nothing is read back.
struct PictureView {
  const std::uint8_t* bgra = nullptr;
  int width_px = 0, height_px = 0;
  std::size_t stride_bytes = 0;
  explicit operator bool() const { return bgra != nullptr; }
};

/// CLOCK_MONOTONIC, of the last render().
struct FrameTiming {
  std::int64_t begin_ns = 0;     ///< render() entered
  std::int64_t submit_ns = 0;    ///< geometry written, commands recorded
  std::int64_t complete_ns = 0;  ///< pixels in host memory, or handed to the display
};

struct RendererInfo {
  std::string device, driver, presenter;
  bool software = false;     ///< drawn by the CPU
  bool multiview = false;    ///< both eyes in one pass
  int samples = 1;           ///< granted
  std::string line() const;  ///< all of it, for logs and reports
};

class Renderer {
 public:
  /// Draws one warm-up frame, so that the driver has compiled everything. Presenter "none" needs no device at all.
  /// @param version_line kept for the pictures' metadata, see version_line()
  /// Errors: usage (a parameter out of range), unavailable (no device, no display), with the remedy.
  static Result<std::unique_ptr<Renderer>> create(const RenderParams& params, std::string version_line);
  ~Renderer();

  /// Both eyes of this snapshot; returns when the picture is complete.
  /// @rt no allocation and no lock of our own; bounded; the driver's calls are exempt
  Outcome render(const SceneSnapshot& scene, const Words& words = {}) noexcept;
  /// Which eye is which, alignment, convergence and brightness, through the same presenter.
  Outcome render_test_picture() noexcept;

  PictureView picture() const;
  /// A picture that was kept (Words::keep), a quarter as wide and high; empty where none was.
  PictureView kept(std::size_t frame, Eye eye) const;
  const FrameTiming& timing() const;
  const RendererInfo& info() const;
  const std::string& version_line() const;
  const Optics& optics() const;
  /// Zoom, eye separation and the like, from the next frame on; same thread as render(). Errors: usage.
  Result<void> set_microscope(const MicroscopeParams& microscope);
  /// The trainee closed the window.
  bool close_requested() const;
  /// Bits of Key pressed in the window since the last call; same thread as render().
  unsigned take_keys();

  /// Messages of the validation and synchronisation layers so far; 0 without `validation`.
  std::uint64_t validation_messages() const;
  std::string first_validation_message() const;
  /// For tests and drills: from now on every render() answers lost, as after VK_ERROR_DEVICE_LOST.
  void inject_lost();

 private:
  struct State;
  explicit Renderer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// Empty when the parameters can be drawn, else the usage error with key, value and range.
Result<void> check(const RenderParams& params);

}  // namespace ligature::render
