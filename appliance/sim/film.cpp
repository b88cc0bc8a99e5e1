#include "appliance/sim/film.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "appliance/sim/output_files.hpp"
#include "appliance/version.hpp"
#include "config/scenario_picture.hpp"
#include "render/film_strip.hpp"
#include "render/renderer.hpp"

namespace ligature::simulate {
namespace {

constexpr double kLeaves = 1.1;             // times what it is at the start: it does not stay in the picture
constexpr int kWidth = 560, kHeight = 420;  // of one eye's picture, where no profile says otherwise [px]

struct Bounds {
  Vec3 low{std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity(),
           std::numeric_limits<double>::infinity()};
  Vec3 high{-low.x, -low.y, -low.z};
  void take(Vec3 p) {
    low = {std::min(low.x, p.x), std::min(low.y, p.y), std::min(low.z, p.z)};
    high = {std::max(high.x, p.x), std::max(high.y, p.y), std::max(high.z, p.z)};
  }
  double size() const { return norm(high - low); }
  Vec3 middle() const { return 0.5 * (low + high); }
};

struct Moment {
  std::unique_ptr<SceneSnapshot> scene;
  double time_s = 0;
};

/// Such that the tissue fills the pictures, or, without any, the threads, wherever they are in them; on a bench below.
render::RenderParams framed(const std::vector<TissueSurface>& tissues, const SceneSnapshot& start,
                            const std::vector<Moment>& moments) {
  Bounds bounds;
  for (const TissueSurface& t : tissues)
    for (const SnapshotVertex& v : t.rest) bounds.take({v.x, v.y, v.z});
  if (tissues.empty())
    for (const SnapshotVertex& v : start.vertices) bounds.take({v.x, v.y, v.z});
  Bounds moved = bounds;
  double lowest = bounds.low.z;
  for (const Moment& m : moments) {
    for (const SnapshotVertex& v : m.scene->surface) moved.take({v.x, v.y, v.z});
    for (const SnapshotVertex& v : m.scene->vertices) {
      if (tissues.empty()) moved.take({v.x, v.y, v.z});
      lowest = std::min(lowest, static_cast<double>(v.z));
    }
  }
  lowest = std::min(lowest, moved.low.z);
  if (moved.size() > kLeaves * bounds.size()) bounds = moved;
  render::RenderParams p;
  p.eye_width_px = kWidth;
  p.eye_height_px = kHeight;
  p.microscope.target_p_W = bounds.middle();
  p.microscope.field_of_view_mm = std::clamp(0.8 * bounds.size(), 0.2, 1000.0);
  p.bench_point_W = {0, 0, std::min(bounds.low.z - 0.1 * bounds.size(), lowest - 0.02 * bounds.size())};
  return p;
}

}  // namespace

struct Film::State {
  FilmOptions options;
  double step_s = 0;
  std::vector<double> times_s;
  std::size_t next = 0;
  double shown_s = -1;  // time of the last picture
  std::unique_ptr<render::Renderer> renderer;
  // What is shown: the scene as it began, and moments of it that are not drawn yet, as where they lie tells the frame.
  config::Scenario scenario;
  std::vector<TissueSurface> tissues;
  SceneSnapshot start;
  std::vector<Moment> moments;
  render::FilmStrip strip;

