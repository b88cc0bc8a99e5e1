#include <algorithm>
#include <cmath>

#include "sim/base/random.hpp"
#include "sim/knot/simplify.hpp"
#include "sim/knot/summands.hpp"

namespace ligature::knot {

namespace {

using Node = std::uint32_t;  // pass 2 x + 1 runs over crossing x, pass 2 x under it
using Dart = std::uint32_t;  // dart 2 p runs along the arc from pass p to the next one, 2 p + 1 back along it

constexpr Node kNone = 0xffffffffu;
constexpr std::size_t kMostSteps = 4'000'000;   // darts looked at in all: bounds the time
constexpr std::size_t kMostLookedAgain = 2000;  // crossings: more are not for another view to halve
constexpr std::size_t kMostRemembered = 40;     // crossings of a diagram for whose sake rounds are saved
constexpr int kMostVain = 2;                    // times that the same diagram is tried in vain
constexpr std::size_t kMostParted = 100;        // crossings of a diagram whose summands are looked for

constexpr std::uint32_t crossing_of(Node p) {
  return p / 2;
}
constexpr bool is_over(Node p) {
  return p % 2 == 1;
}
constexpr Node partner(Node p) {
  return p ^ 1u;
}

// The diagram as rings of passes. Faces are not kept: they are walked, always with the face to the left of a dart.
class Rings {
 public:
  Rings(const Diagram& diagram, const std::vector<std::vector<double>>& place) : random_(20) {
    const std::size_t n = 2 * diagram.sign.size();
    sign_ = diagram.sign;
    next_.assign(n, kNone);
    previous_.assign(n, kNone);
    place_.assign(n, 0.0);
    ring_.assign(n, 0);
    left_.assign(diagram.sign.size(), true);
    strand_.assign(n, 0);
    seen_.assign(2 * n, 0);
    from_.assign(2 * n, kNone);
    crossings_ = diagram.sign.size();
    for (std::uint32_t c = 0; c < diagram.components.size(); ++c) {
      const auto& passes = diagram.components[c];
      head_.push_back(kNone);
      Node last = kNone;
      for (std::size_t i = 0; i < passes.size(); ++i) {
        const Node p = 2 * passes[i].crossing + (passes[i].over ? 1 : 0);
        ring_[p] = c;
        place_[p] = place[c][i];
        if (last == kNone)
          head_[c] = p;
        else
          next_[last] = p, previous_[p] = last;
        last = p;
      }
      if (last != kNone) next_[last] = head_[c], previous_[head_[c]] = last;
    }
  }

  void simplify(int rounds, InVain* in_vain) {
    improve();
    compact();
    if (crossings_ <= 2 || hopeless()) return;
    const std::size_t crossings = crossings_;
    const bool remembers = in_vain != nullptr && crossings <= kMostRemembered;
    const std::string met = remembers ? key(result().diagram) : std::string{};
    int* const vain = remembers ? &(*in_vain)[met] : nullptr;
    if (remembers && *vain >= kMostVain) return;
    Rings best = *this;
    bool fresh = false;
    for (int round = 0; round < rounds && best.crossings_ > 2 && steps_ < kMostSteps; ++round) {
      if (fresh && hopeless()) break;
      for (int k = 0; k < round % 6; ++k) push_finger();
      wander();
      improve();
      if (crossings_ < best.crossings_) round = -1;
      fresh = crossings_ <= best.crossings_;
      if (fresh) {
        compact();
        best = *this;
      } else {
        go_back_to(best);
      }
    }
    if (remembers && best.crossings_ == crossings) ++*vain;
    go_back_to(best);
  }

  Projection result() const {
    Projection out;
    std::vector<std::uint32_t> number(sign_.size(), kNone);
    for (const Node head : head_) {
      auto& passes = out.diagram.components.emplace_back();
      auto& place = out.place.emplace_back();
      if (head == kNone) continue;
      Node p = head;
      // The walk begins where the places do: behind the largest one.
      Node start = head;
      do {
        if (place_[p] < place_[start] || (place_[p] == place_[start] && place_[previous_[p]] > place_[p])) start = p;
        p = next_[p];
      } while (p != head);
      p = start;
      do {
        const std::uint32_t x = crossing_of(p);
        if (number[x] == kNone) {
          number[x] = static_cast<std::uint32_t>(out.diagram.sign.size());
          out.diagram.sign.push_back(sign_[x]);
        }
        passes.push_back({number[x], is_over(p)});
        place.push_back(place_[p]);
        p = next_[p];
      } while (p != start);
    }
    return out;
  }

