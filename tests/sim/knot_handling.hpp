#pragma once
/// Threads that are knotted, whipped, jerked and tied, for the tests of tunnelling: every number from a seed. Along
/// with it an independent look, from shapes before and after a step alone, at whether any strand passed through
/// another.
///
/// Two looks:
///   proof    all edges, moved straight and evenly, provably stay apart: nothing passed. A step goes a way that need
///            not be straight: where it is not proven as a whole, each move of which it consists has to be
///   jump     where that is not proven either: the signed number of times that the two pieces of thread round those
///            edges go round each other (Gauss's integral over them) changes by one when one passed through the other
///            and by less when not (by up to a half where they touched)
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/knot/closure.hpp"
#include "sim/knot/invariants.hpp"
#include "sim/world/world.hpp"
#include "tests/sim/thread_link.hpp"

namespace ligature::world::knots {

using link::random_in_ball;
using link::Segment;
using link::stay_apart;

/// Signed part of the unit sphere that the directions from one segment to the other cover, over 4 pi [Klenin 2000].
inline double gauss(const Segment& p, const Segment& q) {
  const Vec3 r13 = q.a - p.a, r14 = q.b - p.a, r23 = q.a - p.b, r24 = q.b - p.b;
  const std::array<Vec3, 4> n{cross(r13, r14), cross(r14, r24), cross(r24, r23), cross(r23, r13)};
  double area = 0;
  for (std::size_t k = 0; k < 4; ++k) {
    const double size = norm(n[k]) * norm(n[(k + 1) % 4]);
    if (!(size > 0)) return 0;
    area += std::asin(std::clamp(dot(n[k], n[(k + 1) % 4]) / size, -1.0, 1.0));
  }
  return std::copysign(area, dot(cross(q.b - q.a, p.b - p.a), r13)) / (4 * std::numbers::pi);
}

struct Line {
  std::vector<Vec3> x;
  bool closed = false;
  std::size_t edges() const { return closed ? x.size() : x.size() - 1; }
  Segment edge(std::size_t i) const { return {x[i], x[i + 1 == x.size() ? 0 : i + 1]}; }
};

inline std::vector<Line> lines_of(const World& world) {
  std::vector<Line> out;
  for (std::size_t k = 0; k < world.thread_count(); ++k)
    out.push_back({world.shape(k).x, world.measure(k, false).closed});
  return out;
}

/// Edges from first to last, both included, that lie within `reach` of arc from edge i. Not round a closed line's seam.
struct Piece {
  std::size_t first = 0, last = 0;
};
inline Piece piece_round(const Line& line, std::size_t i, double reach) {
  Piece piece{i, i};
  double way = 0;
  while (piece.first > 0 && (way += norm(line.edge(piece.first - 1).b - line.edge(piece.first - 1).a)) < reach)
    --piece.first;
  way = 0;
  while (piece.last + 1 < line.edges() &&
         (way += norm(line.edge(piece.last + 1).b - line.edge(piece.last + 1).a)) < reach)
    ++piece.last;
  return piece;
}

inline double gauss(const Line& a, Piece p, const Line& b, Piece q) {
  double sum = 0;
  for (std::size_t i = p.first; i <= p.last; ++i)
    for (std::size_t j = q.first; j <= q.last; ++j) sum += gauss(a.edge(i), b.edge(j));
  return sum;
}

struct Look {
  int unproven = 0;  ///< pairs of edges that the proof for straight motion does not reach
  int passed = 0;    ///< of those, pairs whose pieces jumped
};

/// All the places of some edges while they move straight from one line to the other.
struct Box {
  Vec3 low{1e300, 1e300, 1e300}, high{-1e300, -1e300, -1e300};
  void add(Vec3 v) {
    low = {std::min(low.x, v.x), std::min(low.y, v.y), std::min(low.z, v.z)};
    high = {std::max(high.x, v.x), std::max(high.y, v.y), std::max(high.z, v.z)};
  }
  bool meets(const Box& b) const {
    return low.x <= b.high.x && b.low.x <= high.x && low.y <= b.high.y && b.low.y <= high.y && low.z <= b.high.z &&
           b.low.z <= high.z;
  }
};
/// @returns a box for every `group` edges in a row
inline std::vector<Box> boxes_of(const Line& before, const Line& after, std::size_t group) {
  std::vector<Box> out((before.edges() + group - 1) / group);
  for (std::size_t i = 0; i < before.edges(); ++i)
    for (const Line* line : {&before, &after}) {
      out[i / group].add(line->edge(i).a);
      out[i / group].add(line->edge(i).b);
    }
  return out;
}

/// @param diameter of the threads, for how long the pieces are
inline Look look(const std::vector<Line>& before, const std::vector<Line>& after, double diameter) {
  Look out;
  constexpr std::size_t kGroup = 6;  // edges that are looked at together: what boxes keep apart does not meet
  std::vector<std::vector<Box>> edges, groups;
  for (std::size_t k = 0; k < before.size(); ++k) {
    edges.push_back(boxes_of(before[k], after[k], 1));
    groups.push_back(boxes_of(before[k], after[k], kGroup));
  }
  for (std::size_t k = 0; k < before.size(); ++k)
    for (std::size_t l = k; l < before.size(); ++l)
      for (std::size_t i = 0; i < before[k].edges(); ++i)
        for (std::size_t j = k == l ? i + 2 : 0; j < before[l].edges(); ++j) {
          if (!groups[l][j / kGroup].meets(edges[k][i])) {
            j += kGroup - 1 - j % kGroup;
            continue;
          }
          if (!edges[l][j].meets(edges[k][i])) continue;
          if (k == l && before[k].closed && i == 0 && j + 1 == before[k].edges()) continue;
          const Segment p0 = before[k].edge(i), p1 = after[k].edge(i);
          const Segment q0 = before[l].edge(j), q1 = after[l].edge(j);
          if (stay_apart(p0, p1, q0, q1)) continue;
          ++out.unproven;
          const double moved =
              std::max(norm(p1.a - p0.a), norm(p1.b - p0.b)) + std::max(norm(q1.a - q0.a), norm(q1.b - q0.b));
          const double reach = std::max(6 * diameter, 1.5 * moved);
          Piece p = piece_round(before[k], i, reach), q = piece_round(before[l], j, reach);
          if (k == l) {  // of one thread: they do not share an edge
            const std::size_t middle = (i + j) / 2;
            p.last = std::min(p.last, middle == i ? i : middle - (middle == j ? 1 : 0));
            q.first = std::max(q.first, std::min(j, p.last + 2));
          }
          const double jump = gauss(after[k], p, after[l], q) - gauss(before[k], p, before[l], q);
          out.passed += std::abs(jump) > 0.5;
        }
  return out;
}

// ---- what is done to threads ----------------------------------------------------------------------------------------

/// A hand that holds a vertex and goes from place to place.
struct Hand {
  Vec3 place;
  double now_s = 0;