  void take(const world::World& world, double time_s);
  Result<void> begin(const config::Scenario& scene, const world::World& world);
  Result<void> frame();
  Result<void> draw();
};

void Film::State::take(const world::World& world, double time_s) {
  moments.push_back({std::make_unique<SceneSnapshot>(), time_s});
  world.snapshot(*moments.back().scene);
  shown_s = time_s;
}

Result<void> Film::State::begin(const config::Scenario& scene, const world::World& world) {
  scenario = scene;
  tissues = world.tissue_surfaces();
  world.snapshot(start);
  return frame();
}

Result<void> Film::State::frame() {
  render::RenderParams picture = options.view ? *options.view : framed(tissues, start, moments);
  picture.presenter = "offscreen";
  picture.status_overlay = false;
  picture.vessel.present = picture.vessel.present && options.view.has_value();
  config::show_scene(scenario, tissues, picture);
  auto made = render::Renderer::create(picture, appliance::version_line());
  if (!made) {
    Error why = made.error();
    why.message = "--film: " + why.message;
    return unexpected(why);
  }
  renderer = std::move(*made);
  return {};
}

Result<void> Film::State::draw() {
  if (moments.empty()) return {};
  if (!options.view)
    if (auto framed_anew = frame(); !framed_anew) return framed_anew;
  for (const Moment& m : moments) {
    if (renderer->render(*m.scene) == render::Outcome::lost)
      return failure("--film: the picture was lost: run `ligature doctor` for the state of the device");
    const render::PictureView view = renderer->picture();
    const render::PictureView left{view.bgra, view.width_px / 2, view.height_px, view.stride_bytes};
    strip.add(options.both_eyes ? view : left, fmt::format("{:.2f} s", m.time_s));
  }
  moments.clear();
  return {};
}

Film::Film(std::unique_ptr<State> state) : state_(std::move(state)) {}
Film::Film(Film&&) noexcept = default;
Film& Film::operator=(Film&&) noexcept = default;
Film::~Film() = default;

Result<Film> Film::open(const FilmOptions& options, const config::Scenario& scenario, const world::World& world) {
  const auto refuse = [&](const std::string& what, const std::string& why, const std::string& remedy) {
    return usage_error(fmt::format("--film{}: {}: {}", what, why, remedy));
  };
  std::string ending = options.file.extension().string();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  if (ending != ".png") return refuse(" " + options.file.string(), "must end in .png", "name another file");
  if (options.pictures < 1 || options.pictures > kMostFilmPictures || options.times_s.size() > kMostFilmPictures)
    return refuse("-pictures", fmt::format("must be 1 to {}", kMostFilmPictures), "take fewer");
  auto state = std::make_unique<State>();
  state->options = options;
  state->step_s = scenario.params.step_s;
  state->times_s = options.times_s;
  for (std::size_t i = 0; i < state->times_s.size(); ++i)
    if (!(state->times_s[i] >= 0) || !std::isfinite(state->times_s[i]) ||
        (i > 0 && !(state->times_s[i] > state->times_s[i - 1])))
      return refuse("-times", fmt::format("{} is the wrong time", state->times_s[i]), "give growing times from 0 on");
  if (state->times_s.empty())
    for (std::size_t i = 0; i < options.pictures; ++i)
      state->times_s.push_back(options.pictures == 1 ? scenario.duration_s
                                                     : scenario.duration_s * static_cast<double>(i) /
                                                           static_cast<double>(options.pictures - 1));

  std::error_code wrong;
  if (options.file.has_parent_path()) std::filesystem::create_directories(options.file.parent_path(), wrong);
  if (wrong)
    return refuse(" " + options.file.string(), "its folder cannot be made: " + wrong.message(), "name another");
  if (auto writable = StreamedFile::open(options.file); !writable)
    return usage_error("--film " + writable.error().message);

  if (auto begun = state->begin(scenario, world); !begun) return unexpected(begun.error());
  return Film(std::move(state));
}

Result<void> Film::change(const config::Scenario& scenario, const world::World& world) {
  if (auto drawn = state_->draw(); !drawn) return drawn;
  return state_->begin(scenario, world);
}

void Film::look(const world::World& world, double time_s) {
  State& s = *state_;
  const double now = time_s + 0.5 * s.step_s;
  if (s.next >= s.times_s.size() || now < s.times_s[s.next]) return;
  while (s.next < s.times_s.size() && now >= s.times_s[s.next]) ++s.next;
  s.take(world, time_s);
}

Result<std::string> Film::finish(const world::World& world, double time_s, const std::string& comment) {
  State& s = *state_;
  if (s.next < s.times_s.size() && time_s > s.shown_s) s.take(world, time_s);
  if (auto drawn = s.draw(); !drawn) return unexpected(drawn.error());
  if (s.strip.empty()) return failure("--film-times: the run ended before the first picture");
  if (auto saved = s.strip.write(s.options.file, s.renderer->version_line(), comment); !saved)
    return failure(saved.error().message);
  if (s.options.times_s.empty() || s.next >= s.times_s.size()) return std::string();
  return fmt::format("--film-times: the run ended at {:g} s, before {:g} s{}: the last picture is of its end", time_s,
                     s.times_s[s.next],
                     s.next + 1 < s.times_s.size() ? fmt::format(" and {} more", s.times_s.size() - s.next - 1) : "");
}

}  // namespace ligature::simulate