 private:
  /// The numbers of crossings that are gone are used no more.
  void compact() {
    const Projection now = result();
    const auto random = random_;
    const std::size_t steps = steps_;
    *this = Rings(now.diagram, now.place);
    random_ = random;
    steps_ = steps;
  }
  void go_back_to(const Rings& other) {
    const auto random = random_;
    const std::size_t steps = steps_;
    *this = other;
    random_ = random;
    steps_ = steps;
  }

  void unlink(Node p) {
    const Node a = previous_[p], b = next_[p];
    std::uint32_t c = ring_[p];
    if (b == p) {
      head_[c] = kNone;
    } else {
      next_[a] = b;
      previous_[b] = a;
      if (head_[c] == p) head_[c] = b;
    }
    next_[p] = previous_[p] = kNone;
  }
  void erase(std::uint32_t x) {
    unlink(2 * x);
    unlink(2 * x + 1);
    left_[x] = false;
    --crossings_;
  }
  void insert_behind(Node a, Node p) {
    const Node b = next_[a];
    next_[a] = p;
    previous_[p] = a;
    next_[p] = b;
    previous_[b] = p;
    ring_[p] = ring_[a];
  }

  // The dart after d round the face to its left: arriving at a pass, turn left into the other strand.
  Dart turn_left(Dart d) const {
    const bool forward = d % 2 == 0;
    const Node at = forward ? next_[d / 2] : d / 2, other = partner(at);
    const bool leads_left = is_over(at) == (sign_[crossing_of(at)] > 0);  // the other strand, seen along this one
    return leads_left == forward ? 2 * other : 2 * previous_[other] + 1;
  }

  bool improve_once() {
    bool any = false;
    for (std::uint32_t x = 0; x < left_.size(); ++x)
      for (const Node p : {2 * x, 2 * x + 1}) {
        if (!left_[x]) break;
        if (next_[p] == partner(p)) {
          erase(x);
          any = true;
        }
      }
    for (std::uint32_t x = 0; x < left_.size(); ++x)
      for (const Node p : {2 * x, 2 * x + 1}) {
        if (steps_ > kMostSteps) return any;
        if (left_[x] && is_over(next_[p]) != is_over(p)) any = lay_again(p, false) || any;
      }
    // A component that has no turn from under to over lies above or below all others.
    for (std::size_t c = 0; c < head_.size(); ++c) any = lift_off(c) || any;
    return any;
  }
  void improve() {
    while (crossings_ > 0 && steps_ < kMostSteps && improve_once()) {
    }
  }

  bool lift_off(std::size_t c) {
    const Node head = head_[c];
    if (head == kNone) return false;
    Node p = head;
    do {
      if (is_over(p) != is_over(head)) return false;
      p = next_[p];
    } while (p != head);
    while (head_[c] != kNone) erase(crossing_of(head_[c]));
    return true;
  }

