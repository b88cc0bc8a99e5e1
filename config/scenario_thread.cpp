#include <algorithm>
#include <cmath>

#include "config/csv_file.hpp"
#include "config/scenario_parts.hpp"
#include "sim/base/units.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::config {

namespace {

using world::ClampParams;
using world::ForceParams;
using world::Place;
using world::ThreadParams;

constexpr std::size_t kMaxPoints = 65536;
constexpr std::size_t kMaxLoads = 1024;    // clamps, or forces, of one thread
constexpr std::size_t kLeastClosed = 5;    // segments: a vertex and its two neighbours on either side
constexpr double kCoarsest = 16;           // finest segments in the longest one, unless told
constexpr double kFarthest = 1e5;          // of a point from the origin [mm]
constexpr double kStandingStill = 1e-9;    // between two points [mm]
constexpr double kRepeatedPoint = 1e-6;    // between the ends of a closed thread [mm]
constexpr double kLengthTolerance = 1e-9;  // of a length added up from pieces
constexpr Range kStiffness{.low = 0, .high = 1e18};

std::string_view points_key(const Table& t) {
  return t.has("points_mm") ? "points_mm" : "points_file";
}

std::vector<Vec3> read_points(Table& t) {
  const bool inline_points = t.has("points_mm"), from_file = t.has("points_file");
  auto points = t.get_points("points_mm", 2, kMaxPoints);
  const auto file = t.get_path("points_file", Table::PathKind::file);
  if (inline_points && from_file)
    t.reject_as("points_file", "given beside points_mm", "the only one of the two", "leave one out");
  if (!inline_points && !from_file)
    t.reject_as("points_mm", "missing", "two or more points [x, y, z], or points_file", "draw the thread");
  if (inline_points || file.empty()) return points;
  auto loaded = load_points(file);
  if (!loaded) {
    t.reject_as("points_file", "not readable as points", "x,y,z per line without header", loaded.error().message);
    return {};
  }
  if (loaded->size() > kMaxPoints) {
    t.reject_as("points_file", "a curve of " + std::to_string(loaded->size()) + " points",
                "a curve of at most " + std::to_string(kMaxPoints), "leave points out; the curve is resampled anyway");
    return {};
  }
  return std::move(*loaded);
}

/// The polyline; empty when it cannot be one.
std::vector<Vec3> read_curve(Table& t, bool closed) {
  auto points = read_points(t);
  if (points.empty()) return points;
  if (closed && norm(points.back() - points.front()) < kRepeatedPoint) points.pop_back();
  const auto wrong = [&](std::string_view is, std::string_view must, std::string_view remedy) {
    t.reject_as(points_key(t), is, must, remedy);
    return std::vector<Vec3>();
  };
  if (closed && points.size() < 3)
    return wrong("a closed thread of " + std::to_string(points.size()) + " different points", "three or more",
                 "draw a loop; its last point is joined to its first");
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (!(norm(points[i]) <= kFarthest))
      return wrong("far away at point " + std::to_string(i), "within 1e5 mm of the origin", "mend the point");
    if (i > 0 && norm(points[i] - points[i - 1]) < kStandingStill)
      return wrong("standing still at point " + std::to_string(i), "points apart from their neighbours",
                   "remove the doubled point");
  }
  return points;
}

world::ThreadMaterial read_material(Table& t, const ThreadParams& p) {
  const double young_gpa = t.get_number("young_gpa", 2.5, up_to(1e12));
  const double poisson = t.get_number("poisson", 0.4, {.low = -1, .high = 0.5, .low_open = true});
  const Range density_range{.low = 0, .high = 1e6, .low_open = p.inertial};
  const double density = t.get_number("density_kg_per_m3", 1140, density_range);
  const double drag = t.get_number("drag_mn_s_per_mm2", 4e-8, drag_range(p.inertial));
  auto m = world::round_thread(young_gpa * units::pa_per_gpa, poisson, density * units::g_per_mm3_per_kg_per_m3,
                               p.diameter_mm, drag * units::un_per_mn);
  // Stiffnesses given directly win over those of the material. A thread may be limp, but not made of nothing.
  const auto direct = [&](std::string_view key, double& value, bool zero) {
    Range range = kStiffness;
    range.low_open = !zero;
    if (t.has(key)) value = t.need_number(key, range) * units::un_per_mn;
  };
  direct("stretch_stiffness_mn", m.stretch_stiffness, false);
  direct("bend_stiffness_mn_mm2", m.bend_stiffness, true);
  direct("twist_stiffness_mn_mm2", m.twist_stiffness, true);
  return m;
}

