#include "config/scenario_file.hpp"

#include <algorithm>
#include <cmath>

#include "config/csv_file.hpp"
#include "config/document.hpp"
#include "config/overlap.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "sim/base/units.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::config {

namespace {

using world::ForcepsParams;
using world::PlaneParams;
using world::ThreadParams;

constexpr std::size_t kMaxPoints = 20000;
constexpr std::size_t kMaxPlanes = 8;
constexpr double kTouchTolerance = 1e-6;  // of the radius: a thread drawn touching the plane touches it

double curve_length(const ThreadParams& t) {
  double length = 0;
  for (std::size_t i = 1; i < t.points.size(); ++i) length += norm(t.points[i] - t.points[i - 1]);
  if (t.closed && t.points.size() > 1) length += norm(t.points.front() - t.points.back());
  return length;
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
  if (loaded) return std::move(*loaded);
  t.reject_as("points_file", "not readable as points", "x,y,z per line without header", loaded.error().message);
  return {};
}

world::ThreadMaterial read_material(Table& t, double diameter_mm) {
  const double young_gpa = t.get_number("young_gpa", 2.5, up_to(1e4));
  const double poisson = t.get_number("poisson", 0.4, {.low = -1, .high = 0.5, .low_open = true});
  const double density = t.get_number("density_kg_per_m3", 1140, up_to(1e6));
  const double drag = t.get_number("drag_mn_s_per_mm2", 4e-8, up_to(1.0));
  auto m = world::round_thread(young_gpa * units::pa_per_gpa, poisson, density * units::g_per_mm3_per_kg_per_m3,
                               diameter_mm, drag * units::un_per_mn);
  // Stiffnesses given directly win over those of the material.
  const auto direct = [&](std::string_view key, double& value) {
    if (t.has(key)) value = t.need_number(key, {.low = 0, .high = 1e12, .low_open = true}) * units::un_per_mn;
  };
  direct("stretch_stiffness_mn", m.stretch_stiffness);
  direct("bend_stiffness_mn_mm2", m.bend_stiffness);
  direct("twist_stiffness_mn_mm2", m.twist_stiffness);
  return m;
}

ThreadParams read_thread(Table& t, const std::string& fallback_name) {
  ThreadParams p;
  p.name = t.get_string("name", fallback_name);
  p.closed = t.get_bool("closed", false);
  if (p.closed) t.reject("closed", "false", "closed threads are not supported by this version yet");
  p.points = read_points(t);
  p.segment_mm = t.get_number("segment_mm", p.segment_mm, between(1e-3, 1e3));
  p.diameter_mm = t.get_number("diameter_mm", p.diameter_mm, between(1e-3, 1e2));
  p.inertial = t.get_choice("integrator", false, {{"low-mass", false}, {"inertial", true}});
  p.rest_shape_as_given = t.get_choice("rest_shape", false, {{"straight", false}, {"as-given", true}});
  if (t.get_number("rest_length_scale", 1.0, between(0.1, 10)) != 1.0)
    t.reject("rest_length_scale", "1.0", "other rest lengths are not supported by this version yet");
  p.twist_turns = t.get_number("twist_turns", 0, between(-1e3, 1e3));
  if (!(t.get_vec3("velocity_mm_per_s", {}, between(-1e6, 1e6)) == Vec3{}))
    t.reject_as("velocity_mm_per_s", "not zero", "[0, 0, 0]",
                "a thread that moves at the start is not supported by this version yet");
  if (p.twist_turns != 0)
    t.reject("twist_turns", "0", "free ends hold no twist, and clamps are not supported by this version yet");
  p.material = read_material(t, p.diameter_mm);
  t.refuse_unsupported("clamp", "clamps are");
  t.refuse_unsupported("force", "forces on a thread are");

  if (p.points.size() < 2) return p;
  for (std::size_t i = 1; i < p.points.size(); ++i)
    if (norm(p.points[i] - p.points[i - 1]) < 1e-9) {
      t.reject_as(t.has("points_mm") ? "points_mm" : "points_file", "standing still at point " + std::to_string(i),
                  "points apart from their neighbours", "remove the doubled point");
      break;
    }
  if (p.segment_mm > 0 && curve_length(p) < 2 * p.segment_mm)
    t.reject("segment_mm", "at most half of the thread's length, " + std::to_string(curve_length(p)) + " mm",
             "give a shorter segment");
  return p;
}

/// Vertices after resampling: the segment is rounded so that it divides the whole.
std::size_t vertex_count(const ThreadParams& p) {
  if (p.points.size() < 2 || !(p.segment_mm > 0)) return 0;
  const double segments = std::max(1.0, std::round(curve_length(p) / p.segment_mm));
  if (segments > 1e9) return 1'000'000'000;
  return static_cast<std::size_t>(segments) + (p.closed ? 0 : 1);
}

PlaneParams read_obstacle(Table& t, std::vector<std::string>& names) {
  enum class Shape { plane, other };
  const std::string name = t.get_string("name", "obstacle " + std::to_string(names.size() + 1));
  if (std::find(names.begin(), names.end(), name) != names.end())
    t.reject("name", "another name than the obstacles above", "name each obstacle once");
  names.push_back(name);
  const Shape shape = t.need_choice("shape", Shape::plane,
                                    {{"plane", Shape::plane},
                                     {"cylinder", Shape::other},
                                     {"capsule", Shape::other},
                                     {"sphere", Shape::other},
                                     {"mesh", Shape::other}});
  if (shape == Shape::other) {
    t.reject("shape", "plane", "other obstacles are not supported by this version yet");
    // Their keys are known, so that this one line is what is said.
    for (const auto* key : {"from_mm", "to_mm", "centre_mm"}) t.get_vec3(key, {});
    t.get_number("diameter_mm", 1, positive);
    t.get_string("file", "");
  }
  PlaneParams p;
  p.point = t.get_vec3("point_mm", p.point, between(-1e6, 1e6));
  p.normal = t.get_direction("normal", p.normal);
  if (!(t.get_vec3("velocity_mm_per_s", {}, between(-1e6, 1e6)) == Vec3{}))
    t.reject_as("velocity_mm_per_s", "not zero", "[0, 0, 0]", "moving obstacles are not supported by this version yet");
  const double from = t.get_number("from_s", 0, between(0, 1e9));
  t.get_number("until_s", 1e9, {.low = from, .high = 1e9});
  return p;
}

ForcepsParams read_jaws(Table& t) {
  ForcepsParams p;
  constexpr double deg = units::rad_per_deg;
  p.hinge_p_T = t.get_vec3("hinge_p_T_mm", p.hinge_p_T, between(-1000, 1000));
  p.jaw_length_mm = t.get_number("jaw_length_mm", p.jaw_length_mm, between(0.1, 100));
  p.tip_radius_mm = 0.5 * t.get_number("tip_diameter_mm", 2 * p.tip_radius_mm, between(0.01, 20));
  p.jaw_radius_mm = 0.5 * t.get_number("jaw_diameter_mm", 2 * p.jaw_radius_mm, between(0.01, 20));
  p.grasp_opening_rad = deg * t.get_number("grasp_opening_deg", p.grasp_opening_rad / deg, between(0.01, 45));
  p.release_opening_rad = deg * t.get_number("release_opening_deg", p.release_opening_rad / deg, between(0.01, 60));
  p.grasp_reach_mm = t.get_number("grasp_reach_mm", p.grasp_reach_mm, between(0.01, 100));
  p.grip_force = units::un_per_mn * t.get_number("grip_force_mn", p.grip_force / units::un_per_mn, up_to(1e6));
  p.max_speed_mm_per_s = t.get_number("max_speed_mm_per_s", p.max_speed_mm_per_s, between(1, 1e5));
  p.max_turn_rad_per_s = deg * t.get_number("max_turn_deg_per_s", p.max_turn_rad_per_s / deg, between(1, 1e5));
  p.max_opening_rad_per_s = deg * t.get_number("max_opening_deg_per_s", p.max_opening_rad_per_s / deg, between(1, 1e5));
  if (t.present()) {
    if (p.hinge_p_T.x > -p.jaw_length_mm)
      t.reject_as("hinge_p_T_mm", "in front of the jaws' end", "behind the jaws, x at most -jaw_length_mm",
                  "shorten the jaws or move the hinge back");
    if (p.jaw_radius_mm < p.tip_radius_mm)
      t.reject("jaw_diameter_mm", "at least tip_diameter_mm", "jaws taper towards the tips");
    if (p.release_opening_rad < p.grasp_opening_rad)
      t.reject("release_opening_deg", "at least grasp_opening_deg", "between the two the thread stays as it is");
    if (p.grasp_reach_mm > p.jaw_length_mm) t.reject("grasp_reach_mm", "at most jaw_length_mm", "only the jaws grip");
  }
  return p;
}

void check_start(std::vector<Table>& tables, const world::WorldParams& params) {
  for (std::size_t i = 0; i < params.threads.size(); ++i) {
    const ThreadParams& thread = params.threads[i];
    const double radius = 0.5 * thread.diameter_mm;
    for (const PlaneParams& plane : params.planes) {
      // A straight piece between two points above a plane is above it, so that the drawn points are enough.
      const auto sunk = std::find_if(thread.points.begin(), thread.points.end(), [&](Vec3 p) {
        return dot(plane.normal, p - plane.point) < radius * (1 - kTouchTolerance);
      });
      if (sunk == thread.points.end()) continue;
      tables[i].reject_as(tables[i].has("points_mm") ? "points_mm" : "points_file",
                          "inside a plane at point " + std::to_string(sunk - thread.points.begin()),
                          "at least the thread's radius above every plane", "lift the thread or lower the plane");
      break;
    }
  }
}

void check_overlap(std::vector<Table>& tables, const world::WorldParams& params) {
  const auto overlap = first_overlap(params.threads);
  if (!overlap) return;
  Table& t = tables[overlap->thread_b];
  const bool self = overlap->thread_a == overlap->thread_b;
  t.reject_as(t.has("points_mm") ? "points_mm" : "points_file",
              "overlapping " +
                  (self ? "itself at points " + std::to_string(overlap->point_a) + " and "
                        : "thread '" + params.threads[overlap->thread_a].name + "' at point ") +
                  std::to_string(overlap->point_b),
              "clear of every thread at the start", "move one of the two apart by their radii");
}

Result<Scenario> read(Document document) {
  Table root = document.root();
  Scenario s;
  world::WorldParams& w = s.params;
  s.title = root.get_string("title", "untitled");
  s.duration_s = root.get_number("duration_s", s.duration_s, up_to(1e6));
  enum class Until { time, rest };
  if (root.get_choice("until", Until::time, {{"time", Until::time}, {"rest", Until::rest}}) == Until::rest)
    root.reject("until", "time", "stopping at rest is not supported by this version yet");
  root.get_number("rest_speed_mm_per_s", 1e-4, positive);
  w.step_s = root.get_number("step_ms", w.step_s * 1e3, between(0.01, 100)) * 1e-3;
  w.gravity = units::mm_per_m * root.get_vec3("gravity_m_per_s2", {}, between(-1e3, 1e3));

  Table friction = root.get_table("friction");
  const Range coefficient = between(0, 10);
  w.friction.thread_thread = friction.get_number("thread_thread", w.friction.thread_thread, coefficient);
  w.friction.thread_obstacle = friction.get_number("thread_obstacle", w.friction.thread_obstacle, coefficient);
  w.friction.thread_tissue = friction.get_number("thread_tissue", w.friction.thread_tissue, coefficient);
  w.friction.thread_tool = friction.get_number("thread_tool", w.friction.thread_tool, coefficient);

  Table capacity = root.get_table("capacity");
  s.capacity.vertices = static_cast<std::size_t>(
      capacity.get_integer("vertices", static_cast<std::int64_t>(s.capacity.vertices), 2, kMaxSnapshotVertices));
  s.capacity.contacts = static_cast<std::size_t>(
      capacity.get_integer("contacts", static_cast<std::int64_t>(s.capacity.contacts), 1, 1000000));

  Table solver = root.get_table("solver");
  enum class Contact { standard, other };
  if (solver.get_choice("contact", Contact::standard,
                        {{"default", Contact::standard}, {"nncg", Contact::other}, {"pgs", Contact::other}}) ==
      Contact::other)
    solver.reject("contact", "default", "a choice of contact solver is not supported by this version yet");
  w.solver.iterations = static_cast<int>(solver.get_integer("iterations", w.solver.iterations, 1, 1000));
  w.solver.residual_target = solver.get_number("residual_target", w.solver.residual_target, between(1e-12, 1));

  auto threads = root.get_tables("thread", 1, kMaxThreads, "a scene has at least one thread");
  std::size_t vertices = 0;
  for (Table& t : threads) {
    w.threads.push_back(read_thread(t, "thread" + std::to_string(w.threads.size() + 1)));
    for (std::size_t i = 0; i + 1 < w.threads.size(); ++i)
      if (w.threads[i].name == w.threads.back().name && !w.threads.back().name.empty())
        t.reject("name", "another name than the threads above", "name each thread once");
    const std::size_t count = vertex_count(w.threads.back());
    vertices += count;
    if (vertices > s.capacity.vertices && vertices - count <= s.capacity.vertices)
      t.reject("segment_mm",
               "such that all threads together have at most " + std::to_string(s.capacity.vertices) +
                   " vertices, not " + std::to_string(vertices),
               s.capacity.vertices < kMaxSnapshotVertices ? "lengthen the segments or raise capacity.vertices"
                                                          : "lengthen the segments");
  }

  std::vector<std::string> names;
  for (Table& t : root.get_tables("obstacle", 0, kMaxPlanes)) w.planes.push_back(read_obstacle(t, names));
  if (root.clean()) check_start(threads, w);
  if (root.clean()) check_overlap(threads, w);

  Table jaws = root.get_table("forceps_jaws");
  w.forceps.fill(read_jaws(jaws));
  w.lost_release_s = jaws.get_number("lost_release_s", w.lost_release_s, between(0, 60));
  for (Table& t : root.get_tables("forceps", 0, kInstruments, "one [[forceps]] for left and one for right")) {
    ScenarioForceps f;
    f.name = t.need_choice<const char*>("name", "left", {{"left", "left"}, {"right", "right"}});
    for (const auto& other : s.forceps)
      if (other.name == f.name) t.reject("name", "the other instrument", "one [[forceps]] for left and one for right");
    f.path_file = t.need_path("path_file", Table::PathKind::file);
    if (!f.path_file.empty())
      if (const auto rows = drivers::load_path(f.path_file.string()); !rows)
        t.reject_as("path_file", "not a path", "rows of time, position, quaternion, opening", rows.error().message);
    s.forceps.push_back(std::move(f));
  }

  root.refuse_unsupported("schedule", "schedules are");
  root.refuse_unsupported("cut", "cuts are");
  root.refuse_unsupported("tissue", "tissues are");
  root.refuse_unsupported("needle", "needles are");
  root.refuse_unsupported("suture", "sutures are");

  Table output = root.get_table("output");
  s.output_every_s = output.get_number("every_s", s.output_every_s, up_to(1e6));
  if (auto done = document.finish(); !done) return unexpected(done.error());
  return s;
}

}  // namespace

Result<Scenario> load_scenario(const std::filesystem::path& path) {
  auto document = Document::read(path);
  if (!document) return unexpected(document.error());
  return read(std::move(*document));
}

Result<Scenario> parse_scenario(std::string_view text, const std::filesystem::path& file) {
  auto document = Document::parse(text, file);
  if (!document) return unexpected(document.error());
  return read(std::move(*document));
}

}  // namespace ligature::config