  // A finger of one strand pushed over or under another one that runs round the same face: two crossings more.
  //
  //      <---- second ---- first ---- b        along a: first, second; along b: second, first
  //              |           |
  //   a ---------------------------->          (the finger's tip lies beyond b)
  void push_finger() {
    if (crossings_ == 0) return;
    const Node at = static_cast<Node>(random_.next() % next_.size());
    if (!left_[crossing_of(at)]) return;
    const Dart a = 2 * at + static_cast<Dart>(random_.next() % 2);
    std::vector<Dart>& face = now_;
    face.clear();
    for (Dart d = turn_left(a); d != a; d = turn_left(d))
      if (d / 2 != a / 2) face.push_back(d);
    if (face.empty()) return;
    const Dart b = face[random_.next() % face.size()];
    const bool over = random_.next() % 2 == 0, a_forward = a % 2 == 0, b_forward = b % 2 == 0;
    const auto first = static_cast<std::uint32_t>(sign_.size()), second = first + 1;
    // Upwards over leftwards is right-handed; a strand that runs against its dart turns it round, and so does going
    // under.
    const int sign = (over == (a_forward == b_forward)) ? 1 : -1;
    sign_.push_back(static_cast<std::int8_t>(sign));
    sign_.push_back(static_cast<std::int8_t>(-sign));
    left_.resize(sign_.size(), true);
    next_.resize(2 * sign_.size(), kNone);
    previous_.resize(2 * sign_.size(), kNone);
    ring_.resize(2 * sign_.size(), 0);
    strand_.resize(2 * sign_.size(), 0);
    place_.resize(2 * sign_.size(), 0.0);
    seen_.resize(4 * sign_.size(), 0);
    from_.resize(4 * sign_.size(), kNone);
    crossings_ += 2;
    const auto insert = [this](Node arc, std::uint32_t x, std::uint32_t y, bool above) {
      const double p = place_[arc], q = place_[next_[arc]];
      const Node s = 2 * x + (above ? 1 : 0), t = 2 * y + (above ? 1 : 0);
      insert_behind(arc, s);
      insert_behind(s, t);
      place_[s] = place_[t] = q >= p ? (p + q) / 2 : p;
    };
    insert(a / 2, a_forward ? first : second, a_forward ? second : first, over);
    insert(b / 2, b_forward ? second : first, b_forward ? first : second, !over);
  }

  // Random ways of the same length, about one for every crossing.
  void wander() {
    const std::size_t tries = 2 * crossings_ + 4;
    for (std::size_t k = 0; k < tries && crossings_ > 0 && steps_ < kMostSteps; ++k) {
      const Node p = static_cast<Node>(random_.next() % next_.size());
      if (!left_[crossing_of(p)]) continue;
      Node u = p;  // any pass starts a stretch here, not only the longest ones
      if (lay_again(u, true)) continue;
    }
  }

  // No diagram of fewer crossings exists where every connected part, or every summand of a knot, alternates: `improve`
  // left nothing removable, and crossing numbers of alternating knots add up.
  bool hopeless() const {
    if (head_.size() == 1 && crossings_ <= kMostParted) {
      const std::vector<Pass> walk = result().diagram.components[0];
      const std::vector<std::size_t> number = summands(walk);
      std::vector<int> first(walk.size(), -1), last(walk.size(), -1);
      for (std::size_t i = 0; i < walk.size(); ++i) {
        const int over = walk[i].over ? 1 : 0;
        if (last[number[i]] == over) return false;
        if (first[number[i]] < 0) first[number[i]] = over;
        last[number[i]] = over;
      }
      for (std::size_t k = 0; k < walk.size(); ++k)
        if (first[k] >= 0 && first[k] == last[k]) return false;
      return true;
    }
    for (const Node head : head_) {
      if (head == kNone) continue;
      Node p = head;
      do {
        if (is_over(p) == is_over(next_[p]) && next_[p] != p) return false;
        p = next_[p];
      } while (p != head);
    }
    return true;
  }

  /// Lifts the stretch of passes of one kind that begins behind pass u and lays it down along a shortest way; only
  /// where that is shorter, or, when wandering, no longer and found in random order.
  bool lay_again(Node u, bool wandering) {
    const Node first = next_[u];
    const bool over = is_over(first);
    ++stamp_;
    std::vector<Node>& strand = strand_list_;
    strand.clear();
    strand_[u] = stamp_;
    Node p = first;
    for (; is_over(p) == over && p != u; p = next_[p]) {
      strand_[p] = stamp_;
      strand.push_back(p);
    }
    if (p == u && is_over(u) == over) return false;  // the whole ring: see lift_off
    if (wandering && strand.size() > 1 && random_.next() % 2 == 0) {
      // Only a part of it, so that the rest can go another way.
      const std::size_t keep = 1 + random_.next() % strand.size();
      for (std::size_t i = keep; i < strand.size(); ++i) strand_[strand[i]] = 0;
      strand.resize(keep);
    }
    const Node last = strand.back();
    // A part of a stretch must not begin and end in one arc.
    const std::size_t most = wandering ? strand.size() : strand.size() - 1;
    if (!find_way(u, last, most, wandering)) return false;
    return lay(u, over);
  }

