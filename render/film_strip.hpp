#pragma once
/// Pictures in the order of time, captioned, in one PNG.
#include <memory>
#include <string>

#include "render/renderer.hpp"
#include "sim/base/result.hpp"

namespace ligature::render {

class FilmStrip {
 public:
  FilmStrip();
  FilmStrip(FilmStrip&&) noexcept;
  FilmStrip& operator=(FilmStrip&&) noexcept;
  ~FilmStrip();
  /// A copy is kept. All pictures of a strip are of one size.
  void add(const PictureView& picture, const std::string& caption);
  /// Two pictures side by side, of one size.
  void add(const PictureView& left, const PictureView& right, const std::string& caption);
  bool empty() const;
  /// Rows of as many as fit in 1700 px. @pre not empty. Errors: unavailable (the file cannot be written).
  Result<void> write(const std::string& path, const std::string& version_line, const std::string& comment) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ligature::render