Place read_arc(Table at, const ThreadParams& p) {
  const double length = rest_length(p);
  const double s = at.need_number("s_mm", not_negative);
  if (length > 0 && s > length * (1 + kLengthTolerance))
    at.reject("s_mm", "0.." + std::to_string(length) + ", the thread's rest length", "choose a place on the thread");
  return {.kind = Place::Kind::arc, .vertex = 0, .s_mm = std::min(s, length)};
}

/// `at`. A closed thread begins at its first vertex, but ends nowhere.
Place read_place(Table& t, const ThreadParams& p) {
  constexpr std::string_view must = "\"first\", \"last\", a vertex number or { s_mm = ... }";
  const std::size_t vertices = vertex_count(p);
  switch (t.kind("at")) {
    case Table::Kind::table:
      return read_arc(t.get_table("at"), p);
    case Table::Kind::integer: {
      if (p.coarsest_mm > 0) {
        t.reject("at", "\"first\", \"last\" or { s_mm = ... }", "vertices of an adaptive thread come and go");
        return {};
      }
      const auto last = static_cast<std::int64_t>(vertices > 0 ? vertices - 1 : kMaxPoints);
      const auto vertex = t.need_integer("at", 0, last, "choose a vertex that the thread has");
      return {.kind = Place::Kind::vertex, .vertex = static_cast<std::size_t>(vertex), .s_mm = 0};
    }
    case Table::Kind::text: {
      const auto kind =
          t.need_choice("at", Place::Kind::first, {{"first", Place::Kind::first}, {"last", Place::Kind::last}});
      if (kind == Place::Kind::last && p.closed)
        t.reject("at", "\"first\", a vertex number or { s_mm = ... }", "a closed thread has no last vertex");
      return {.kind = kind, .vertex = 0, .s_mm = 0};
    }
    case Table::Kind::missing:
      t.reject_as("at", "missing", must, "say where on the thread");
      return {};
    default:
      t.reject("at", must, "say where on the thread");
      return {};
  }
}

/// The vertex that a place means. @pre the thread is well drawn
std::size_t vertex_at(const Place& place, const ThreadParams& p) {
  return world::vertex_of(place, vertex_count(p), p.closed, rest_length(p) / static_cast<double>(segment_count(p)));
}

ClampParams read_clamp(Table& t, const ThreadParams& p) {
  using Hold = ClampParams::Hold;
  ClampParams c;
  c.at = read_place(t, p);
  c.hold = t.get_choice("hold", c.hold, {{"position", Hold::position}, {"frame", Hold::frame}});
  c.velocity = t.get_vec3("velocity_mm_per_s", c.velocity, kSpeed);
  const double spin = t.get_number("spin_deg_per_s", 0, between(-1e6, 1e6));
  const Vec3 turn = t.get_vec3("turn_deg_per_s", {}, between(-1e6, 1e6));
  constexpr std::string_view remedy = "only hold = \"frame\" holds what could turn";
  if (c.hold == Hold::position && spin != 0) t.reject("spin_deg_per_s", "0", remedy);
  if (c.hold == Hold::position && !(turn == Vec3{})) t.reject_as("turn_deg_per_s", "not zero", "[0, 0, 0]", remedy);
  c.spin_rad_per_s = spin * units::rad_per_deg;
  c.turn_rad_per_s = units::rad_per_deg * turn;
  const Span span = read_span(t);
  c.from_s = span.from_s;
  c.until_s = span.until_s;
  return c;
}

void read_clamps(Table& t, ThreadParams& p) {
  for (Table& clamp : t.get_tables("clamp", 0, kMaxLoads)) {
    const ClampParams c = read_clamp(clamp, p);
    const bool drawn = clamp.clean() && vertex_count(p) > 0;
    const std::size_t vertex = drawn ? vertex_at(c.at, p) : 0;
    const bool doubled =
        drawn && std::any_of(p.clamps.begin(), p.clamps.end(), [&](const ClampParams& other) {
          return vertex_at(other.at, p) == vertex && c.from_s < other.until_s && other.from_s < c.until_s;
        });
    if (doubled)
      clamp.reject_as("at", "vertex " + std::to_string(vertex) + ", which another clamp holds at the same time",
                      "held by one clamp at a time", "leave one out, or let one end before the other begins");
    p.clamps.push_back(c);
  }
}

