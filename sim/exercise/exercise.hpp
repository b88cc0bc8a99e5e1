#pragma once
/// One stitch, step by step: what is to be done now, what was done, what went wrong, and how long it took.
///
///   pick up -> pierce the first vessel -> pierce the second -> pull through -> throws -> cut
///
/// A state machine over facts (SceneFacts) and, now and then, the knot's name: no clock, files, threads, no allocation
/// after it was made. The same facts give the same answers.
///
/// A knot whose throws slide, but which flat would be the one asked for, is not wrong while both hands draw it up
/// (which end is straight is how it is being pulled), nor for a while after they let go, in which its loops set; the
/// exercise is not passed before it is flat. A cut is judged by the knot that was cut: one that has not been named yet,
/// or is setting, is waited for.
///
/// Steps are passed in their order. A stitch counts while it is there: a needle that is pulled back out makes the step
/// undone, and it is the one to do again. A hole goes from outside into the lumen or out of it by the two surfaces that
/// its channel joins and by which of them the needle met first, which is the one further from its point along the
/// thread.
#include <array>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "sim/base/fixed_vector.hpp"
#include "sim/contract/scene_facts.hpp"
#include "sim/exercise/goal.hpp"

namespace ligature::exercise {

enum class Step : std::uint8_t { pick_up, pierce_first, pierce_second, pull_through, first_throw, last_throw, cut };
inline constexpr std::size_t kSteps = 7;

enum class Fault : std::uint8_t {
  wrong_vessel,  ///< the other vessel was pierced first
  wrong_side,    ///< from the lumen where it should be from outside, or the other way round
  both_walls,    ///< one vessel was pierced twice: its lumen is sewn up
  cut_face,      ///< a hole in the face that the vessel was cut at, not in its wall
  torn,          ///< the thread pulled harder on a hole than the wall bears; ends the exercise
  dropped,       ///< nobody held thread or needle for a while, with no hole to hold it
  pulled_out,    ///< a stitch that had been made is gone
  wrong_knot,    ///< throws that are no beginning of those asked for
  cut_early,     ///< before the knot was tied; ends the exercise
  cut_stitch,    ///< between the holes: what was joined is open; ends the exercise
};
inline constexpr std::size_t kFaults = 10;
/// After it nothing can be put right but by a reset.
constexpr bool ends_exercise(Fault f) {
  return f == Fault::torn || f == Fault::cut_early || f == Fault::cut_stitch;
}

std::string_view name_of(Step step);  ///< "pierce_first": for files
std::string_view text_of(Step step);  ///< "Pierce the first vessel, from outside": for people
std::string_view name_of(Fault fault);
std::string_view text_of(Fault fault);

enum class State : std::uint8_t { waiting, running, paused, passed, failed };
std::string_view name_of(State state);

struct Event {
  enum class Kind : std::uint8_t { step_passed, step_undone, fault, passed, failed };
  Kind kind = Kind::step_passed;
  Step step = Step::pick_up;  ///< passed or undone, or in which a fault was made
  Fault fault = Fault::wrong_vessel;
  double time_s = 0;  ///< of the exercise
};

/// What is shown and reported; copied as a whole.
struct Progress {
  State state = State::waiting;
  Step step = Step::pick_up;  ///< to be done now; when passed the last
  double time_s = 0;          ///< since the start, pauses left out
  struct OfStep {
    bool passed = false;
    double time_s = 0;       ///< spent on it, also when it came round again
    double passed_at_s = 0;  ///< of the exercise, the last time
    std::uint32_t undone = 0;
  };
  std::array<OfStep, kSteps> steps;
  std::array<std::uint32_t, kFaults> faults{};  ///< how often
  std::uint32_t fault_count = 0;
  bool wrong = false;                 ///< something wrong is there now, and is to be undone first
  Fault fault = Fault::wrong_vessel;  ///< the last
  double tail_mm = std::numeric_limits<double>::quiet_NaN();  ///< of thread before the first hole, once there is one
  double ends_mm = std::numeric_limits<double>::quiet_NaN();  ///< of the longer end off the outer holes of a stitch
  double hole_force = 0, hole_force_most = 0;                 ///< of all holes: now, for a window of 50 ms so far [uN]
  double gap_mm = std::numeric_limits<double>::quiet_NaN(), gap_at_end_mm = gap_mm;  ///< between the vessel ends
};

class Exercise {
 public:
  /// Answers in a row that a knot's name is believed after.
  static constexpr int kNamedInARow = 2;
  /// The same, where the first of them may be of a scene before what is asked about.
  static constexpr int kAnswersToTheEnd = kNamedInARow + 1;

