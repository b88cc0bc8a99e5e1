#include "appliance/run/exercise_watch.hpp"

#include <fmt/format.h>

#include "appliance/exercise/exercise_text.hpp"
#include "appliance/exercise/result_sheet.hpp"
#include "render/film_strip.hpp"

namespace ligature::appliance {

using exercise::Event;
using exercise::State;

namespace {
constexpr double kLeastLeft_s = 1;  // what is begun anew sooner was no attempt
}

void ExerciseWatch::happened(const Event& event, std::string_view throws) {
  const bool ends = event.kind == Event::Kind::passed || event.kind == Event::Kind::failed;
  if (event.kind == Event::Kind::step_passed) render_.keep_picture(static_cast<std::size_t>(event.step));
  if (ends) render_.keep_picture(kLastFrame);
  // Once it is cut its pieces may be named no more.
  const bool tied = event.kind == Event::Kind::step_passed &&
                    (event.step == exercise::Step::first_throw || event.step == exercise::Step::last_throw);
  if (tied || (ends && throws_.empty())) throws_ = throws;
  if (event.kind == Event::Kind::step_undone && event.step <= exercise::Step::last_throw) throws_ = "";
}

void ExerciseWatch::reset() {
  over_ = aside_ = false;
  throws_ = "";
  show();
}

void ExerciseWatch::leave() {
  if (over_ || progress_.time_s < kLeastLeft_s) return;
  attempts_.push_back(report(progress_));
  attempts_.back()["state"] = "left";
}

void ExerciseWatch::look(const exercise::Progress& progress) {
  if (progress.time_s < seen_s_) leave(), reset();
  seen_s_ = progress.time_s;
  if (over_) return;
  progress_ = progress;
  if (progress.state != State::passed && progress.state != State::failed) return;
  over_ = true;
  attempts_.push_back(report(progress));
  show();
}

void ExerciseWatch::toggle_result() {
  aside_ = !aside_;
  show();
}

void ExerciseWatch::show() {
  render_.set_sheet(over_ && !aside_ ? result_sheet(progress_, tie_text(throws_),
                                                    another_ ? "r: again   n: next   space: the stitch"
                                                             : "r: again   space: the stitch")
                                     : render::Sheet{});
}

std::string ExerciseWatch::text(const exercise::Progress& progress) const {
  std::string out;
  const render::Sheet sheet = result_sheet(progress, tie_text(throws_), "");
  for (const render::Sheet::Line& line : sheet.lines) out += fmt::format("{}\n", line.view());
  return out;
}

nlohmann::json ExerciseWatch::report(const exercise::Progress& progress) const {
  return exercise_report(goal_, progress, throws_);
}

Result<bool> ExerciseWatch::write_film(const std::filesystem::path& file, const exercise::Progress& progress) const {
  const render::Renderer* renderer = render_.renderer();
  if (renderer == nullptr) return false;
  const bool ended = progress.state == State::passed || progress.state == State::failed;
  render::FilmStrip strip;
  for (std::size_t frame = 0; frame <= kLastFrame; ++frame) {
    // Others are of an attempt before.
    if (frame < kLastFrame ? !progress.steps[frame].passed : !ended) continue;
    const render::PictureView left = renderer->kept(frame, render::Eye::left);
    const render::PictureView right = renderer->kept(frame, render::Eye::right);
    if (left && right) strip.add(left, right, frame_caption(progress, frame));
  }
  if (strip.empty()) return false;
  if (auto saved = strip.write(file, renderer->version_line(), goal_.name); !saved) return unexpected(saved.error());
  return true;
}

}  // namespace ligature::appliance
