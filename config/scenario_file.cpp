#include "config/scenario_file.hpp"

#include <algorithm>

#include "config/document.hpp"
#include "config/mesh_file.hpp"
#include "config/overlap.hpp"
#include "config/scenario_parts.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "sim/base/units.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/world/obstacles.hpp"

namespace ligature::config {

namespace {

using world::ForcepsParams;
using world::ObstacleParams;
using world::ThreadParams;

constexpr int kThesisContactIterations = 10;  // of nncg and pgs, unless the file says otherwise
constexpr Range kObstacleDiameter{.low = 1e-3, .high = 1e5};
constexpr double kLeastLength = 1e-3;  // of the axis of an obstacle [mm]

std::string_view shape_name(ObstacleParams::Shape shape) {
  using Shape = ObstacleParams::Shape;
  return shape == Shape::plane      ? "plane"
         : shape == Shape::sphere   ? "sphere"
         : shape == Shape::cylinder ? "cylinder"
         : shape == Shape::capsule  ? "capsule"
                                    : "mesh";
}

/// Keys of other shapes are unknown to this one: each would be ignored.
ObstacleParams read_obstacle(Table& t, std::vector<std::string>& names) {
  using Shape = ObstacleParams::Shape;
  constexpr Range kPlace = between(-1e6, 1e6);
  ObstacleParams p;
  p.name = read_name(t, "obstacle" + std::to_string(names.size() + 1), names);
  p.shape = t.need_choice("shape", Shape::plane,
                          {{"plane", Shape::plane},
                           {"cylinder", Shape::cylinder},
                           {"capsule", Shape::capsule},
                           {"sphere", Shape::sphere},
                           {"mesh", Shape::mesh}});
  switch (p.shape) {
    case Shape::plane:
      p.point = t.get_vec3("point_mm", p.point, kPlace);
      p.normal = t.get_direction("normal", p.normal);
      break;
    case Shape::sphere:
      p.point = t.get_vec3("centre_mm", p.point, kPlace);
      p.diameter_mm = t.need_number("diameter_mm", kObstacleDiameter);
      break;
    case Shape::cylinder:
    case Shape::capsule:
      p.from = t.need_vec3("from_mm", kPlace);
      p.to = t.need_vec3("to_mm", kPlace);
      p.diameter_mm = t.need_number("diameter_mm", kObstacleDiameter);
      if (t.clean() && norm(p.to - p.from) < kLeastLength)
        t.reject_as("to_mm", "where from_mm is", "a micrometre or more from it", "a ball is a sphere");
      break;
    case Shape::mesh:
      if (const auto file = t.need_path("file", Table::PathKind::file); !file.empty()) {
        if (auto mesh = load_mesh(file); mesh) {
          p.vertices = std::move(mesh->vertices);
          p.triangles = std::move(mesh->triangles);
        } else {
          t.reject_as("file", mesh.error().message, "a closed triangle mesh in mm", "mend it, or export it anew");
        }
      }
      break;
  }
  p.velocity = t.get_vec3("velocity_mm_per_s", p.velocity, kSpeed);
  const Span span = read_span(t);
  p.from_s = span.from_s;
  p.until_s = span.until_s;
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
  p.hand_stiffness =
      units::un_per_mn * t.get_number("hand_stiffness_mn_per_mm", p.hand_stiffness / units::un_per_mn, up_to(1e6));
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
  const auto inside = world::first_inside(params.threads, params.obstacles);
  if (!inside) return;
  Table& t = tables[inside->thread];
  t.reject_as(t.has("points_mm") ? "points_mm" : "points_file",
              "inside " + std::string(shape_name(params.obstacles[inside->obstacle].shape)) + " '" +
                  params.obstacles[inside->obstacle].name + "' at point " + std::to_string(inside->point),
              "at least the thread's radius outside of every obstacle", "move one of the two");
}

void check_overlap(std::vector<Table>& tables, const world::WorldParams& params) {
  const auto overlap = first_overlap(params.threads);
  if (!overlap) return;
  Table& t = tables[overlap->thread_b];
  const bool self = overlap->thread_a == overlap->thread_b;
  const std::string a = std::to_string(overlap->point_a), b = std::to_string(overlap->point_b);
  std::string what;
  if (self)
    what = overlap->needle_a && overlap->needle_b   ? "itself, needle on needle"
           : overlap->needle_a || overlap->needle_b ? "its needle at point " + (overlap->needle_a ? b : a)
                                                    : "itself at points " + a + " and " + b;
  else
    what = (overlap->needle_a ? "the needle of " : "") + ("thread '" + params.threads[overlap->thread_a].name) + "' " +
           (overlap->needle_b ? "with its needle" : "at point " + b);
  t.reject_as(t.has("points_mm") ? "points_mm" : "points_file", "overlapping " + what,
              "clear of every thread at the start", "move one of the two apart by their radii");
}

void read_run(Table& root, Scenario& s) {
  s.title = root.get_string("title", "untitled");
  s.duration_s = root.get_number("duration_s", s.duration_s, up_to(1e6));
  s.until_rest = root.get_choice("until", s.until_rest, {{"time", false}, {"rest", true}});
  s.rest_speed_mm_per_s = root.get_number("rest_speed_mm_per_s", s.rest_speed_mm_per_s, up_to(1e6));
  s.params.step_s = root.get_number("step_ms", s.params.step_s * 1e3, between(0.01, 100)) * 1e-3;
  s.params.gravity = units::mm_per_m * root.get_vec3("gravity_m_per_s2", {}, kGravity);
  s.output_every_s = root.get_table("output").get_number("every_s", s.output_every_s, up_to(1e6));
}

world::Friction read_friction(Table t) {
  world::Friction f;
  f.thread_thread = t.get_number("thread_thread", f.thread_thread, kFriction);
  f.thread_obstacle = t.get_number("thread_obstacle", f.thread_obstacle, kFriction);
  f.thread_tissue = t.get_number("thread_tissue", f.thread_tissue, kFriction);
  f.thread_tool = t.get_number("thread_tool", f.thread_tool, kFriction);
  f.tissue_tool = t.get_number("tissue_tool", f.tissue_tool, kFriction);
  f.tissue_tissue = t.get_number("tissue_tissue", f.tissue_tissue, kFriction);
  return f;
}

world::Capacity read_capacity(Table t, std::size_t most_vertices) {
  world::Capacity c;
  const auto count = [&](std::string_view key, std::size_t fallback, std::size_t low, std::size_t high) {
    return static_cast<std::size_t>(t.get_integer(key, static_cast<std::int64_t>(std::min(fallback, high)),
                                                  static_cast<std::int64_t>(low), static_cast<std::int64_t>(high)));
  };
  c.vertices = count("vertices", c.vertices, 2, most_vertices);
  c.contacts = count("contacts", c.contacts, 1, 1000000);
  c.cuts = count("cuts", c.cuts, 0, world::kMostHandCuts);
  return c;
}

world::SolverParams read_solver(Table t) {
  using Linearisation = world::SolverParams::Linearisation;
  world::SolverParams s;
  using Contact = world::SolverParams::Contact;
  s.contact = t.get_choice(
      "contact", s.contact,
      {{"default", Contact::standard}, {"nncg", Contact::nncg}, {"pgs", Contact::pgs}, {"none", Contact::none}});
  const int bound = s.contact == Contact::standard ? s.contact_iterations : kThesisContactIterations;
  s.contact_iterations = static_cast<int>(t.get_integer("contact_iterations", bound, 1, 1000));
  s.iterations = static_cast<int>(t.get_integer("iterations", s.iterations, 1, 1000));
  s.work = static_cast<int>(t.get_integer("work", s.work, 0, 1000000));
  s.residual_target = t.get_number("residual_target", s.residual_target, between(1e-12, 1));
  s.implicitness = t.get_number("implicitness", s.implicitness, between(0, 1));
  s.linearisation = t.get_choice("linearisation", s.linearisation,
                                 {{"full", Linearisation::full}, {"scalar", Linearisation::scalar}});
  return s;
}

/// Reads them all; the line of the thread with which there are too many vertices is the one that is named.
std::vector<Table> read_threads(Table& root, const world::Capacity& capacity, std::size_t most_vertices,
                                std::vector<ThreadParams>& threads) {
  std::vector<NeedleEntry> needles = read_needles(root);
  auto tables = root.get_tables("thread", 1, kMaxThreads, "a scene has one thread to eight");
  std::vector<std::string> names;
  std::size_t vertices = 0;
  for (Table& t : tables) {
    threads.push_back(read_thread(t, names, needles));
    const std::size_t before = vertices;
    const ThreadParams& thread = threads.back();  // of an adaptive one the world counts what it begins with
    vertices += thread.coarsest_mm > 0 ? thread.most_vertices : vertex_count(thread);
    if (vertices > capacity.vertices && before <= capacity.vertices)
      t.reject("segment_mm",
               "such that all threads together have at most " + std::to_string(capacity.vertices) + " vertices, not " +
                   std::to_string(vertices),
               capacity.vertices < most_vertices ? "lengthen the segments or raise capacity.vertices"
                                                 : "lengthen the segments");
  }
  for (NeedleEntry& n : needles)
    if (!n.used) n.table.reject("thread", "the name of a thread", "threads are those above");
  return tables;
}

std::vector<ScenarioForceps> read_forceps(Table& root, std::size_t threads) {
  std::vector<ScenarioForceps> all;
  for (Table& t : root.get_tables("forceps", 0, kInstruments, "one [[forceps]] for left and one for right")) {
    ScenarioForceps f;
    f.name = t.need_choice<const char*>("name", "left", {{"left", "left"}, {"right", "right"}});
    for (const auto& other : all)
      if (other.name == f.name) t.reject("name", "the other instrument", "one [[forceps]] for left and one for right");
    f.path_file = t.need_path("path_file", Table::PathKind::file);
    if (!f.path_file.empty())
      if (const auto rows = drivers::load_path(f.path_file.string()); !rows)
        t.reject_as("path_file", "not a path", "rows of time, position, quaternion, opening", rows.error().message);
    f.aims_file = t.get_path("aims_file", Table::PathKind::file);
    if (!f.aims_file.empty()) {
      const auto rows = drivers::load_aims(f.aims_file.string());
      if (!rows)
        t.reject_as("aims_file", "not aims", "rows of times, thread, end, place, following", rows.error().message);
      else if (std::ranges::any_of(*rows, [&](const drivers::Aim& aim) { return aim.thread >= threads; }))
        t.reject("aims_file", "aims at threads 0.." + std::to_string(std::max<std::size_t>(threads, 1) - 1),
                 "they are counted as they come here");
    }
    all.push_back(std::move(f));
  }
  return all;
}

/// What the world calls each part, and where it stands.
std::vector<ScenarioPart> read_parts(Table& root, const world::WorldParams& w) {
  std::vector<ScenarioPart> parts;
  const auto name_all = [&](std::string_view key, std::size_t most, auto called) {
    auto tables = root.get_tables(key, 0, most);
    for (std::size_t i = 0; i < tables.size(); ++i) parts.push_back({called(i), tables[i].line()});
  };
  name_all("thread", kMaxThreads, [&](std::size_t i) { return "thread '" + w.threads[i].name + "'"; });
  name_all("tissue", world::kMaxTissues, [&](std::size_t i) { return "tissue '" + w.tissues[i].name + "'"; });
  name_all("suture", world::kMaxSutures, [](std::size_t i) { return "suture " + std::to_string(i); });
  name_all("obstacle", world::kMaxObstacles, [](std::size_t i) { return "obstacle " + std::to_string(i); });
  if (const Table capacity = root.get_table("capacity"); capacity.present())
    parts.push_back({"capacity", capacity.line()});
  return parts;
}

/// A needle goes through a wall and turns in the lumen.
void check_needles(Table& root, const world::WorldParams& w) {
  for (Table& t : root.get_tables("needle", 0, kMaxThreads)) {
    const std::string name = t.get_string("thread", "");
    const auto thread = std::find_if(w.threads.begin(), w.threads.end(),
                                     [&](const ThreadParams& p) { return p.name == name && p.needle; });
    if (thread == w.threads.end()) continue;
    for (const world::TissueParams& v : w.tissues) {
      if (!v.vertices.empty()) continue;  // a mesh has none
      if (const double lumen = v.outer_diameter_mm - 2 * v.wall_mm; thread->needle->wire_mm >= lumen) {
        t.reject("wire_diameter_mm", "below " + std::to_string(lumen) + ", the lumen of '" + v.name + "'",
                 "a needle is finer than the vessel that it sews");
        break;
      }
    }
  }
}

Result<Scenario> read(Document document, std::size_t most_vertices) {
  Table root = document.root();
  Scenario s;
  world::WorldParams& w = s.params;
  read_run(root, s);
  w.friction = read_friction(root.get_table("friction"));
  s.capacity = read_capacity(root.get_table("capacity"), most_vertices);
  w.solver = read_solver(root.get_table("solver"));

  auto threads = read_threads(root, s.capacity, most_vertices, w.threads);
  std::vector<std::string> names;
  for (Table& t : root.get_tables("obstacle", 0, world::kMaxObstacles)) w.obstacles.push_back(read_obstacle(t, names));
  w.tissues = read_tissues(root);
  w.sutures = read_sutures(root, w);
  if (root.clean()) check_start(threads, w);
  if (root.clean()) check_overlap(threads, w);
  w.schedule = read_schedule(root, w);
  w.cuts = read_cuts(root, w);
  s.exercise = read_exercise(root, w);
  if (s.exercise && !s.exercise->cuts_s.empty() && !w.cuts.empty())
    root.get_tables("cut", 0, w.cuts.size())
        .front()
        .reject_as("time_s", "planned beside cuts_s of [exercise]", "left out where hands cut",
                   "leave one of the two out");
  // A cut of the scripted trainee takes memory as one of hands does, and either hand may hold a thread then.
  const std::size_t scripted = s.exercise ? s.exercise->cuts_s.size() : 0;
  const std::size_t room = kMaxThreads - std::min(kMaxThreads, w.threads.size());
  if (Table given = root.get_table("capacity"); !given.has("cuts"))
    s.capacity.cuts = std::max(scripted, std::min({2 * scripted, world::kMostHandCuts, room}));
  else if (s.capacity.cuts < scripted)
    given.reject("cuts", std::to_string(scripted) + " or more, as many as cuts_s of [exercise] has",
                 "leave it out to have memory for them");

  Table jaws = root.get_table("forceps_jaws");
  w.forceps.fill(read_jaws(jaws));
  w.lost_release_s = jaws.get_number("lost_release_s", w.lost_release_s, between(0, 60));
  s.forceps = read_forceps(root, w.threads.size());

  if (root.clean()) {
    check_needles(root, w);
    s.parts = read_parts(root, w);
  }
  if (auto done = document.finish(); !done) return unexpected(done.error());
  return s;
}

}  // namespace

Error placed(const Scenario& scenario, const std::filesystem::path& file, Error error) {
  // Names may be the beginning of others: the part that is named first, and of those the longest.
  const ScenarioPart* found = nullptr;
  std::size_t at = std::string::npos;
  for (const ScenarioPart& part : scenario.parts) {
    const std::size_t here = error.message.find(part.called);
    if (here == std::string::npos || here > at) continue;
    if (here == at && found != nullptr && part.called.size() < found->called.size()) continue;
    found = &part;
    at = here;
  }
  error.message =
      file.string() + (found != nullptr ? ":" + std::to_string(found->line) : std::string()) + ": " + error.message;
  return error;
}

std::string read_name(Table& t, std::string_view fallback, std::vector<std::string>& taken) {
  std::string name = t.get_string("name", fallback);
  if (name.empty() || name.find_first_of(",\"") != std::string::npos)
    t.reject("name", "a name without commas and quotes", "the name becomes a column of CSV files");
  if (std::find(taken.begin(), taken.end(), name) != taken.end())
    t.reject_as("name", "'" + name + "' again", "another name than those above", "give each its own name");
  taken.push_back(name);
  return name;
}

Span read_span(Table& t) {
  Span span;
  span.from_s = t.get_number("from_s", span.from_s, kTime);
  span.until_s = t.get_number("until_s", span.until_s, {.low = span.from_s, .high = world::kForever, .low_open = true});
  return span;
}

Result<Scenario> load_scenario(const std::filesystem::path& path, std::size_t most_vertices) {
  auto document = Document::read(path);
  if (!document) return unexpected(document.error());
  return read(std::move(*document), most_vertices);
}

Result<Scenario> parse_scenario(std::string_view text, const std::filesystem::path& file, std::size_t most_vertices) {
  auto document = Document::parse(text, file);
  if (!document) return unexpected(document.error());
  return read(std::move(*document), most_vertices);
}

}  // namespace ligature::config