  void go(ThreadParams& t, Place at, Vec3 to, double speed_mm_per_s) {
    const double seconds = std::max(norm(to - place) / speed_mm_per_s, 0.005);
    ClampParams c;
    c.at = at;
    c.velocity = (1 / seconds) * (to - place);
    c.from_s = now_s, c.until_s = now_s + seconds;
    t.clamps.push_back(c);
    place = to, now_s += seconds;
  }
};

inline Place end_place(bool last) {
  Place p;
  p.kind = last ? Place::Kind::last : Place::Kind::first;
  return p;
}

/// Long trefoil [Shastri 1992] with straight tails of this length, the middle part `size` wide; in W, [mm].
inline std::vector<Vec3> overhand_curve(double size, double tail) {
  std::vector<Vec3> x;
  for (double t = -2.1; t <= 2.1001; t += 0.03)
    x.push_back(0.25 * size * Vec3{t * t * t - 3 * t, std::pow(t, 4) - 4 * t * t, 0.15 * (std::pow(t, 5) - 10 * t)});
  const auto beyond = [tail](Vec3 end, Vec3 inner) { return end + (tail / norm(end - inner)) * (end - inner); };
  x.insert(x.begin(), beyond(x.front(), x[1]));
  x.push_back(beyond(x.back(), x[x.size() - 2]));
  return x;
}

inline double length_of(const std::vector<Vec3>& x) {
  double length = 0;
  for (std::size_t i = 1; i < x.size(); ++i) length += norm(x[i] - x[i - 1]);
  return length;
}

inline ThreadParams thread_of(std::string name, std::vector<Vec3> points, double diameter, std::size_t edges,
                              bool inertial) {
  ThreadParams t;
  t.name = std::move(name);
  t.points = std::move(points);
  t.diameter_mm = diameter;
  t.segment_mm = length_of(t.points) / static_cast<double>(edges);
  t.inertial = inertial;
  t.material = round_thread(2.5e9, 0.4, 1.14e-3, diameter, 3e-3);
  return t;
}

/// One end after the other, or both together, goes to random places of a ball about its home, fast or slowly.
inline void whip(Random& random, ThreadParams& t, bool last, Vec3 home, double reach, double duration_s,
                 double fastest_mm_per_s, double start_s = 0, Vec3 start = {}, bool has_start = false) {
  Hand hand{has_start ? start : last ? t.points.back() : t.points.front(), start_s};
  while (hand.now_s < duration_s) {
    const double speed = random.uniform() < 0.6 ? fastest_mm_per_s : random.uniform(0.05, 1) * fastest_mm_per_s;
    hand.go(t, end_place(last), home + random_in_ball(random, reach), speed);
    if (random.uniform() < 0.2) hand.go(t, end_place(last), hand.place, 1);  // one step at rest: a jerk
  }
}

/// Grabs and pushes of single vertices for short times.
inline void jerk(Random& random, ThreadParams& t, std::size_t edges, int steps, double dt, double reach, double force) {
  for (int now = 3; now < steps;) {
    const int length = 2 + static_cast<int>(random.uniform(0, 20));
    const auto vertex = static_cast<std::size_t>(random.uniform(0.1, 0.9) * static_cast<double>(edges));
    if (random.uniform() < 0.6) {
      ClampParams c;
      c.at = link::vertex_place(vertex);
      const Vec3 way = random_in_ball(random, reach);
      c.velocity = std::min(1 / (length * dt), 200 / std::max(norm(way), 1e-9)) * way;
      c.from_s = now * dt, c.until_s = (now + length) * dt;
      t.clamps.push_back(c);
    } else {
      ForceParams f;
      f.at = link::vertex_place(vertex);
      f.force = random_in_ball(random, force);
      f.from_s = now * dt, f.until_s = (now + length) * dt;
      t.forces.push_back(f);
    }
    now += length + static_cast<int>(random.uniform(0, 10));
  }
}

/// Places along a curve by the arc from its beginning.
struct Path {
  std::vector<Vec3> x;
  std::vector<double> arc{0};
  explicit Path(std::vector<Vec3> points) : x(std::move(points)) {
    for (std::size_t i = 1; i < x.size(); ++i) arc.push_back(arc.back() + norm(x[i] - x[i - 1]));
  }
  Vec3 at(double s) const {
    const auto next = std::clamp<std::ptrdiff_t>(std::upper_bound(arc.begin(), arc.end(), s) - arc.begin(), 1,
                                                 static_cast<std::ptrdiff_t>(x.size()) - 1);
    const auto i = static_cast<std::size_t>(next);
    const double part = (s - arc[i - 1]) / (arc[i] - arc[i - 1]);
    return x[i - 1] + part * (x[i] - x[i - 1]);
  }
};

/// Hands along the whole thread that go all at once.
struct Hands {
  ThreadParams& t;
  double dt;
  std::vector<std::size_t> vertices;
  std::vector<Vec3> places;
  double now_s = 0;

