#include "sim/exercise/exercise.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace ligature::exercise {
namespace {

// A force that is there for some steps only is the solver's, not the hand's: contact problems that have no answer end
// with tens of newtons.
constexpr double kPull_s = 0.05;
constexpr int kPullLooks = 3;
constexpr std::array<std::string_view, kSteps> kStepNames{
    "pick_up", "pierce_first", "pierce_second", "pull_through", "first_throw", "last_throw", "cut"};
constexpr std::array<std::string_view, kSteps> kStepTexts{"Pick up the needle",
                                                          "Pierce the first vessel from outside",
                                                          "Pierce the second vessel from its lumen",
                                                          "Pull the thread through",
                                                          "Tie the first throw",
                                                          "Finish the knot",
                                                          "Cut the ends"};
constexpr std::array<std::string_view, kFaults> kFaultNames{"wrong_vessel", "wrong_side", "both_walls", "cut_face",
                                                            "torn",         "dropped",    "pulled_out", "wrong_knot",
                                                            "cut_early",    "cut_stitch"};
constexpr std::array<std::string_view, kFaults> kFaultTexts{"wrong vessel pierced",
                                                            "pierced from the wrong side",
                                                            "both walls of one vessel pierced",
                                                            "pierced in the cut face",
                                                            "wall torn",
                                                            "thread dropped",
                                                            "stitch pulled out",
                                                            "wrong knot",
                                                            "cut before the knot was tied",
                                                            "cut through the stitch"};
constexpr std::array<std::string_view, 5> kStateNames{"waiting", "running", "paused", "passed", "failed"};

constexpr std::array<std::string_view, 4> kThrowKnots{"3_1", "5_1", "7_1", "9_1"};  // with one wrap, two, ...

template <class E>
constexpr std::size_t index(E e) {
  return static_cast<std::size_t>(e);
}

bool begins(std::string_view whole, std::string_view part) {
  return whole.starts_with(part) &&
         (whole.size() == part.size() || whole[part.size()] == '=' || whole[part.size()] == 'x');
}

/// flat_of() without memory of its own. @returns how many characters, no more than there are in `throws`
std::size_t flatten(std::string_view throws, char* out) {
  std::size_t size = 0;
  bool before = false;  // the throw before slides
  while (!throws.empty()) {
    const std::size_t sign = std::min(throws.find_first_of("=x/"), throws.size());
    std::string_view one = throws.substr(0, sign);
    throws.remove_prefix(sign);
    const bool slides = one.ends_with('S');
    if (slides) one.remove_suffix(1);
    if (size > 0 && before && slides) out[size - 1] = out[size - 1] == '=' ? 'x' : '=';
    if (one.empty() && slides) one = "1";
    size = static_cast<std::size_t>(std::copy(one.begin(), one.end(), out + size) - out);
    before = slides;
    if (throws.empty()) break;
    // Round the same post = is of the same hand; where the post changes, // is of the other.
    const bool other_post = throws.starts_with("//"), same_hand = other_post ? throws.starts_with("//x") : false;
    out[size++] = other_post ? (same_hand ? '=' : 'x') : throws.front();
    throws.remove_prefix(other_post ? (same_hand ? 3 : 2) : 1);
  }
  return size;
}

}  // namespace

std::string_view name_of(Step step) {
  return kStepNames[index(step)];
}
std::string_view text_of(Step step) {
  return kStepTexts[index(step)];
}
std::string_view name_of(Fault fault) {
  return kFaultNames[index(fault)];
}
std::string_view text_of(Fault fault) {
  return kFaultTexts[index(fault)];
}
std::string_view name_of(State state) {
  return kStateNames[index(state)];
}

std::string flat_of(std::string_view throws) {
  std::string out(throws.size(), ' ');
  out.resize(flatten(throws, out.data()));
  return out;
}

std::size_t throw_count(std::string_view throws) {
  if (throws.empty()) return 0;
  return 1 + static_cast<std::size_t>(
                 std::count_if(throws.begin(), throws.end(), [](char c) { return c == '=' || c == 'x'; }));
}