  // The way from beside arc u to beside arc `last`, over the fewest arcs, not counting the strand's own, into way_.
  bool find_way(Node u, Node last, std::size_t most, bool wandering) {
    const auto reach = [this](Dart d, Dart from, std::vector<Dart>& list) {
      if (seen_[d] == stamp_) return;
      seen_[d] = stamp_;
      from_[d] = from;
      list.push_back(d);
    };
    std::vector<Dart>&now = now_, &later = later_;
    now.clear();
    later.clear();
    reach(2 * u, kNone, now);
    reach(2 * u + 1, kNone, now);
    Dart goal = kNone;
    for (std::size_t crossed = 0;; ++crossed) {
      for (std::size_t i = 0; i < now.size() && goal == kNone; ++i) {
        const Dart d = now[i];
        ++steps_;
        if (d / 2 == last) goal = d;
        reach(turn_left(d), d, now);
        if (strand_[d / 2] == stamp_) reach(d ^ 1u, d, now);
      }
      if (goal != kNone) break;
      if (crossed == most) return false;
      later.clear();
      for (const Dart d : now)
        if (seen_[d ^ 1u] != stamp_) later.push_back(d);
      if (later.empty()) return false;
      if (wandering)
        for (std::size_t i = later.size(); i > 1; --i) std::swap(later[i - 1], later[random_.next() % i]);
      now.clear();
      for (const Dart d : later) reach(d ^ 1u, d, now);
    }
    way_.clear();
    for (Dart d = goal; from_[d] != kNone; d = from_[d])
      if (from_[d] == (d ^ 1u) && strand_[d / 2] != stamp_) way_.push_back(from_[d]);
    std::reverse(way_.begin(), way_.end());
    return true;
  }

  bool lay(Node u, bool over) {
    // The pass before each crossed arc that stays when the strand's crossings go.
    const auto goes = [this](Node p) { return strand_[p] == stamp_ || strand_[partner(p)] == stamp_; };
    // u bounds the strand but is not on it.
    strand_[u] = 0;
    const auto anchor = [&](Node p) {
      const Node begin = p;
      while (goes(p)) {
        p = previous_[p];
        if (p == begin) return kNone;
      }
      return p;
    };
    std::vector<Node>& anchors = anchors_;
    anchors.clear();
    Node start = anchor(u);
    for (const Dart d : way_) {
      const Node a = anchor(d / 2);
      if (a == kNone || a == start || std::find(anchors.begin(), anchors.end(), a) != anchors.end()) return false;
      anchors.push_back(a);
    }
    std::vector<Node>& strand = strand_list_;
    const std::uint32_t ring = ring_[u];
    places_.clear();
    for (const Dart d : way_) {
      const double a = place_[d / 2], b = place_[next_[d / 2]];
      places_.push_back(b >= a ? (a + b) / 2 : a);
    }
    for (const Node p : strand) erase(crossing_of(p));
    Node behind = start;
    for (std::size_t i = 0; i < way_.size(); ++i) {
      const Node s = strand[i], t = partner(s);
      const std::uint32_t x = crossing_of(s);
      left_[x] = true;
      ++crossings_;
      // From the left of a forward dart to its right: the crossed arc leads to the strand's left.
      const bool to_right = way_[i] % 2 == 0;
      sign_[x] = to_right == over ? 1 : -1;
      if (behind == kNone) {
        next_[s] = previous_[s] = s;
        ring_[s] = ring;
        head_[ring] = s;
      } else {
        insert_behind(behind, s);
      }
      insert_behind(anchors[i], t);
      place_[t] = places_[i];
      behind = s;
    }
    return true;
  }