ForceParams read_force(Table& t, const ThreadParams& p) {
  ForceParams f;
  f.at = read_place(t, p);
  f.force = units::un_per_mn * t.need_vec3("force_mn", between(-1e9, 1e9));
  f.ramp_s = t.get_number("ramp_s", f.ramp_s, kTime);
  const Span span = read_span(t);
  f.from_s = span.from_s;
  f.until_s = span.until_s;
  return f;
}

/// adaptive, with how long and how many its segments may be.
void read_adaptive(Table& t, ThreadParams& p) {
  const bool adaptive = t.get_bool("adaptive", false);
  const double coarsest = t.get_number("coarsest_mm", kCoarsest * p.segment_mm, between(1e-3, 1e3));
  const auto most = t.get_integer("most_vertices", 0, 0, 65536, "0 takes twice those it begins with, and some");
  for (const char* key : {"coarsest_mm", "most_vertices"})
    if (!adaptive && t.has(key)) t.reject_as(key, "given", "absent where adaptive is not true", "leave it out");
  if (!adaptive) return;
  if (coarsest < 2 * p.segment_mm)
    t.reject("coarsest_mm", "at least two segments of segment_mm, the finest", "lengthen it or leave adaptive out");
  p.coarsest_mm = coarsest;
  p.most_vertices = static_cast<std::size_t>(most);
}

/// The needle that names this thread.
void take_needle(ThreadParams& p, std::vector<NeedleEntry>& needles) {
  for (NeedleEntry& n : needles) {
    if (n.thread != p.name) continue;
    const auto wrong = [&](std::string_view must, std::string_view remedy) { n.table.reject("thread", must, remedy); };
    if (p.needle) wrong("a thread without a needle so far", "a thread has one needle, at one of its ends");
    n.used = true;
    if (p.closed) wrong("an open thread", "a closed thread has no end");
    if (p.coarsest_mm > 0) wrong("a thread that is not adaptive", "segments of a needle keep angles of their own");
    if (p.rest_length_scale != 1) wrong("a thread with rest_length_scale 1", "the needle would be scaled with it");
    if (!(p.material.bend_stiffness > 0 && p.material.twist_stiffness > 0))
      wrong("a thread that resists bending and twist", "give it stiffness");
    const std::string_view length = n.table.has("chord_mm") ? "chord_mm" : "arc_mm";
    if (!p.points.empty() && n.params.arc_mm > drawn_length(p))
      n.table.reject(length,
                     "such that the needle is no longer than its thread, " + std::to_string(drawn_length(p)) + " mm",
                     "draw the thread longer");
    if (n.params.arc_mm < 2 * p.segment_mm)
      n.table.reject(
          length,
          "such that the needle has two segments of its thread at least, " + std::to_string(2 * p.segment_mm) + " mm",
          "shorten segment_mm");
    if (p.needle || !n.table.clean()) continue;
    p.needle = n.params;
    p.needle->material.drag = p.material.drag;
  }
}

void check_segments(Table& t, const ThreadParams& p) {
  const double length = drawn_length(p);
  if (!p.closed && length < 2 * p.segment_mm)
    t.reject("segment_mm", "at most half of the thread's length, " + std::to_string(length) + " mm",
             "give a shorter segment");
  if (p.closed && segment_count(p) < kLeastClosed)
    t.reject("segment_mm", "at most a fifth of the closed thread's length, " + std::to_string(length) + " mm",
             "give a shorter segment");
}

}  // namespace

double rest_length(const ThreadParams& p) {
  return drawn_length(p) * p.rest_length_scale;
}

std::size_t segment_count(const ThreadParams& p) {
  if (p.points.size() < 2 || !(p.segment_mm > 0)) return 0;
  if (p.coarsest_mm > 0 && drawn_length(p) / p.segment_mm < 1e9) return world::grid_of(p).units;
  return static_cast<std::size_t>(std::clamp(std::round(drawn_length(p) / p.segment_mm), 1.0, 1e9));
}

std::size_t vertex_count(const ThreadParams& p) {
  const std::size_t segments = segment_count(p);
  return segments == 0 ? 0 : segments + (p.closed ? 0 : 1);
}