std::string throws_of(std::string_view name) {
  struct Throw {
    int wraps = 0;
    bool mirrored = false;
  };
  std::array<Throw, 2> throws;
  std::size_t count = 0;
  while (!name.empty()) {
    const std::size_t end = std::min(name.find('#'), name.size());
    std::string_view factor = name.substr(0, end);
    name.remove_prefix(std::min(end + 1, name.size()));
    Throw t;
    t.mirrored = factor.starts_with('m');
    if (t.mirrored) factor.remove_prefix(1);
    const auto known = std::find(kThrowKnots.begin(), kThrowKnots.end(), factor);
    if (known == kThrowKnots.end() || count == throws.size()) return "";
    t.wraps = static_cast<int>(known - kThrowKnots.begin()) + 1;
    throws[count++] = t;
  }
  if (count == 0) return "";
  if (throws[0].wraps < throws[1].wraps) std::swap(throws[0], throws[1]);
  std::string out = std::to_string(throws[0].wraps);
  if (count == 2) out += (throws[0].mirrored == throws[1].mirrored ? "x" : "=") + std::to_string(throws[1].wraps);
  return out;
}

Exercise::Exercise(Goal goal) : goal_(std::move(goal)) {
  reset();
}

void Exercise::start() noexcept {
  if (p_.state == State::waiting || p_.state == State::paused) p_.state = State::running;
}

void Exercise::pause() noexcept {
  if (p_.state == State::running) p_.state = State::paused;
}

void Exercise::reset() noexcept {
  p_ = {};
  stitches_ = {};
  there_ = before_ = {};
  knot_size_ = named_size_ = flat_size_ = 0;
  settles_ = false;
  sliding_s_ = 0;
  named_in_a_row_ = kNamedInARow;  // no knot
  at_last_ = true;
  picked_up_ = false;
  unheld_s_ = 0;
  pull_ = tearing_ = {};
  cut_s_ = unnamed_s_ = 0;
  named_since_cut_ = 0;
  if (goal_.at_once) start();
}

void Exercise::tied(std::string_view throws) noexcept {
  if (p_.state == State::failed) return;
  throws = throws.substr(0, named_.size());
  if (throws != std::string_view(named_.data(), named_size_)) {
    named_size_ = throws.size();
    std::copy_n(throws.data(), named_size_, named_.data());
    named_in_a_row_ = 0;
  }
  if (cut_s_ > 0) ++named_since_cut_;
  if (++named_in_a_row_ < kNamedInARow) return;
  named_in_a_row_ = kNamedInARow;
  knot_ = named_;
  knot_size_ = named_size_;
  flat_size_ = flatten(knot(), flat_.data());
}

bool Exercise::take_event(Event& event) noexcept {
  if (events_taken_ == events_.size()) {
    events_.clear();
    events_taken_ = 0;
    return false;
  }
  event = events_[events_taken_++];
  return true;
}

void Exercise::tell(Event::Kind kind, Step step, Fault fault) noexcept {
  events_.push_back({kind, step, fault, p_.time_s});
}

void Exercise::blame(Fault fault) noexcept {
  ++p_.faults[index(fault)];
  ++p_.fault_count;
  p_.fault = fault;
  tell(Event::Kind::fault, p_.step, fault);
  if (!ends_exercise(fault)) return;
  p_.state = State::failed;
  tell(Event::Kind::failed, p_.step, fault);
}