  std::vector<std::int8_t> sign_;      // crossings
  std::vector<bool> left_;             // crossings: still there
  std::vector<Node> next_, previous_;  // passes
  std::vector<double> place_;          // passes
  std::vector<std::uint32_t> ring_;    // passes: component
  std::vector<Node> head_;             // components: any pass of theirs, none for a round circle
  std::size_t crossings_ = 0, steps_ = 0;
  std::uint32_t stamp_ = 0;
  std::vector<std::uint32_t> strand_;  // arcs: stamp of the strand that they belong to
  std::vector<std::uint32_t> seen_;    // darts: stamp of the search that reached them
  std::vector<Dart> from_;             // darts
  std::vector<Node> strand_list_, anchors_;
  std::vector<Dart> now_, later_, way_;
  std::vector<double> places_;
  Random random_;
};

}  // namespace

Diagram simplify(const Diagram& diagram, int rounds) {
  std::vector<std::vector<double>> place;
  for (const auto& component : diagram.components) place.emplace_back(component.size(), 0.0);
  Rings rings(diagram, place);
  rings.simplify(rounds, nullptr);
  return rings.result().diagram;
}

namespace {

Projection simplified(const Projection& projection, int rounds, InVain* in_vain) {
  Rings rings(projection.diagram, projection.place);
  rings.simplify(rounds, in_vain);
  Projection out = rings.result();
  out.direction = projection.direction;
  return out;
}

}  // namespace

Projection simplify(const Projection& projection, int rounds) {
  return simplified(projection, rounds, nullptr);
}

bool alternating(const Diagram& diagram) {
  for (const auto& component : diagram.components)
    for (std::size_t i = 0; i < component.size(); ++i)
      if (component.size() > 1 && component[i].over == component[(i + 1) % component.size()].over) return false;
  return true;
}

Result<Curves> simplify(const Curves& curves) {
  const Result<Curves> ready = prepared(curves, true);
  if (!ready) return unexpected(ready.error());
  // Back to the scale given: a power of two.
  double largest = 0, scaled = 0;
  for (const Curve& c : curves)
    for (const Vec3& p : c) largest = std::max({largest, std::abs(p.x), std::abs(p.y), std::abs(p.z)});
  for (const Curve& c : *ready)
    for (const Vec3& p : c) scaled = std::max({scaled, std::abs(p.x), std::abs(p.y), std::abs(p.z)});
  Shortened short_ones = shorten_prepared(*ready);
  const int exponent = largest > 0 ? std::ilogb(largest) - std::ilogb(scaled) : 0;
  for (Curve& c : short_ones.curves)
    for (Vec3& p : c) p = {std::ldexp(p.x, exponent), std::ldexp(p.y, exponent), std::ldexp(p.z, exponent)};
  return std::move(short_ones.curves);
}

Result<Projection> simplified_diagram(const Curves& curves, int views, int rounds, InVain* in_vain) {
  const Result<Curves> ready = prepared(curves, true);
  if (!ready) return unexpected(ready.error());
  const Shortened short_ones = shorten_prepared(*ready);
  Projection best;
  for (int k = 0; k < std::max(views, 1); ++k) {
    Result<Projection> seen = projection_of_prepared(short_ones.curves, direction(static_cast<std::size_t>(k)));
    if (!seen) return seen;
    if (k == 0 || seen->diagram.sign.size() < best.diagram.sign.size()) best = std::move(*seen);
    if (best.diagram.sign.empty() || best.diagram.sign.size() > kMostLookedAgain) break;
  }
  // Long edges of a tangle that could not be shortened further may cross more often than what they stand for.
  if (best.diagram.sign.size() > kMostLookedAgain) {
    Result<Projection> seen = projection_of_prepared(*ready, direction(0));
    if (seen && seen->diagram.sign.size() < best.diagram.sign.size()) return simplified(*seen, rounds, in_vain);
  }
  // From places along the shortened curves to places along the prepared ones.
  for (std::size_t c = 0; c < best.place.size(); ++c)
    for (double& at : best.place[c]) {
      const std::vector<std::size_t>& kept = short_ones.kept[c];
      const std::size_t n = (*ready)[c].size();
      const auto i = std::min(static_cast<std::size_t>(at), kept.size() - 1);
      const double part = at - static_cast<double>(i);
      const double a = static_cast<double>(kept[i]);
      const double b = i + 1 < kept.size() ? static_cast<double>(kept[i + 1]) : static_cast<double>(n + kept[0]);
      at = a + part * (b - a);
      if (at >= static_cast<double>(n)) at -= static_cast<double>(n);
    }
  return simplified(best, rounds, in_vain);
}

}  // namespace ligature::knot