  void go(const std::vector<Vec3>& to, double speed_mm_per_s) {
    double furthest = 0;
    for (std::size_t k = 0; k < to.size(); ++k) furthest = std::max(furthest, norm(to[k] - places[k]));
    const double seconds = dt * std::max(1.0, std::ceil(furthest / speed_mm_per_s / dt));
    for (std::size_t k = 0; k < to.size(); ++k) {
      ClampParams c;
      c.at = link::vertex_place(vertices[k]);
      c.velocity = (1 / seconds) * (to[k] - places[k]);
      c.from_s = now_s, c.until_s = now_s + seconds;
      t.clamps.push_back(c);
    }
    places = to, now_s += seconds;
  }
};

/// When the thread is to be tied and when not.
struct Milestone {
  double at_s = 0;
  bool tied = false;
};

/// The thread lies straight. Hands draw it, its last end first, along a curve that is an overhand knot: over itself,
/// round and through the loop; they work the knot smaller and larger again; and lead it back out, which unties it.
/// That several times, then once more, and both ends are whipped with the knot in between.
inline std::vector<Milestone> tie_and_untie(Random& random, WorldParams& p, double size, double diameter,
                                            std::size_t edges, bool inertial, double duration_s, double fastest) {
  std::vector<Milestone> milestones;
  const double knot = length_of(overhand_curve(size, 0)), tail = 0.4 * knot, length = knot + 2 * tail;
  constexpr double kSlack = 0.985;  // between hands, of the thread
  std::vector<Vec3> curve = overhand_curve(size, 1.1 * length);
  if (random.uniform() < 0.5)
    for (Vec3& v : curve) v.z = -v.z;
  const Path path(curve);
  const double middle = 0.5 * path.arc.back(), in = middle - 0.5 * knot, there = in - tail;
  p.threads.push_back(thread_of("tied", {path.at(in - length), path.at(in)}, diameter, edges, inertial));
  ThreadParams& t = p.threads[0];
  const double edge = length / static_cast<double>(edges);
  Hands hands{t, p.step_s, {}, {}, 0};
  const auto apart = 2 + static_cast<std::size_t>(random.uniform(0, 3));
  for (std::size_t i = 0; i < edges; i += apart) hands.vertices.push_back(i);
  hands.vertices.push_back(edges);
  for (const std::size_t i : hands.vertices)
    hands.places.push_back(path.at(in - length + static_cast<double>(i) * edge));
  const Vec3 centre = path.at(middle);

  // Where the hands are when the thread begins at `from`, the curve shrunk about its centre by `scale`.
  const auto places = [&](double from, double scale) {
    std::vector<Vec3> out;
    const Vec3 off = random_in_ball(random, 0.01 * size);
    for (const std::size_t i : hands.vertices) {
      const double s = from + kSlack * static_cast<double>(i) * edge;
      out.push_back(centre + scale * (path.at(middle + (s - middle) / scale) - centre) + off);
    }
    return out;
  };
  const double step = 0.15 * size;
  const double touching = diameter / (0.069 * size);  // the curve comes so near itself
  for (;;) {
    const double speed = std::min(fastest, random.uniform(0.2, 1) * 0.15 * size / p.step_s);
    const double begin = in - length, way = there - begin;
    const int parts = static_cast<int>(std::ceil(way / step));
    for (int k = 1; k <= parts; ++k) hands.go(places(begin + way * k / parts, 1), speed);
    milestones.push_back({hands.now_s, true});
    if (hands.now_s > 0.4 * duration_s) break;
    const double smallest = random.uniform(0.8, 1.2) * touching;
    for (int k = 1; k <= 10; ++k) hands.go(places(there, 1 + (smallest - 1) * k / 10), speed);
    milestones.push_back({hands.now_s, true});
    for (int k = 9; k >= 0; --k) hands.go(places(there, 1 + (smallest - 1) * k / 10), speed);
    for (int k = parts - 1; k >= 0; --k) hands.go(places(begin + way * k / parts, 1), speed);
    milestones.push_back({hands.now_s, false});
  }
  // From here on two hands are left, which as a rule draw the knot tight before they whip.
  const Vec3 apart_by = hands.places.back() - hands.places.front();
  const bool tight = random.uniform() < 0.7;
  const double wider = tight ? 0.5 * (0.8 * length - norm(apart_by)) : 0, start = hands.now_s;
  for (const bool last : {false, true}) {
    Hand hand{last ? hands.places.back() : hands.places.front(), start};
    const Vec3 home = hand.place + ((last ? wider : -wider) / norm(apart_by)) * apart_by;
    hand.go(t, end_place(last), home, 0.2 * fastest);
    whip(random, t, last, home, (tight ? 0.1 : 0.4) * tail, duration_s, fastest, hand.now_s, home, true);
  }
  return milestones;
}

struct Handling {
  WorldParams params;
  int steps = 0;
  std::string what;
  std::vector<Milestone> milestones;
};

enum class Kind : std::uint8_t { whipped, jerked, tied, hooked };
inline constexpr int kKinds = 4;

/// @param seed its last bits choose diameter, kind, inertia and how many linearisations a step has
inline Handling handling(std::uint64_t seed, int steps) {
  Random random(seed);
  Handling h;
  h.steps = steps;
  WorldParams& p = h.params;
  p.step_s = 0.005;
  static constexpr std::array<int, 4> kIterations{50, 10, 4, 2};
  p.solver.iterations = kIterations[(seed / 32) % kIterations.size()];
  p.forceps_present = false;
  p.friction.thread_thread = random.uniform(0, 0.4);
  const bool fine = seed % 2 == 1;
  const auto kind = static_cast<Kind>((seed / 2) % kKinds);
  const bool inertial = (seed / 8) % 4 == 3;
  const double diameter = fine ? 0.025 : 0.2;
  const double size = fine ? 1.0 : 5.0;  // of the knot as drawn [mm]
  const double duration = steps * p.step_s;
  const std::size_t edges = 90;
  static constexpr std::array<const char*, kKinds> kNames{"whipped", "jerked", "tied and untied", "hooked loops"};
  h.what = std::string(kNames[static_cast<std::size_t>(kind)]) + (fine ? ", 0.025 mm" : ", 0.2 mm") +
           (inertial ? ", inertial, " : ", ") + std::to_string(p.solver.iterations) + " linearisations";
  const double fast = 200;
  switch (kind) {
    case Kind::whipped: {
      p.threads.push_back(thread_of("knot", overhand_curve(size, size), diameter, edges, inertial));
      ThreadParams& t = p.threads[0];
      const double reach = 0.28 * length_of(t.points);  // hands further apart than the thread is long break it
      const double spread = 0.5 * norm(t.points.back() - t.points.front());
      const double ball = std::max(0.2 * reach, reach - spread);
      whip(random, t, false, t.points.front(), ball, duration, fast);
      if (random.uniform() < 0.7) whip(random, t, true, t.points.back(), ball, duration, fast);
      break;
    }
    case Kind::jerked: {
      p.threads.push_back(thread_of("knot", overhand_curve(size, size), diameter, edges, inertial));
      ThreadParams& t = p.threads[0];
      ClampParams c;  // else a push would send it off
      c.at = end_place(false);
      t.clamps.push_back(c);
      const double length = length_of(t.points);
      jerk(random, t, edges, steps, p.step_s, 0.5 * size, 5 * t.material.bend_stiffness / (length * length));
      break;
    }
    case Kind::tied:
      h.milestones = tie_and_untie(random, p, size, diameter, edges, inertial, duration, fast);
      break;
    case Kind::hooked: {
      const double a = size, w = 0.35 * size, lead = 0.3 * size;
      p.threads.push_back(
          thread_of("left", {{-2 * a, w, 0}, {lead, w, 0}, {lead, -w, 0}, {-2 * a, -w, 0}}, diameter, edges, inertial));
      p.threads.push_back(thread_of("right", {{2 * a, 0, w}, {-lead, 0, w}, {-lead, 0, -w}, {2 * a, 0, -w}}, diameter,
                                    edges, inertial));
      for (ThreadParams& t : p.threads)
        for (const bool last : {false, true})
          if (last || random.uniform() < 0.8)
            whip(random, t, last, last ? t.points.back() : t.points.front(), 0.6 * a, duration, fast);
      break;
    }
  }
  return h;
}

/// Determinant of the knot that most closures of an open thread are: 1 when it is not tied, 3 of an overhand knot.
inline std::string determinant_of(const Line& line) {
  const auto votes = knot::closures(
      {line.x},
      [](const knot::Diagram& d) {
        const auto value = knot::determinant(d);
        return value ? std::to_string(*value) : std::string("?");
      },
      16);
  return votes && !votes->empty() ? votes->front().name : "none";
}

struct Outcome {
  int steps = 0;
  int crooked = 0;   ///< steps that the proof for straight motion does not reach
  int unproven = 0;  ///< steps with a move that the proof does not reach
  int passed = 0;    ///< steps in which a strand passed through another
  int first_passed = -1;
  int not_finite = 0, restored = 0, not_converged = 0, limited = 0, overflowed = 0;
  long long prevented = 0, found = 0;
  int touching = 0;    ///< steps with contacts
  int ties = 0;        ///< times that it became tied or untied
  int not_as_led = 0;  ///< milestones at which it was not tied when it should have been, or the other way round
  double deepest_over_radius = 0, lag_p99_mm = 0, lag_max_mm = 0;
  double lag_longest_ms = 0;  ///< that a held vertex was more than 0.05 mm behind
  int let_go_behind = 0;      ///< hands that let go, or took anew, in a step in which one was so far behind
};

/// The places through which a step leads the threads, as its stages show them.
struct Way {
  World* world = nullptr;
  std::vector<std::vector<Line>> places;