// Which channels there are, where they lead, and what is wrong with them. What is wrong counts once for as long as it
// is there.
void Exercise::judge_holes(const SceneFacts& facts, double step_s) noexcept {
  there_ = {};
  stitches_ = {};
  std::array<int, 2> ways{};
  p_.hole_force = 0;
  for (const FactThread& t : facts.threads)
    if (t.origin == goal_.thread && t.needle) at_last_ = t.needle_at_last;
  for (std::size_t i = 0; i < facts.holes.size(); ++i) {
    const FactHole& hole = facts.holes[i];
    if (hole.thread >= facts.threads.size() || facts.threads[hole.thread].origin != goal_.thread) continue;
    p_.hole_force = std::max(p_.hole_force, hole.force);
    if (hole.wall == WallPart::cut) there_[index(Fault::cut_face)] = true;
    if (hole.tissue != goal_.first && hole.tissue != goal_.second) continue;
    const std::size_t vessel = hole.tissue == goal_.first ? 0 : 1;
    const FactHole* mate = nullptr;
    bool seen = false;  // with its mate, before
    for (std::size_t k = 0; k < facts.holes.size(); ++k)
      if (k != i && facts.holes[k].stitch == hole.stitch) mate = &facts.holes[k], seen = k < i;
    if (seen) continue;
    ++ways[vessel];
    // The needle's side of a channel is the one that it left by.
    const bool mate_first = mate != nullptr && (at_last_ ? mate->s_mm < hole.s_mm : mate->s_mm > hole.s_mm);
    const FactHole& entry = mate_first ? *mate : hole;
    const FactHole* exit = mate == nullptr ? nullptr : mate_first ? &hole : mate;
    const WallPart in = vessel == 0 ? WallPart::outside : WallPart::inside;
    const WallPart out = vessel == 0 ? WallPart::inside : WallPart::outside;
    const bool in_right = entry.wall == in, out_right = exit == nullptr || exit->wall == out;
    if (entry.wall != WallPart::cut && (exit == nullptr || exit->wall != WallPart::cut) && !(in_right && out_right))
      there_[index(Fault::wrong_side)] = true;
    Stitch& stitch = stitches_[vessel];
    if (exit == nullptr || stitch.right) continue;
    stitch = {true, in_right && out_right, entry.thread, entry.s_mm, exit->s_mm};
  }
  if (ways[0] > 1 || ways[1] > 1) {
    there_[index(Fault::both_walls)] = true;
    there_[index(Fault::wrong_side)] = false;  // is what the second of them is seen as
  }
  if (ways[1] > 0 && !stitches_[0].right && p_.step <= Step::pierce_first) there_[index(Fault::wrong_vessel)] = true;
  if (ways[0] + ways[1] == 0) p_.tail_mm = std::numeric_limits<double>::quiet_NaN();
  if (stitches_[0].whole) {
    const Stitch& s = stitches_[0];
    p_.tail_mm = at_last_ ? s.entry_s : facts.threads[s.thread].rest_length_mm - s.entry_s;
  }
  p_.ends_mm = std::numeric_limits<double>::quiet_NaN();
  if (const auto& [a, b] = stitches_; a.whole && b.whole && a.thread == b.thread) {
    const auto [low, high] = std::minmax({a.entry_s, a.exit_s, b.entry_s, b.exit_s});
    p_.ends_mm = std::max(low, facts.threads[a.thread].rest_length_mm - high);
  }
  if (pull_.lasts(p_.hole_force, step_s))
    p_.hole_force_most = std::max(p_.hole_force_most, std::exchange(pull_, {}).least);
  if (p_.hole_force <= goal_.tear_force) {
    tearing_ = {};
  } else if (tearing_.lasts(p_.hole_force, step_s)) {
    p_.hole_force_most = std::max(p_.hole_force_most, tearing_.least);
    blame(Fault::torn);
  }
}

bool Exercise::Pull::lasts(double force, double step_s) noexcept {
  least = std::min(least, force);
  time_s += step_s;
  return ++looks >= kPullLooks && time_s >= kPull_s - 1e-9;
}

void Exercise::judge_hands(const SceneFacts& facts, double step_s) noexcept {
  bool held = false;
  for (const FactJaws& j : facts.jaws) {
    held = held || j.has_thread(goal_.thread) || j.has_needle(goal_.thread);
    picked_up_ = picked_up_ || j.has_needle(goal_.thread);
  }
  const bool stuck = std::any_of(facts.holes.begin(), facts.holes.end(), [&](const FactHole& h) {
    return h.thread < facts.threads.size() && facts.threads[h.thread].origin == goal_.thread;
  });
  const double before = unheld_s_;
  unheld_s_ = held || stuck || !picked_up_ ? 0 : unheld_s_ + step_s;
  if (before <= goal_.dropped_after_s && unheld_s_ > goal_.dropped_after_s) blame(Fault::dropped);
}

// A single throw that slides is what the second one makes a knot of.
void Exercise::judge_knot(const SceneFacts& facts, double step_s) noexcept {
  const bool by_both = std::all_of(facts.jaws.begin(), facts.jaws.end(), [&](const FactJaws& j) {
    return j.has_thread(goal_.thread) || j.has_needle(goal_.thread);
  });
  const bool otherwise_right = slides() && begins(goal_.throws, flat());
  if (!otherwise_right)
    sliding_s_ = 0;
  else if (!by_both && throw_count(flat()) > 1)
    sliding_s_ += step_s;
  settles_ = otherwise_right && sliding_s_ <= goal_.settles_s;
  there_[index(Fault::wrong_knot)] =
      knot_size_ > 0 && !begins(goal_.throws, knot()) && !settles_ && !(by_both && slides());
}

