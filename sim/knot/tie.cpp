#include "sim/knot/tie.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "sim/knot/posts.hpp"
#include "sim/knot/straightness.hpp"
#include "sim/knot/summands.hpp"
#include "sim/knot/winding.hpp"

namespace ligature::knot {

namespace {

constexpr std::size_t kMostRead = 60;           // crossings of a closed curve in which throws are looked for
constexpr std::size_t kEnoughCrossings = 4000;  // left in all closures after which no more are tried
constexpr std::size_t kDecided = 4;             // directions that all say the same sum, none of them another one
constexpr double kEnough = 0.07;                // share of directions from which on a sum of throws is believed, ...
constexpr double kEnoughCut = 0.75;             // ... where that takes cutting tails shorter: what hid it is gone then

struct At {
  Pass pass;
  double place;
};

/// The passes of each summand, in the order of the walk.
std::vector<std::vector<At>> factors(const Projection& p) {
  const std::vector<Pass>& walk = p.diagram.components[0];
  const std::vector<std::size_t> number = summands(walk);
  std::vector<std::vector<At>> out;
  for (std::size_t i = 0; i < walk.size(); ++i) {
    if (number[i] >= out.size()) out.resize(number[i] + 1);
    out[number[i]].push_back({walk[i], p.place[0][i]});
  }
  return out;
}

/// Crossings of T(2, k) drawn as a closed two-strand braid, with its sign; 0 for anything else.
int torus_two(const std::vector<At>& factor, const std::vector<std::int8_t>& sign) {
  const std::size_t n = factor.size(), k = n / 2;
  if (k < 3 || k % 2 == 0) return 0;
  const int s = sign[factor[0].pass.crossing];
  for (std::size_t i = 0; i < n; ++i) {
    if (sign[factor[i].pass.crossing] != s) return 0;
    if (factor[i].pass.over == factor[(i + 1) % n].pass.over) return 0;
    if (factor[i].pass.crossing != factor[(i + k) % n].pass.crossing) return 0;
  }
  return s * static_cast<int>(k);
}

/// Both strands from loaded end to tail, shortened, with the place of every point left: 0 loaded end to 1 tail.
struct Strands {
  Curve curve[2];
  std::vector<double> place[2];
  const Curve* whole[2] = {nullptr, nullptr};  ///< before it was shortened
  std::vector<double> length[2];               ///< up to every point before it was shortened
  bool joined_at_load = false;                 ///< one thread: the loaded ends are neighbours