  explicit Exercise(Goal goal);

  // ---- the trainee's controls
  void start() noexcept;  ///< from the beginning, or on after a pause
  void pause() noexcept;
  void reset() noexcept;  ///< as new; the scene is somebody else's

  /// One step of the world is over. @param gap_mm between the vessel ends, NaN: unknown
  void look(const SceneFacts& facts, double step_s, double gap_mm) noexcept;
  /// What the thread was found to be tied to, as throws ("1", "1=1", "2x1"), "" nothing; from a scene of after the last
  /// reset. It counts when two answers in a row say it: names of a knot that is being drawn together flicker.
  void tied(std::string_view throws) noexcept;

  const Progress& progress() const noexcept { return p_; }
  const Goal& goal() const noexcept { return goal_; }
  std::string_view knot() const noexcept { return {knot_.data(), knot_size_}; }
  /// What happened since it was asked last, as far as there is room for it.
  bool take_event(Event& event) noexcept;

 private:
  struct Stitch {
    bool whole = false, right = false;
    std::uint32_t thread = 0;
    double entry_s = 0, exit_s = 0;  ///< rest arc
  };
  void judge_holes(const SceneFacts& facts, double step_s) noexcept;
  void judge_hands(const SceneFacts& facts, double step_s) noexcept;
  void judge_knot(const SceneFacts& facts, double step_s) noexcept;
  bool slides() const noexcept { return knot().find('S') != std::string_view::npos; }
  std::string_view flat() const noexcept { return {flat_.data(), flat_size_}; }
  void judge_cut(const SceneFacts& facts, double step_s) noexcept;
  /// Since it was cut nobody can name the knot, which short ends do: for a while it is what it was.
  bool unnamed_in_pieces() const noexcept { return cut_s_ > 0 && knot_size_ == 0 && unnamed_s_ <= goal_.settles_s; }
  void pass_or_undo(const SceneFacts& facts) noexcept;
  bool holds(Step step, const SceneFacts& facts) const noexcept;
  void blame(Fault fault) noexcept;
  void tell(Event::Kind kind, Step step, Fault fault = {}) noexcept;

  Goal goal_;
  Progress p_;
  std::array<Stitch, 2> stitches_;                ///< in the first vessel, in the second
  std::array<bool, kFaults> there_{}, before_{};  ///< that last: are there now, were in the last look
  std::array<char, 32> knot_{}, named_{};         ///< believed; the last answer
  std::array<char, 32> flat_{};                   ///< what is believed, with its sliding throws as flat ones
  std::size_t knot_size_ = 0, named_size_ = 0, flat_size_ = 0;
  bool settles_ = false;  ///< it slides, but may set to what is asked for yet
  double sliding_s_ = 0;  ///< for so long, not counting while both hands draw it up
  int named_in_a_row_ = 0;
  bool at_last_ = true;  ///< where the needle is, or was
  bool picked_up_ = false;
  double unheld_s_ = 0;
  double cut_s_ = 0;      ///< for so long the thread has been in pieces, ...
  double unnamed_s_ = 0;  ///< ... and its knot without a name
  int named_since_cut_ = 0;
  struct Pull {
    double least = std::numeric_limits<double>::infinity(), time_s = 0;
    int looks = 0;
    bool lasts(double force, double step_s) noexcept;  ///< one look more
  };
  Pull pull_, tearing_;  ///< of the holes' force since it was judged last; since it is more than the wall bears
  FixedVector<Event, 32> events_;
  std::size_t events_taken_ = 0;
};

/// The knot that sliding throws capsized from, as flat throws ("SxS" a reef "1=1", "S=S" a granny "1x1"; the notation
/// is that of knot/tie.hpp): a throw has the same hand whichever strand is straight.
std::string flat_of(std::string_view throws);
/// How many throws lead to `throws` ("1=1" two); 0 for "".
std::size_t throw_count(std::string_view throws);
/// Throws of a knot by its name in Alexander-Briggs notation, tied in one thread round something: the torus knot of
/// 2 w + 1 crossings is a throw of w wraps, a sum of two of them two throws, = of opposite hand, x of the same. Which
/// came first the name does not tell: the one with more wraps is put first. "" where it is none of these.
std::string throws_of(std::string_view name);

}  // namespace ligature::exercise
