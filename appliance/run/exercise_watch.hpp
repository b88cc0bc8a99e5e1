#pragma once
/// The exercise as the service thread shows it: the line above the picture, pictures of the steps, the result, and
/// what every attempt of the session came to.
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "appliance/run/loops.hpp"
#include "sim/base/result.hpp"
#include "sim/exercise/exercise.hpp"

namespace ligature::appliance {

class ExerciseWatch {
 public:
  /// @param another  the trainee may go on to another exercise
  ExerciseWatch(exercise::Goal goal, RenderLoop& render, bool another)
      : goal_(std::move(goal)), render_(render), another_(another) {}

  const exercise::Goal& goal() const { return goal_; }
  /// @param throws what is tied now, "" nothing
  void happened(const exercise::Event& event, std::string_view throws);
  /// Shows the result once the attempt is over, until the next begins.
  void look(const exercise::Progress& progress);
  /// Another exercise comes, or this one anew: an attempt that was not over is one that was left.
  void leave();
  /// The result is there and is shown, or was put aside.
  bool over() const { return over_; }
  /// Puts the result aside, so that the stitch is seen, and shows it again.
  void toggle_result();

  /// Where the trainee stands, for people and as in report.json.
  std::string text(const exercise::Progress& progress) const;
  nlohmann::json report(const exercise::Progress& progress) const;
  /// Attempts that ended or were left (`state` is then "left"), as in report.json, in their order.
  const nlohmann::json& attempts() const { return attempts_; }
  /// The pictures kept of the last attempt, both eyes. @pre the picture is over. Nothing where none was kept.
  /// Errors: unavailable. @return whether there was one
  Result<bool> write_film(const std::filesystem::path& file, const exercise::Progress& progress) const;

 private:
  void reset();
  void show();
  exercise::Goal goal_;
  RenderLoop& render_;
  bool another_ = false;
  exercise::Progress progress_;  ///< as it was seen last, or as it ended
  std::string throws_;           ///< when the last throw was passed, else when it ended
  double seen_s_ = 0;            ///< of the attempt, at the last look
  bool over_ = false, aside_ = false;
  nlohmann::json attempts_ = nlohmann::json::array();
};

}  // namespace ligature::appliance