// Of a cut while the knot is to be finished nothing is said before its name is that of a scene after the cut, and not
// while its throws may set.
void Exercise::judge_cut(const SceneFacts& facts, double step_s) noexcept {
  std::size_t pieces = 0;
  for (const FactThread& t : facts.threads) pieces += t.origin == goal_.thread ? 1 : 0;
  if (pieces < 2) return;
  cut_s_ += step_s;
  unnamed_s_ = knot_size_ == 0 ? unnamed_s_ + step_s : 0;
  const bool joined = stitches_[0].whole && stitches_[1].whole && stitches_[0].thread == stitches_[1].thread;
  const bool wrong = knot() != goal_.throws && named_since_cut_ >= kAnswersToTheEnd && !settles_;
  if (p_.step == Step::last_throw && joined && !wrong && cut_s_ <= goal_.settles_s) return;
  if (p_.step < Step::cut)
    blame(Fault::cut_early);
  else if (!joined)
    blame(Fault::cut_stitch);
}

bool Exercise::holds(Step step, const SceneFacts& facts) const noexcept {
  const bool stitched = stitches_[0].right && stitches_[1].right;
  const bool passed = p_.steps[index(step)].passed;
  switch (step) {
    case Step::pick_up:
      return picked_up_;
    case Step::pierce_first:
      return stitches_[0].right;
    case Step::pierce_second:
      return stitches_[1].right;
    case Step::pull_through:
      return stitched && (passed || p_.tail_mm <= goal_.tail_mm);
    case Step::first_throw: {
      // Drawn by one end alone throws are half hitches round it.
      const std::string_view first = std::string_view(goal_.throws).substr(0, goal_.throws.find_first_of("=x"));
      return begins(knot(), first) || (slides() && begins(flat(), first)) || (passed && unnamed_in_pieces());
    }
    case Step::last_throw:
      return knot() == goal_.throws || (passed && settles_ && flat() == goal_.throws) ||
             (passed && unnamed_in_pieces());
    case Step::cut:
      if (knot() != goal_.throws) return false;
      break;
  }
  return stitched && p_.ends_mm <= goal_.ends_mm && !facts.threads[stitches_[0].thread].needle;
}

void Exercise::pass_or_undo(const SceneFacts& facts) noexcept {
  for (std::size_t k = 0; k < kSteps; ++k) {
    const Step step = static_cast<Step>(k);
    Progress::OfStep& s = p_.steps[k];
    const bool is = holds(step, facts);
    if (s.passed && !is) {
      // All that came after it has to be done again.
      if (step == Step::pierce_first || step == Step::pierce_second) blame(Fault::pulled_out);
      for (std::size_t later = k; later < kSteps; ++later) {
        if (!p_.steps[later].passed) continue;
        p_.steps[later].passed = false;
        ++p_.steps[later].undone;
        tell(Event::Kind::step_undone, static_cast<Step>(later));
      }
    }
    p_.step = step;
    if (!is) return;
    if (s.passed) continue;
    if (p_.wrong) return;
    s.passed = true;
    s.passed_at_s = p_.time_s;
    tell(Event::Kind::step_passed, step);
  }
  p_.state = State::passed;
  tell(Event::Kind::passed, Step::cut);
}

void Exercise::look(const SceneFacts& facts, double step_s, double gap_mm) noexcept {
  if (p_.state != State::failed) p_.gap_mm = gap_mm;
  if (p_.state != State::running) return;
  p_.time_s += step_s;
  p_.steps[index(p_.step)].time_s += step_s;
  judge_holes(facts, step_s);
  if (p_.state != State::running) return;
  judge_hands(facts, step_s);
  judge_cut(facts, step_s);
  if (p_.state != State::running) return;
  judge_knot(facts, step_s);
  for (std::size_t f = 0; f < kFaults; ++f)
    if (there_[f] && !before_[f]) blame(static_cast<Fault>(f));
  before_ = there_;
  p_.wrong = std::any_of(there_.begin(), there_.end(), [](bool f) { return f; });
  pass_or_undo(facts);
  if (p_.state == State::passed) p_.gap_at_end_mm = gap_mm;
}

}  // namespace ligature::exercise