  /// Of the strand as it is, counted in points: the one nearest to a place along what is left of it.
  double point(std::size_t which, double along) const {
    const std::vector<double>& kept = place[which];
    along = std::clamp(along, 0.0, static_cast<double>(kept.size() - 1));
    const auto i = std::min(static_cast<std::size_t>(along), kept.size() - 2);
    const double last = static_cast<double>(whole[which]->size() - 1);
    return nearest_place(*whole[which], kept[i] * last, kept[i + 1] * last, point_at(curve[which], along));
  }
  /// Along one thread, from half way: back on strand 0, on on strand 1.
  double length_to(std::size_t which, double at) const {
    const auto i = std::min(static_cast<std::size_t>(at), length[which].size() - 2);
    const double before = length[which][i], part = at - static_cast<double>(i);
    const double along = before + part * (length[which][i + 1] - before);
    return which == 0 ? -along : along;
  }
};

/// Along which ends are drawn out: tails one way and loaded ends the other, or (crosswise) the first one's tail and the
/// second one's loaded end one way. Far ends are joined there.
Vec3 drawn_out(Vec3 end, Vec3 direction, bool forwards) {
  return end + (forwards ? kFar : -kFar) * direction;
}

Strands shortened(const Curve& a, const Curve& b, bool joined_at_load, std::size_t directions) {
  std::vector<Ray> rays;
  for (std::size_t k = 0; k < directions; ++k)
    for (const Curve* c : {&a, &b})
      for (const bool forwards : {true, false}) {
        rays.push_back({c->back(), drawn_out(c->back(), direction(k), forwards)});
        if (!joined_at_load) rays.push_back({c->front(), drawn_out(c->front(), direction(k), forwards)});
      }
  if (joined_at_load) rays.push_back({a.front(), b.front()});
  Shortened left = shorten_open({a, b}, rays);
  Strands out;
  out.joined_at_load = joined_at_load;
  for (std::size_t i = 0; i < 2; ++i) {
    const Curve& whole = i == 0 ? a : b;
    out.whole[i] = &whole;
    out.length[i].push_back(0);
    for (std::size_t k = 1; k < whole.size(); ++k)
      out.length[i].push_back(out.length[i].back() + norm(whole[k] - whole[k - 1]));
    for (const std::size_t n : left.kept[i])
      out.place[i].push_back(static_cast<double>(n) / static_cast<double>(whole.size() - 1));
    out.curve[i] = std::move(left.curves[i]);
  }
  return out;
}

/// The first strand to its tail, then the second one: from its tail, or (crosswise) from its loaded end.
Curve joined(const Strands& s, Vec3 direction, bool crosswise) {
  Curve out = s.curve[0];
  Curve other = s.curve[1];
  if (!crosswise) std::reverse(other.begin(), other.end());
  out.push_back(drawn_out(s.curve[0].back(), direction, true));
  out.push_back(drawn_out(other.front(), direction, true));
  out.insert(out.end(), other.begin(), other.end());
  if (s.joined_at_load) return out;
  out.push_back(drawn_out(other.back(), direction, false));
  out.push_back(drawn_out(s.curve[0].front(), direction, false));
  return out;
}

struct Reading {
  std::vector<Throw> throws;
  int alone = 0;
  std::string word;  // what is counted as the same answer
};

/// Place on a strand of a place along its shortened curve.
double on_strand(const std::vector<double>& place, double at) {
  at = std::clamp(at, 0.0, static_cast<double>(place.size() - 1));
  const auto i = std::min(static_cast<std::size_t>(at), place.size() - 2);
  const double part = at - static_cast<double>(i);
  return place[i] + part * (place[i + 1] - place[i]);
}

/// One summand with where its passes are: on which strand, and how far from the loaded end.
struct Placed {
  struct Where {
    std::size_t which;  ///< strand 0 or 1
    double place;       ///< 0 loaded end to 1 tail
    double point;       ///< of the strand as it is before it is divided anew, counted in points
    bool beyond;        ///< where an end is drawn out to
  };
  int half_turns = 0;  ///< of T(2, k), signed; 0 for another knot
  std::vector<Where> passes;
};

std::vector<Placed> placed_factors(const Projection& p, const Strands& strands, bool crosswise) {
  std::vector<Placed> out;
  const double a_last = static_cast<double>(strands.curve[0].size() - 1);
  const double b_first = a_last + 3, b_last = b_first + static_cast<double>(strands.curve[1].size() - 1);
  for (const std::vector<At>& factor : factors(p)) {
    Placed& f = out.emplace_back();
    f.half_turns = torus_two(factor, p.diagram.sign);
    for (const At& at : factor) {
      // Beyond the ends counts as at the ends: half the way from tail to tail for each, and the same at the loads.
      const std::size_t which = at.place > a_last + 1.5 && at.place < b_last + 1.5 ? 1 : 0;
      const double along = which == 0  ? (at.place > b_last ? 0.0 : at.place)
                           : crosswise ? at.place - b_first
                                       : b_last - at.place;
      const bool beyond = (at.place > a_last && at.place < b_first) || at.place > b_last;
      f.passes.push_back({which, on_strand(strands.place[which], along), strands.point(which, along), beyond});
    }
  }
  return out;
}

/// One thread's standing part need not lie half way: where most summands have passes on both sides of it, the longest
/// stretch without any divides the thread into two strands.
void divide_anew(std::vector<Placed>& factors, const Strands& strands) {
  std::vector<std::pair<double, double>> at;  // along the whole thread: -1 to 1, and by length from half way
  for (const Placed& f : factors)
    for (const auto& [which, place, point, beyond] : f.passes)
      at.emplace_back(which == 0 ? -place : place, strands.length_to(which, point));
  std::sort(at.begin(), at.end());
  double best = 0, longest = 0;
  int most = -1;
  for (std::size_t i = 0; i + 1 < at.size(); ++i) {
    if (at[i].first == at[i + 1].first) continue;
    const double middle = (at[i].first + at[i + 1].first) / 2, gap = at[i + 1].second - at[i].second;
    int both = 0;
    for (const Placed& f : factors) {
      bool side[2] = {false, false};
      for (const auto& [which, place, point, beyond] : f.passes)
        side[(which == 0 ? -place : place) > middle ? 1 : 0] = true;
      both += side[0] && side[1] ? 1 : 0;
    }
    if (both > most || (both == most && gap > longest)) best = middle, most = both, longest = gap;
  }
  for (Placed& f : factors)
    for (auto& [which, place, point, beyond] : f.passes) {
      const double u = which == 0 ? -place : place;
      which = u > best ? 1 : 0;
      place = u > best ? (u - best) / (1 - best) : (best - u) / (1 + best);
    }
}

/// Nothing where the closed curve is no sum of throws.
std::optional<Reading> read(const Projection& p, const Strands& strands, bool crosswise) {
  std::vector<Placed> placed = placed_factors(p, strands, crosswise);
  if (strands.joined_at_load) divide_anew(placed, strands);
  Reading out;
  for (const Placed& f : placed) {
    double sum[2] = {0, 0};
    std::size_t count[2] = {0, 0};
    bool on_strand[2] = {false, false};
    for (const auto& [which, place, point, beyond] : f.passes) {
      sum[which] += place;
      ++count[which];
      on_strand[which] = on_strand[which] || !beyond;
    }
    if (count[0] == 0 || count[1] == 0) {
      ++out.alone;
      continue;
    }
    // A drawn out end makes throws that are not there of knots and loops in the other strand.
    if (f.half_turns == 0 || !on_strand[0] || !on_strand[1]) return std::nullopt;
    Throw& one = out.throws.emplace_back();
    one.wraps = (std::abs(f.half_turns) - 1) / 2;
    one.hand = f.half_turns > 0 ? 1 : -1;
    one.first = sum[0] / static_cast<double>(count[0]);
    one.second = sum[1] / static_cast<double>(count[1]);
  }
  std::stable_sort(out.throws.begin(), out.throws.end(), [&](const Throw& x, const Throw& y) {
    return x.first + (crosswise ? -x.second : x.second) < y.first + (crosswise ? -y.second : y.second);
  });
  for (const Throw& one : out.throws) out.word += std::to_string(one.hand * one.wraps) + ' ';
  out.word += '/' + std::to_string(out.alone);
  return out;
}

std::string notation(const std::vector<Throw>& throws) {
  std::string out;
  for (std::size_t i = 0; i < throws.size(); ++i) {
    const Throw& one = throws[i];
    if (i > 0) {
      const bool same_hand = one.hand == throws[i - 1].hand;
      if (!one.post || !throws[i - 1].post)
        out += same_hand ? "x" : "=";
      else if (one.post == throws[i - 1].post)
        out += same_hand ? "=" : "x";
      else
        out += same_hand ? "//x" : "//";
    }
    if (!one.post || one.wraps > 1) out += std::to_string(one.wraps);
    if (one.post) out += 'S';
  }
  return out;
}

Tie tie_named(const std::string& text, bool crosswise) {
  if (text == "1=1") return crosswise ? Tie::thief : Tie::reef;
  if (text == "1x1") return crosswise ? Tie::grief : Tie::granny;
  if (!crosswise && text.starts_with("2=1") && text.find_first_not_of("=1", 1) == std::string::npos)
    return Tie::surgeon;
  return Tie::none;
}

struct Count {
  std::size_t votes = 0;
  Reading reading;
  bool crosswise = false;
  Diagram simplest;
};

struct Poll {
  std::map<std::string, Count> counts;
  std::size_t answers[2] = {0, 0};  // joined end to end, crosswise
  std::size_t reads[2] = {0, 0};    // of those, throws or a round circle
  std::size_t unread = 0;           // joined end to end, neither throws nor a round circle
  std::size_t crossings = 0;        // left in all
  bool refused = false;             // for more than a direction's sake
  InVain in_vain;
  Error wrong{Error::Kind::usage, "no directions"};

