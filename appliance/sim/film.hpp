#pragma once
/// A film strip: pictures of a run as the microscope shows it, in the order of time, in one PNG.
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "config/scenario_file.hpp"
#include "render/params.hpp"
#include "sim/base/result.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

inline constexpr std::size_t kMostFilmPictures = 64;

struct FilmOptions {
  std::filesystem::path file;  ///< .png; empty: no film
  std::size_t pictures = 8;    ///< spread evenly over the run, its start and its end among them; 1 to kMostFilmPictures
  std::vector<double> times_s;               ///< or these, growing
  bool both_eyes = false;                    ///< side by side, else the left eye's
  std::optional<render::RenderParams> view;  ///< microscope, bench and sizes; none: such that what moves stays in it
};

class Film {
 public:
  /// Errors: usage (an option is wrong, or the file cannot be written); unavailable (nothing that draws).
  static Result<Film> open(const FilmOptions& options, const config::Scenario& scenario, const world::World& world);
  Film(Film&&) noexcept;
  Film& operator=(Film&&) noexcept;
  ~Film();

  /// Draws what was taken; another scene from now on. Errors: unavailable, failure.
  Result<void> change(const config::Scenario& scenario, const world::World& world);
  /// At the start and after every step: takes the scene as it is when it is time.
  void look(const world::World& world, double time_s);
  /// Takes the end, if it was wanted and has not come, draws, and writes the file. Errors: unavailable, failure.
  /// @return what was asked for and is not in it; empty: all is
  Result<std::string> finish(const world::World& world, double time_s, const std::string& comment);

 private:
  struct State;
  explicit Film(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::simulate