std::vector<NeedleEntry> read_needles(Table& root) {
  std::vector<NeedleEntry> all;
  std::vector<std::string> names;
  for (Table& t : root.get_tables("needle", 0, kMaxThreads, "a thread has one needle at most")) {
    NeedleEntry n;
    world::NeedleParams& p = n.params;
    p.name = read_name(t, "needle" + std::to_string(names.size() + 1), names);
    n.thread = t.need_string("thread", "name the thread whose end it is");
    p.at_last = t.get_choice("at", false, {{"first", false}, {"last", true}});
    p.arc_rad = units::rad_per_deg * t.get_number("arc_deg", 135, between(0, 350), "3/8 of a circle is 135");
    constexpr Range kLength{.low = 0.1, .high = 100};
    if (t.has("chord_mm")) {
      const double chord = t.need_number("chord_mm", kLength), half = 0.5 * p.arc_rad;
      p.arc_mm = half > 1e-9 ? chord * half / std::sin(half) : chord;
      if (t.has("arc_mm")) t.reject_as("arc_mm", "given beside chord_mm", "the only one of the two", "leave one out");
    } else {
      p.arc_mm = t.need_number("arc_mm", kLength, "the length of the wire, 4 to 6.5 is usual; or chord_mm");
    }
    p.wire_mm = t.get_number("wire_diameter_mm", p.wire_mm, between(5e-3, 2), "0.05 to 0.13 is usual");
    const double young_gpa = t.get_number("young_gpa", 200, up_to(1e4));
    const double poisson = t.get_number("poisson", 0.28, {.low = -1, .high = 0.5, .low_open = true});
    const double density = t.get_number("density_kg_per_m3", 7850, up_to(1e6));
    p.material = world::round_thread(young_gpa * units::pa_per_gpa, poisson, density * units::g_per_mm3_per_kg_per_m3,
                                     p.wire_mm, 0);
    p.direction = t.get_vec3("direction", {}, between(-1e6, 1e6));
    p.toward = t.get_vec3("toward", {}, between(-1e6, 1e6));
    const auto needs_length = [&t](const char* key, Vec3 way) {
      if (t.has(key) && !(norm(way) > 0))
        t.reject_as(key, "of no length", "a direction", "leave it out, or say which way");
    };
    needs_length("direction", p.direction);
    needs_length("toward", p.toward);
    if (norm(p.direction) > 0 && norm(p.toward) > 0 &&
        norm(cross(p.direction, p.toward)) < 1e-6 * norm(p.direction) * norm(p.toward))
      t.reject_as("toward", "along direction", "across it", "say to which side the wire bends");
    n.table = t;
    all.push_back(std::move(n));
  }
  return all;
}

ThreadParams read_thread(Table& t, std::vector<std::string>& names, std::vector<NeedleEntry>& needles) {
  using Twist = ThreadParams::TwistMode;
  ThreadParams p;
  p.name = read_name(t, "thread" + std::to_string(names.size() + 1), names);
  p.closed = t.get_bool("closed", p.closed);
  p.points = read_curve(t, p.closed);
  p.segment_mm = t.get_number("segment_mm", p.segment_mm, between(1e-3, 1e3));
  p.diameter_mm = t.get_number("diameter_mm", p.diameter_mm, between(1e-3, 1e2));
  read_adaptive(t, p);
  p.inertial = t.get_choice("integrator", false, {{"low-mass", false}, {"inertial", true}});
  p.rest_shape_as_given = t.get_choice("rest_shape", false, {{"straight", false}, {"as-given", true}});
  p.rest_length_scale = t.get_number("rest_length_scale", p.rest_length_scale, kRestLengthScale);
  p.twist_turns = t.get_number("twist_turns", p.twist_turns, between(-1e3, 1e3));
  p.twist_mode =
      t.get_choice("twist", p.twist_mode, {{"quasi-static", Twist::quasi_static}, {"unknown", Twist::unknown}});
  p.velocity = t.get_vec3("velocity_mm_per_s", p.velocity, kSpeed);
  p.yield_strain = t.get_number("yield_strain", p.yield_strain, {.low = 0, .high = 10});
  if (p.coarsest_mm > 0 && (p.rest_shape_as_given || p.twist_mode == Twist::unknown || p.yield_strain > 0))
    t.reject_as("adaptive", "true", "false where rest_shape is \"as-given\", twist \"unknown\" or yield_strain given",
                "segments of such a thread keep angles of their own");
  if (!p.inertial && !(p.velocity == Vec3{}))
    t.reject_as("velocity_mm_per_s", "not zero", "[0, 0, 0]", "only integrator = \"inertial\" has a velocity to keep");
  p.material = read_material(t, p);
  if (!p.points.empty()) check_segments(t, p);
  take_needle(p, needles);
  read_clamps(t, p);
  for (Table& force : t.get_tables("force", 0, kMaxLoads)) p.forces.push_back(read_force(force, p));
  return p;
}

}  // namespace ligature::config