  void ask(const Strands& strands, Vec3 direction, bool crosswise) {
    const Result<Projection> seen = simplified_diagram({joined(strands, direction, crosswise)}, 3, kBrief, &in_vain);
    if (!seen) {
      wrong = seen.error();
      refused = wrong.kind == Error::Kind::usage;
      return;
    }
    ++answers[crosswise ? 1 : 0];
    crossings += seen->diagram.sign.size();
    std::optional<Reading> reading;
    if (seen->diagram.sign.size() <= kMostRead) reading = read(*seen, strands, crosswise);
    // A knot in one strand alone need not be one: more often it is the prime knot of a closure that shows no sum.
    if (!reading || (reading->throws.empty() && reading->alone > 0)) {
      unread += crosswise ? 0 : 1;
      return;
    }
    ++reads[crosswise ? 1 : 0];
    Count& c = counts[(crosswise ? "x" : "=") + reading->word];
    if (c.votes == 0 || seen->diagram.sign.size() < c.simplest.sign.size()) c.simplest = seen->diagram;
    if (c.votes++ == 0) c.reading = std::move(*reading), c.crosswise = crosswise;
  }
  /// A sum is outvoted by no closure that shows no throws at all, but by those that show others: a drawn out end that
  /// happens to go through a loop makes a throw that is not there.
  bool conclusive(const Count& c) const {
    const std::size_t way = c.crosswise ? 1 : 0;
    return c.reading.throws.size() >= 2 && 2 * c.votes > reads[way] &&
           static_cast<double>(c.votes) >= kEnough * static_cast<double>(answers[way]);
  }
  /// Every closure of this way that shows throws shows the same sum, enough do, and none of the other way shows any:
  /// then the other way, of which the same number of directions was tried, need not be asked further.
  bool decided(bool crosswise) const {
    bool here = false;
    for (const auto& [word, c] : counts) {
      if (c.crosswise == crosswise)
        here = here || (conclusive(c) && c.votes >= kDecided && c.votes == reads[crosswise ? 1 : 0]);
      else if (c.reading.throws.size() >= 2)
        return false;
    }
    return here;
  }
  /// The most frequent sum of throws, however joined; without one, the most frequent answer joined end to end.
  const Count* best() const {
    const Count* out = nullptr;
    for (const auto& [word, c] : counts) {
      if (!conclusive(c) && (c.crosswise || c.reading.throws.size() >= 2)) continue;
      const bool better = out == nullptr || (conclusive(c) != conclusive(*out) ? conclusive(c) : c.votes > out->votes);
      if (better) out = &c;
    }
    return out;
  }
};

/// Half turns by which the strands wind round each other in each throw.
std::vector<int> half_turns(const std::vector<Throw>& throws) {
  std::vector<int> out;
  for (const Throw& t : throws) out.push_back(2 * t.wraps + 1);
  return out;
}

/// From the first strand's tail to the second one's, joined at their loaded ends.
Curve one_thread(const Curve& a, const Curve& b) {
  Curve out(a.rbegin(), a.rend());
  out.insert(out.end(), b.begin(), b.end());
  return out;
}

/// Of two strands; joined at their loaded ends they are one thread, divided where it stands.
Posts posts_in(const Curve& a, const Curve& b, bool joined_at_load, const std::vector<Throw>& throws, bool crosswise) {
  if (!joined_at_load) return posts_of(a, b, half_turns(throws), crosswise);
  const Curve thread = one_thread(a, b);
  const double place = std::clamp(dividing_place(thread), 0.5, static_cast<double>(thread.size()) - 1.5);
  const Vec3 loaded = point_at(thread, place);
  const auto before = static_cast<std::ptrdiff_t>(std::ceil(place));
  Curve first(thread.rend() - before, thread.rend()), second(thread.begin() + before, thread.end());
  first.insert(first.begin(), loaded);
  second.insert(second.begin(), loaded);
  return posts_of(first, second, half_turns(throws), crosswise);
}

TieReport report(const Poll& poll, const Count& c, const Curve& a, const Curve& b, bool joined_at_load) {
  TieReport out;
  out.throws = c.reading.throws;
  const Posts posts = posts_in(a, b, joined_at_load, out.throws, c.crosswise);
  for (std::size_t i = 0; i < out.throws.size(); ++i) out.throws[i].post = posts.post[i];
  out.straight = posts.straight;
  out.knots_in_one_strand = c.reading.alone;
  out.crosswise = c.crosswise;
  out.simplest = c.simplest;
  out.notation = notation(out.throws);
  if (posts.might_slide) {
    std::vector<Throw> sliding = out.throws;
    for (std::size_t i = 0; i < sliding.size(); ++i) sliding[i].post = posts.likely[i];
    out.might_be = notation(sliding);
  }
  out.tie = out.knots_in_one_strand == 0 ? tie_named(out.notation, out.crosswise) : Tie::none;
  const std::size_t way = c.crosswise ? 1 : 0;
  out.share = static_cast<double>(c.votes) / static_cast<double>(poll.answers[way]);
  out.confidence = poll.conclusive(c) ? static_cast<double>(c.votes) / static_cast<double>(poll.reads[way]) : out.share;
  return out;
}

/// Whether most closures of an open curve are knotted.
bool is_knotted(const Curve& open) {
  constexpr std::size_t directions = 16;
  const auto votes = closures(
      {open}, [](const Diagram& d) { return d.sign.empty() ? "" : "knotted"; }, directions);
  return votes && !votes->empty() && votes->front().name == "knotted";
}

/// Knots that lie one after the other along one thread are not tied to each other; but while a closed curve is
/// simplified one of them may come to lie within the other, and then both are read as throws. Such a thread has a place
/// on both sides of which it is knotted; of two strands that are tied to each other one has no knot once the other is
/// cut short of it.
bool are_knots_in_a_row(const Curve& thread) {
  std::size_t plain = 2, knotted = thread.size();  // points at its beginning
  if (!is_knotted(thread)) return false;
  while (knotted - plain > 1) {
    const std::size_t middle = (plain + knotted) / 2;
    (is_knotted(Curve(thread.begin(), thread.begin() + static_cast<std::ptrdiff_t>(middle))) ? knotted : plain) =
        middle;
  }
  return knotted + 1 < thread.size() &&
         is_knotted(Curve(thread.begin() + static_cast<std::ptrdiff_t>(knotted) - 1, thread.end()));
}

/// The first part of a curve, by length.
Curve beginning(const Curve& c, double part) {
  double length = 0;
  for (std::size_t i = 0; i + 1 < c.size(); ++i) length += norm(c[i + 1] - c[i]);
  double left = part * length;
  std::size_t n = 1;
  while (n < c.size() && left > 0) left -= norm(c[n] - c[n - 1]), ++n;
  return Curve(c.begin(), c.begin() + static_cast<std::ptrdiff_t>(std::max<std::size_t>(n, 2)));
}

Poll polled(const Curve& a, const Curve& b, bool joined_at_load, std::size_t directions) {
  const Strands strands = shortened(a, b, joined_at_load, directions);
  Poll poll;
  for (std::size_t k = 0; k < directions && poll.crossings < kEnoughCrossings && !poll.refused; ++k) {
    if (!poll.decided(true)) poll.ask(strands, direction(k), false);
    if (!joined_at_load && !poll.decided(false)) poll.ask(strands, direction(k), true);
  }
  return poll;
}

/// Strands from loaded end to tail, out of `prepared`.
Result<TieReport> tie_of_strands(const Curve& a, const Curve& b, bool joined_at_load, std::size_t directions) {
  const Poll whole = polled(a, b, joined_at_load, directions);
  if (whole.answers[0] == 0) return unexpected(whole.wrong);
  const Count* best = whole.best();
  if (joined_at_load && best != nullptr && best->reading.throws.size() >= 2 && are_knots_in_a_row(one_thread(a, b)))
    return TieReport{};
  const bool conclusive = best != nullptr && whole.conclusive(*best);
  // What few closures show beside many that are knots of another kind is their drawn out ends' doing.
  const bool most_are_read = 2 * whole.unread < whole.answers[0];
  TieReport answer;
  if (conclusive || (best != nullptr && most_are_read)) answer = report(whole, *best, a, b, joined_at_load);
  answer.bound = static_cast<double>(whole.unread) / static_cast<double>(whole.answers[0]);
  if (conclusive || most_are_read || whole.crossings >= kEnoughCrossings) return answer;
  // Free tails may be wound round the standing parts: what is tied shows when they are cut shorter.
  for (const double left : {0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3})
    for (const auto& [cut_a, cut_b] : {std::pair{left, left}, std::pair{left, 1.0}, std::pair{1.0, left}}) {
      const Curve short_a = beginning(a, cut_a), short_b = beginning(b, cut_b);
      const Poll poll = polled(short_a, short_b, joined_at_load, directions);
      best = poll.best();
      if (best == nullptr || !poll.conclusive(*best)) continue;
      // Cut within the knot some closures of another bend are a sum of throws, too.
      if (static_cast<double>(best->votes) < kEnoughCut * static_cast<double>(poll.answers[best->crosswise ? 1 : 0]))
        continue;
      TieReport found = report(poll, *best, short_a, short_b, joined_at_load);
      found.simplest = {};
      found.bound = answer.bound;
      for (Throw& t : found.throws) {
        t.first *= static_cast<double>(short_a.size() - 1) / static_cast<double>(a.size() - 1);
        t.second *= static_cast<double>(short_b.size() - 1) / static_cast<double>(b.size() - 1);
      }
      return found;
    }
  return answer;
}

}  // namespace

bool is_tie(std::string_view text) {
  for (const Tie tie : {Tie::reef, Tie::granny, Tie::thief, Tie::grief, Tie::surgeon})
    if (text == name(tie)) return true;
  for (bool slid = false, first = true;; first = false) {
    bool other_post = false;
    if (!first) {  // what parts two throws; the post changes only between two that slide
      other_post = text.starts_with("//");
      const std::size_t signs = other_post ? (text.starts_with("//x") ? 3 : 2) : 1;
      if (!other_post && !text.starts_with('=') && !text.starts_with('x')) return false;
      text.remove_prefix(signs);
    }
    const std::size_t digits = std::min(text.find_first_not_of("0123456789"), text.size());
    const std::string_view wraps = text.substr(0, digits);
    text.remove_prefix(digits);
    const bool slides = text.starts_with('S');
    if (slides) text.remove_prefix(1);
    // One wrap is written of a flat throw alone.
    if (wraps.starts_with('0') || (slides ? wraps == "1" : wraps.empty()) || (other_post && !(slid && slides)))
      return false;
    if (text.empty()) return true;
    slid = slides;
  }
}

const char* name(Tie tie) {
  switch (tie) {
    case Tie::none:
      return "none";
    case Tie::reef:
      return "reef";
    case Tie::granny:
      return "granny";
    case Tie::thief:
      return "thief";
    case Tie::grief:
      return "grief";
    case Tie::surgeon:
      return "surgeon";
  }
  return "none";
}

Result<TieReport> tie_of(const Curve& first, const Curve& second, std::size_t directions) {
  const Result<Curves> ready = prepared({first, second}, false);
  if (!ready) return unexpected(ready.error());
  return tie_of_strands((*ready)[0], (*ready)[1], false, directions);
}

Result<TieReport> tie_of(const Curve& thread, std::size_t directions) {
  const Result<Curves> ready = prepared({thread}, false);
  if (!ready) return unexpected(ready.error());
  const Curve& c = (*ready)[0];
  if (c.size() < 4) return TieReport{};  // straight lines are not tied
  const auto middle = static_cast<std::ptrdiff_t>(c.size() / 2);
  const Curve a(c.rend() - middle, c.rend()), b(c.begin() + middle, c.end());
  return tie_of_strands(a, b, true, directions);
}

}  // namespace ligature::knot