  static void seen(void* context, StepStage stage) noexcept {
    if (stage != StepStage::integrate && stage != StepStage::finish) return;  // the others move nothing
    Way& way = *static_cast<Way*>(context);
    way.places.push_back(way.places.front());
    for (std::size_t k = 0; k < way.places.back().size(); ++k) way.places.back()[k].x = way.world->shape(k).x;
  }
  Look look(double diameter) const {
    Look sum;
    for (std::size_t k = 1; k < places.size(); ++k) {
      const Look one = knots::look(places[k - 1], places[k], diameter);
      sum.unproven += one.unproven, sum.passed += one.passed;
    }
    return sum;
  }
};

inline Outcome handle(const Handling& h) {
  Outcome out;
  auto world = World::create(h.params, {});
  EXPECT_TRUE(world) << h.what << ": " << (world ? "" : world.error().message);
  if (!world) return out;
  const double diameter = h.params.threads[0].diameter_mm;
  std::vector<double> lags;
  double lagging_s = 0;
  bool tied = false;
  std::size_t milestone = 0;
  std::vector<Line> before = lines_of(*world);
  Way way{&*world, {}};
  world->observe_stages(&Way::seen, &way);
  for (; out.steps < h.steps; ++out.steps) {
    way.places.assign(1, before);
    const StepReport report = world->step({});
    out.restored += (report.flags & step_non_finite_restored) != 0;
    out.not_converged += (report.flags & step_not_converged) != 0;
    out.limited += (report.flags & step_limited) != 0;
    out.overflowed += (report.flags & step_contact_overflow) != 0;
    out.prevented += report.crossings_prevented;
    out.found += report.crossings_found;
    out.touching += report.contacts > 0;
    out.deepest_over_radius = std::max(out.deepest_over_radius, report.worst_penetration_mm / (0.5 * diameter));
    lags.push_back(report.held_lag_mm);
    lagging_s = report.held_lag_mm > 0.05 ? lagging_s + h.params.step_s : 0;
    out.lag_longest_ms = std::max(out.lag_longest_ms, 1e3 * lagging_s);
    const double end_s = (out.steps + 1) * h.params.step_s;
    if (lagging_s > 0)
      for (const ThreadParams& t : h.params.threads)
        for (const ClampParams& c : t.clamps) out.let_go_behind += std::abs(c.until_s - end_s) < 0.5 * h.params.step_s;
    std::vector<Line> after = lines_of(*world);
    bool finite = true;
    for (const Line& line : after)
      for (const Vec3 v : line.x) finite &= std::isfinite(v.x + v.y + v.z);
    if (!finite) {
      ++out.not_finite;
      break;
    }
    if (look(before, after, diameter).unproven > 0) {
      ++out.crooked;
      way.places.push_back(after);
      const Look seen = way.look(diameter);
      out.unproven += seen.unproven > 0;
      out.passed += seen.passed > 0;
      if (seen.passed > 0 && out.first_passed < 0) out.first_passed = out.steps;
    }
    before = std::move(after);
    while (milestone < h.milestones.size() &&
           (out.steps + 1) * h.params.step_s > h.milestones[milestone].at_s - 0.5 * h.params.step_s) {
      const std::string is = determinant_of(before[0]);
      out.not_as_led += is != (h.milestones[milestone].tied ? "3" : "1");
      out.ties += (is != "1") != tied;
      tied = is != "1";
      ++milestone;
    }
  }
  std::sort(lags.begin(), lags.end());
  if (!lags.empty()) {
    out.lag_p99_mm = lags[static_cast<std::size_t>(0.99 * static_cast<double>(lags.size() - 1))];
    out.lag_max_mm = lags.back();
  }
  return out;
}

inline void report(std::uint64_t seed, const Handling& h, const Outcome& out) {
  std::printf(
      "| %d | %s | %d | %d | %d | %d | %d | %d | %lld | %lld | %.2g | %.3f | %.3f | %.0f | %d | %d | %d | %d |\n",
      static_cast<int>(seed), h.what.c_str(), out.steps, out.touching, out.ties, out.passed, out.unproven, out.crooked,
      out.prevented, out.found, out.deepest_over_radius, out.lag_p99_mm, out.lag_max_mm, out.lag_longest_ms,
      out.let_go_behind, out.not_converged, out.limited, out.overflowed);
  std::fflush(stdout);  // what a soak that is stopped has done
}

inline void expect_nothing_lost(const Handling& h, const Outcome& out) {
  EXPECT_EQ(out.passed, 0) << h.what << ", first in step " << out.first_passed;
  EXPECT_EQ(out.not_finite, 0) << h.what;
  EXPECT_EQ(out.restored, 0) << h.what;
  EXPECT_EQ(out.steps, h.steps) << h.what;
  EXPECT_EQ(out.found, 0) << h.what << ": what has to be undone was not prevented";
}

/// What hands hold follows them, so that knots get tied and untied as they are led.
inline void expect_to_follow(const Handling& h, const Outcome& out) {
  EXPECT_EQ(out.not_as_led, 0) << h.what;
  EXPECT_LT(out.lag_p99_mm, 0.5) << h.what;
  EXPECT_LE(out.lag_longest_ms, 100) << h.what;
}

}  // namespace ligature::world::knots
