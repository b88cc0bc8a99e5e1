#include "sim/world/build.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "sim/base/eigen.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/world/grading.hpp"
#include "sim/world/obstacles.hpp"

namespace ligature::world {
namespace {

std::string text(double v) {
  char buffer[32];
  std::snprintf(buffer, sizeof buffer, "%g", v);
  return buffer;
}

bool finite(Vec3 v) {
  return std::isfinite(v.x) && std::isfinite(v.y) && std::isfinite(v.z);
}

/// Collects the first complaint.
class Checker {
 public:
  void range(const std::string& name, double value, double low, double high, const char* remedy) {
    if (!(value >= low && value <= high))
      say(name + " is " + text(value) + ", must be " + text(low) + ".." + text(high) + ": " + remedy);
  }
  void positive(const std::string& name, double value, const char* remedy) {
    if (!(value > 0 && std::isfinite(value))) say(name + " is " + text(value) + ", must be positive: " + remedy);
  }
  void not_negative(const std::string& name, double value, const char* remedy) {
    if (!(value >= 0 && std::isfinite(value))) say(name + " is " + text(value) + ", must not be negative: " + remedy);
  }
  void is_finite(const std::string& name, Vec3 value) {
    if (!finite(value)) say(name + " is not finite: give three numbers");
  }
  void say(std::string message) {
    if (message_.empty()) message_ = std::move(message);
  }
  bool ok() const { return message_.empty(); }
  Result<void> result() const {
    if (ok()) return {};
    return usage_error(message_);
  }

 private:
  std::string message_;
};

std::size_t edge_count(const ThreadParams& t) {
  return grid_of(t).units;
}

/// By hands, while it runs.
bool cuttable(const ThreadParams& t) {
  return !t.closed && grid_of(t).block == 1;
}

/// @returns how many vertices the cuts of a thread double
std::size_t check_cuts(Checker& c, const WorldParams& params, std::size_t thread, const std::string& name) {
  const ThreadParams& t = params.threads[thread];
  const double rest = drawn_length(t) * t.rest_length_scale;
  std::vector<std::size_t> places;
  for (const CutParams& cut : params.cuts) {
    if (cut.thread != thread) continue;
    c.range(name + ".cut.time_s", cut.time_s, 0, kForever, "when it is cut");
    c.range(name + ".cut.s_mm", cut.s_mm, 0, rest * (1 + 1e-9), "a place on it");
    if (!c.ok()) return 0;
    if (!t.closed && edge_count(t) < 2) {
      c.say(name + ".cut is of a thread of one segment, must have two: shorten segment_mm");
      return 0;
    }
    places.push_back(cut_vertex(t, cut.s_mm));
    if (std::count(places.begin(), places.end(), places.back()) > 1)
      c.say(name + ".cut at " + text(cut.s_mm) + " mm meets the vertex of another cut: move it by a segment");
  }
  return places.size();
}

void check_thread(Checker& c, const ThreadParams& t, const std::string& name) {
  for (const Vec3& p : t.points)
    if (!finite(p) || norm(p) > 1e5) return c.say(name + ".points_mm has a point that is not within 1e5 mm: mend it");
  if (t.points.size() < 2) return c.say(name + ".points_mm has fewer than two points: give the two ends at least");
  c.positive(name + ".segment_mm", t.segment_mm, "a tenth to two diameters is usual");
  c.positive(name + ".diameter_mm", t.diameter_mm, "a 10-0 suture has 0.025");
  c.range(name + ".twist_turns", t.twist_turns, -1e4, 1e4, "turns put in at the start");
  c.range(name + ".rest_length_scale", t.rest_length_scale, 1e-3, 1e3, "1 keeps the drawn length");
  c.range(name + ".yield_strain", t.yield_strain, 0, 10, "0 for one that bends back; nylon 0.05 to 0.08");
  c.is_finite(name + ".velocity", t.velocity);
  c.positive(name + ".stretch_stiffness", t.material.stretch_stiffness, "EA in uN");
  c.not_negative(name + ".bend_stiffness", t.material.bend_stiffness, "EI in uN mm^2");
  c.not_negative(name + ".twist_stiffness", t.material.twist_stiffness, "GJ in uN mm^2");
  c.not_negative(name + ".linear_density", t.material.linear_density, "g/mm");
  c.not_negative(name + ".drag", t.material.drag, "air is 4e-5 uN s/mm^2, wet 3e-3");
  if (!c.ok()) return;
  const double length = drawn_length(t);
  if (t.coarsest_mm != 0) {
    c.range(name + ".coarsest_mm", t.coarsest_mm, t.segment_mm, 1e3, "the longest segment of an adaptive thread");
    if (t.rest_shape_as_given || t.twist_mode == ThreadParams::TwistMode::unknown || t.yield_strain > 0)
      c.say(name + ".coarsest_mm is given for a thread that keeps its angles (a curved rest shape, unknown twist, " +
            "yield_strain): leave it out");
    if (!c.ok()) return;
  }
  if (t.closed && !(length / t.segment_mm > 4.5))
    return c.say(name + ".segment_mm is " + text(t.segment_mm) + ", must be at most a fifth of a closed thread, " +
                 text(length / 5) + ": cut it finer");
  if (!(length > t.segment_mm))
    return c.say(name + ".points_mm spans " + text(length) + " mm, must be longer than segment_mm " +
                 text(t.segment_mm) + ": draw it longer or cut it finer");
  if (t.needle) {
    const NeedleParams& n = *t.needle;
    c.positive(name + ".needle.arc_mm", n.arc_mm, "5 is usual");
    c.range(name + ".needle.arc_rad", n.arc_rad, 0, 6.2, "3/8 of a circle is usual");
    c.positive(name + ".needle.wire_mm", n.wire_mm, "0.05 to 0.13 is usual");
    c.positive(name + ".needle.stretch_stiffness", n.material.stretch_stiffness, "EA in uN");
    c.positive(name + ".needle.bend_stiffness", n.material.bend_stiffness, "EI in uN mm^2");
    c.positive(name + ".needle.twist_stiffness", n.material.twist_stiffness, "GJ in uN mm^2");
    c.positive(name + ".bend_stiffness", t.material.bend_stiffness, "a thread with a needle is not limp");
    c.positive(name + ".twist_stiffness", t.material.twist_stiffness, "a thread with a needle is not limp");
    c.not_negative(name + ".needle.linear_density", n.material.linear_density, "g/mm");
    c.is_finite(name + ".needle.direction", n.direction);
    c.is_finite(name + ".needle.toward", n.toward);
    if (t.closed) c.say(name + " is closed and has a needle: open it");
    if (t.coarsest_mm > 0) c.say(name + " is adaptive and has a needle: leave coarsest_mm out");
    if (t.rest_length_scale != 1) c.say(name + ".rest_length_scale is not 1 with a needle: leave it out");
    if (c.ok() && n.arc_mm < 2 * t.segment_mm)
      c.say(name + ".needle.arc_mm is " + text(n.arc_mm) + ", must be two segments at least: shorten segment_mm");
    if (!c.ok()) return;
  }
  if (!(t.material.drag > 0) && !(t.inertial && t.material.linear_density > 0))
    c.say(name + ".drag is 0 and there is no inertia either: nothing resists motion, give one of them");
  if (!(length / t.segment_mm < 1e7)) return;  // too many for any capacity: said later
  const std::size_t vertices = edge_count(t) + (t.closed ? 0 : 1);
  const auto check_place = [&](const Place& at, const std::string& what) {
    if (at.kind == Place::Kind::vertex && at.vertex >= vertices)
      c.say(name + what + " is vertex " + std::to_string(at.vertex) + ", must be 0.." + std::to_string(vertices - 1) +
            ": choose one of them");
    const double rest = length * t.rest_length_scale;
    if (at.kind == Place::Kind::arc && !(at.s_mm >= 0 && at.s_mm <= rest * (1 + 1e-9)))
      c.say(name + what + " is at " + text(at.s_mm) + " mm, must be 0.." + text(rest) + ": choose a place on it");
  };
  for (const ClampParams& clamp : t.clamps) {
    check_place(clamp.at, ".clamp.at");
    c.is_finite(name + ".clamp.velocity", clamp.velocity);
    c.is_finite(name + ".clamp.turn", clamp.turn_rad_per_s);
    c.is_finite(name + ".clamp.spin", {clamp.spin_rad_per_s, clamp.from_s, clamp.until_s});
  }
  for (const ForceParams& force : t.forces) {
    check_place(force.at, ".force.at");
    c.is_finite(name + ".force", force.force);
    c.is_finite(name + ".force times", {force.ramp_s, force.from_s, force.until_s});
  }
}

void check_obstacle(Checker& c, const ObstacleParams& o, const std::string& name) {
  using Shape = ObstacleParams::Shape;
  c.is_finite(name + " velocity", o.velocity);
  c.is_finite(name + " times", {o.from_s, o.until_s, 0});
  const auto place = [&](const char* what, Vec3 at) {
    if (!(norm(at) <= 1e7)) c.say(name + what + " is not within 1e7 mm: mend it");
  };
  place(" point", o.point);
  place(" from", o.from);
  place(" to", o.to);
  if (o.shape == Shape::plane)
    c.range(name + " normal length", norm(o.normal), 1e-6, 1e6, "it points out of the solid");
  else if (o.shape != Shape::mesh)
    c.range(name + " diameter_mm", o.diameter_mm, 1e-3, 1e5, "1 is usual");
  if (o.shape == Shape::cylinder || o.shape == Shape::capsule)
    c.range(name + " length_mm", norm(o.to - o.from), 1e-3, 1e7, "its ends lie apart");
  if (o.shape == Shape::mesh && c.ok()) {
    if (const auto mesh = check_mesh(o.vertices, o.triangles); !mesh)
      c.say(name + " is a mesh that cannot be used, " + mesh.error().message + ": mend it");
  }
}

void check_carried(Checker& c, const std::string& name, Vec3 velocity) {
  c.is_finite(name, velocity);
  c.range(name, norm(velocity), 0, kMostCarried, "mm/s, a clamp is turned by a screw");
}

void check_schedule(Checker& c, const ScheduleEntry& e, const WorldParams& params) {
  using Key = ScheduleEntry::Key;
  c.range("schedule.time_s", e.time_s, 0, kForever, "seconds from the start");
  const bool of_thread = e.key == Key::rest_length_scale || e.key == Key::drag;
  const bool of_obstacle = e.key == Key::obstacle_velocity, of_tissue = e.key == Key::tissue_velocity;
  const std::size_t count = of_thread   ? params.threads.size()
                            : of_tissue ? params.tissues.size()
                                        : params.obstacles.size();
  if ((of_thread || of_obstacle || of_tissue) && e.index >= count)
    return c.say("schedule names " +
                 std::string(of_thread   ? "thread "
                             : of_tissue ? "tissue "
                                         : "obstacle ") +
                 std::to_string(e.index) + ", there are " + std::to_string(count) + ": choose one of them");
  if (of_tissue) {
    check_carried(c, "schedule.value", e.vector);
  } else if (e.key == Key::gravity || of_obstacle) {
    c.is_finite("schedule.value", e.vector);
  } else if (e.key == Key::rest_length_scale) {
    c.range("schedule.value", e.value, 1e-3, 1e3, "1 keeps the drawn length");
    if (params.threads[e.index].needle) c.say("schedule scales a thread with a needle: leave it out");
  } else if (e.key == Key::drag) {
    const ThreadParams& t = params.threads[e.index];
    const bool inert = !(t.inertial && t.material.linear_density > 0);
    c.range("schedule.value", e.value, inert ? 1e-300 : 0, 1e9, "drag, in uN s/mm^2, is what resists motion");
  } else {
    c.range("schedule.value", e.value, 0, 10, "a coefficient of friction");
  }
}

}  // namespace

std::size_t unit_of(const Place& at, const ThreadParams& t) {
  const std::size_t units = edge_count(t);
  return vertex_of(at, units + (t.closed ? 0 : 1), t.closed,
                   drawn_length(t) / static_cast<double>(units) * t.rest_length_scale);
}

namespace {

/// Vertices along thread and needle; the needle's lie such that every edge has its full length and every joint turns by
/// what the wire does between the middles of its edges.
std::vector<Eigen::Vector3d> resample_with_needle(const ThreadParams& thread) {
  std::vector<Vec3> points = thread.points;
  if (!thread.needle->at_last) std::reverse(points.begin(), points.end());
  const NeedleParams& needle = *thread.needle;
  const NeedlePlane plane = needle_plane(thread);
  const std::size_t edges = edge_count(thread);
  const double whole = drawn_length(thread), edge = whole / static_cast<double>(edges), swage = whole - needle.arc_mm;
  std::vector<Eigen::Vector3d> out;
  out.reserve(edges + 1);
  std::size_t k = 0;
  double before = 0;
  for (std::size_t i = 0; i <= edges; ++i) {
    const double s = edge * static_cast<double>(i);
    if (s > swage && i > 0) {
      const double turned = std::max(0.0, s - 0.5 * edge - swage) * needle.arc_rad / needle.arc_mm;
      out.push_back(out.back() + edge * to_eigen(std::cos(turned) * plane.direction + std::sin(turned) * plane.toward));
      continue;
    }
    while (k + 2 < points.size() && before + norm(points[k + 1] - points[k]) <= s)
      before += norm(points[k + 1] - points[k]), ++k;
    const double piece = norm(points[k + 1] - points[k]);
    out.push_back(to_eigen(points[k] + (piece > 0 ? (s - before) / piece : 0.0) * (points[k + 1] - points[k])));
  }
  if (!needle.at_last) std::reverse(out.begin(), out.end());
  return out;
}

}  // namespace

std::vector<Eigen::Vector3d> resample(const ThreadParams& thread) {
  if (thread.needle) return resample_with_needle(thread);
  std::vector<Vec3> points = thread.points;
  if (thread.closed) points.push_back(points.front());
  double length = 0;
  for (std::size_t i = 0; i + 1 < points.size(); ++i) length += norm(points[i + 1] - points[i]);
  const std::size_t edges = edge_count(thread);
  std::vector<Eigen::Vector3d> out;
  out.reserve(edges + 1);
  std::size_t k = 0;
  double before = 0;
  for (std::size_t i = 0; i < edges; ++i) {
    const double s = length * static_cast<double>(i) / static_cast<double>(edges);
    while (k + 2 < points.size() && before + norm(points[k + 1] - points[k]) <= s)
      before += norm(points[k + 1] - points[k]), ++k;
    const double piece = norm(points[k + 1] - points[k]);
    out.push_back(to_eigen(points[k] + (piece > 0 ? (s - before) / piece : 0.0) * (points[k + 1] - points[k])));
  }
  if (!thread.closed) out.push_back(to_eigen(points.back()));
  return out;
}

std::vector<Vec3> wire_of(const ThreadParams& t) {
  std::vector<Vec3> out;
  if (!t.needle) return out;
  const auto vertices = resample(t);
  const double edge = drawn_length(t) / static_cast<double>(vertices.size() - 1);
  const auto edges = std::min(static_cast<std::size_t>(t.needle->arc_mm / edge), vertices.size() - 1);
  const std::size_t first = t.needle->at_last ? vertices.size() - 1 - edges : 0;
  for (std::size_t i = first; i <= first + edges; ++i) out.push_back(from_eigen(vertices[i]));
  return out;
}

Result<void> check(const WorldParams& params, const Capacity& capacity) {
  Checker c;
  c.range("step_s", params.step_s, 1e-5, 0.1, "5 ms is usual");
  c.is_finite("gravity", params.gravity);
  c.range("friction.thread_obstacle", params.friction.thread_obstacle, 0, 10, "0.2 is usual");
  c.range("friction.thread_tool", params.friction.thread_tool, 0, 10, "0.4 is usual");
  c.range("friction.tissue_tool", params.friction.tissue_tool, 0, 10, "0.5 is usual");
  c.range("friction.tissue_tissue", params.friction.tissue_tissue, 0, 10, "0.05 is usual");
  c.range("friction.thread_thread", params.friction.thread_thread, 0, 10, "0.3 is usual");
  c.range("friction.thread_tissue", params.friction.thread_tissue, 0, 10, "0.1 is usual");
  c.range("solver.iterations", params.solver.iterations, 1, 1000, "8 is usual");
  c.range("solver.work", params.solver.work, 0, 1000000, "240 suits a suture");
  c.range("solver.residual_target", params.solver.residual_target, 1e-12, 1, "1e-6 is usual");
  c.positive("motion_scale", params.motion_scale, "world travel per travel of the hand");
  c.not_negative("lost_release_s", params.lost_release_s, "0.3 is usual");
  if (!std::isfinite(params.X_RW.q.x + params.X_RW.q.y + params.X_RW.q.z + params.X_RW.q.w) || !finite(params.X_RW.p))
    c.say("X_RW is not finite: mend [world] of the rig file");
  const Quat q = params.X_RW.q;
  c.range("|q_RW|", std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w), 0.999, 1.001, "give a unit quaternion");
  if (capacity.vertices < 2 || capacity.vertices > kMostVertices)
    c.say("capacity.vertices is " + std::to_string(capacity.vertices) + ", must be 2.." +
          std::to_string(kMostVertices) + ": choose a number in between");
  c.range("solver.implicitness", params.solver.implicitness, 0, 1, "1 is fully implicit");
  if (capacity.contacts < 1 || capacity.contacts > 1000000)
    c.say("capacity.contacts is " + std::to_string(capacity.contacts) + ", must be 1..1000000: 2048 is usual");
  if (params.threads.empty()) c.say("no thread: add one");
  if (params.threads.size() > kMaxThreads)
    c.say("threads are " + std::to_string(params.threads.size()) + ", must be at most " + std::to_string(kMaxThreads) +
          ": remove some");
  if (params.obstacles.size() > kMaxObstacles)
    c.say("obstacles are " + std::to_string(params.obstacles.size()) + ", must be at most " +
          std::to_string(kMaxObstacles) + ": remove some");
  for (std::size_t p = 0; p < params.obstacles.size() && c.ok(); ++p)
    check_obstacle(c, params.obstacles[p], "obstacle " + std::to_string(p));
  for (const ScheduleEntry& e : params.schedule) check_schedule(c, e, params);
  if (params.forceps_present)
    for (std::size_t f = 0; f < kInstruments; ++f) {
      const ForcepsParams& i = params.forceps[f];
      const std::string name = f == 0 ? "forceps left " : "forceps right ";
      c.is_finite(name + "hinge_p_T", i.hinge_p_T);
      c.positive(name + "jaw_length_mm", i.jaw_length_mm, "12 is usual");
      c.range(name + "-hinge_p_T.x", -i.hinge_p_T.x, i.jaw_length_mm, 1e4, "the hinge lies behind the jaws");
      c.range(name + "tip_radius_mm", i.tip_radius_mm, 1e-3, 0.5 * i.jaw_length_mm, "0.25 is usual");
      c.range(name + "jaw_radius_mm", i.jaw_radius_mm, i.tip_radius_mm, 0.5 * i.jaw_length_mm, "0.6 is usual");
      c.range(name + "grasp_opening_rad", i.grasp_opening_rad, 1e-4, 1.5, "0.026 is usual");
      c.range(name + "release_opening_rad", i.release_opening_rad, i.grasp_opening_rad, 1.5, "above grasp_opening_rad");
      c.range(name + "grasp_reach_mm", i.grasp_reach_mm, 1e-3, i.jaw_length_mm, "3 is usual");
      c.positive(name + "grip_force", i.grip_force, "3e5 uN is usual");
      c.positive(name + "hand_stiffness", i.hand_stiffness, "2e5 uN/mm is usual");
      c.positive(name + "max_speed_mm_per_s", i.max_speed_mm_per_s, "400 is usual");
      c.positive(name + "max_turn_rad_per_s", i.max_turn_rad_per_s, "40 is usual");
      c.positive(name + "max_opening_rad_per_s", i.max_opening_rad_per_s, "7 is usual");
    }
  std::size_t pieces = params.threads.size();
  for (std::size_t i = 0; i < params.cuts.size(); ++i) {
    const CutParams& cut = params.cuts[i];
    if (cut.thread >= params.threads.size()) {
      c.say("cut " + std::to_string(i) + " is of thread " + std::to_string(cut.thread) + ", which is none: name one");
      return c.result();
    }
    const auto same = [&](const CutParams& other) { return other.thread == cut.thread; };
    const auto begin = params.cuts.begin();
    const bool opens =
        params.threads[cut.thread].closed && std::none_of(begin, begin + static_cast<std::ptrdiff_t>(i), same);
    if (!opens) ++pieces;
  }
  pieces += capacity.cuts;
  if (capacity.cuts > 0 && !params.cuts.empty())
    c.say("capacity.cuts is " + std::to_string(capacity.cuts) +
          ", must be 0 where cuts are planned: leave them to the hands or to the plan");
  if (params.threads.size() <= kMaxThreads && pieces > kMaxThreads)
    c.say("threads and pieces that cuts make are " + std::to_string(pieces) + ", must be at most " +
          std::to_string(kMaxThreads) + ": leave cuts out");
  std::vector<contact::Obstacle> bodies;
  if (c.ok())
    for (const ObstacleParams& o : params.obstacles) bodies.push_back(build_obstacle(o));
  std::size_t vertices = 0;
  for (std::size_t i = 0; i < params.threads.size() && c.ok(); ++i) {
    const ThreadParams& t = params.threads[i];
    const std::string name = "thread " + (t.name.empty() ? std::to_string(i) : "'" + t.name + "'");
    check_thread(c, t, name);
    if (!c.ok()) break;
    const auto of_thread = [i](const CutParams& cut) { return cut.thread == i; };
    const auto planned = std::count_if(params.cuts.begin(), params.cuts.end(), of_thread);
    const auto doubled = planned + (cuttable(t) ? static_cast<std::ptrdiff_t>(capacity.cuts) : 0);
    if (!(drawn_length(t) / t.segment_mm < 1e6)) {
      c.say(name + ".segment_mm is " + text(t.segment_mm) + ", a millionth of the thread or less: lengthen it");
      break;
    }
    if (t.coarsest_mm > t.segment_mm && planned > 0) {
      c.say(name + " is adaptive and cannot be cut: leave coarsest_mm out");
      break;
    }
    const bool adaptive = grid_of(t).block > 1;  // counted below, once all are known to be well drawn
    const double count = (adaptive ? 0 : drawn_length(t) / t.segment_mm) + 1 + static_cast<double>(doubled);
    if (!(count + static_cast<double>(vertices) < static_cast<double>(capacity.vertices) + 0.5)) {
      c.say(name + " needs " + text(std::round(count)) + " vertices, capacity.vertices leaves " +
            std::to_string(capacity.vertices - vertices) + ": raise it or lengthen segment_mm");
      break;
    }
    const auto x = resample(t);
    if (!adaptive) vertices += x.size();
    vertices += check_cuts(c, params, i, name) + (cuttable(t) ? capacity.cuts : 0);
    if (!c.ok()) break;
    const NeedleSpan needle = needle_span(t);
    const double each = drawn_length(t) / static_cast<double>(t.closed ? x.size() : x.size() - 1);
    for (std::size_t p = 0; p < bodies.size() && c.ok(); ++p)
      for (std::size_t k = 0; k < x.size() && c.ok(); ++k) {
        const double s = each * static_cast<double>(k);
        const bool wire = t.needle && s >= needle.from - 1e-9 * each && s <= needle.to + 1e-9 * each;
        const double radius = 0.5 * (wire ? t.needle->wire_mm : t.diameter_mm);
        const double near = 2 * radius;
        double gap = bodies[p].nearest(x[k], near).distance - radius;
        if (bodies[p].shape() != contact::Obstacle::Shape::plane && (t.closed || k + 1 < x.size()))
          gap = std::min(gap, bodies[p].nearest(x[k], x[(k + 1) % x.size()], near).distance - radius);
        if (gap < -1e-6 * radius - 1e-12)
          c.say(name + " overlaps obstacle " + std::to_string(p) +
                (params.obstacles[p].name.empty() ? "" : " '" + params.obstacles[p].name + "'") + " by " + text(-gap) +
                " mm at vertex " + std::to_string(k) + ": move it away (its axis stays a radius off)");
      }
  }
  const bool adaptive = std::any_of(params.threads.begin(), params.threads.end(),
                                    [&](const ThreadParams& t) { return c.ok() && grid_of(t).block > 1; });
  if (c.ok() && adaptive) {
    const auto nodes = grade(params.threads);
    for (std::size_t i = 0; i < nodes.size() && c.ok(); ++i) {
      const ThreadParams& t = params.threads[i];
      if (grid_of(t).block == 1) continue;
      const std::size_t needed = nodes[i].size() - (t.closed ? 1 : 0), pool = pool_of(t, needed);
      const std::string name = "thread " + (t.name.empty() ? std::to_string(i) : "'" + t.name + "'");
      if (needed > pool)
        c.say(name + " begins with " + std::to_string(needed) + " vertices, most_vertices is " + std::to_string(pool) +
              ": raise it or lengthen segment_mm");
      vertices += pool;
      if (vertices > capacity.vertices)
        c.say(name + " may need " + std::to_string(pool) + " vertices, capacity.vertices leaves " +
              std::to_string(capacity.vertices - std::min(capacity.vertices, vertices - pool)) +
              ": raise it or give most_vertices");
    }
  }
  return c.result();
}

namespace {

/// Units that belong to a vertex: half of either edge.
double units_at(const rod::RodModel& m, std::size_t i) {
  if (m.graded()) return m.joint_length(i) / m.rest_length;
  return !m.closed && (i == 0 || i + 1 == m.vertices()) ? 0.5 : 1.0;
}

}  // namespace

void set_drag(rod::RodModel& m, double drag, double edge) {
  for (std::size_t i = 0; i < m.vertices(); ++i) m.drag[i] = drag * edge * units_at(m, i);
  m.angle_drag = drag * edge * m.radius * m.radius;  // what a turning surface drags along, about
  for (std::size_t i = 0; i < m.sections.angle_drag.size(); ++i) {
    const double radius = m.radius_at(i, 0.5);
    m.sections.angle_drag[i] = drag * edge * radius * radius;
  }
}

void weigh(Thread& t) {
  rod::RodModel& m = t.model;
  for (std::size_t i = 0; i < m.vertices(); ++i) {
    m.weight_mass[i] = t.density * (units_at(m, i) * t.drawn_edge);
    if (t.needle_to > t.needle_from) {
      const double at = static_cast<double>(i) * t.drawn_edge, half = 0.5 * t.drawn_edge;
      const double inside = std::min(at + half, t.needle_to) - std::max(at - half, t.needle_from);
      m.weight_mass[i] += (t.needle_density - t.density) * std::max(0.0, inside);
    }
    m.mass[i] = t.inertial ? m.weight_mass[i] : 0.0;
  }
  set_drag(m, t.drag, t.drawn_edge);
}

namespace {

/// Stiffness, radius and curvature of the needle. @pre rest_length is known
void add_needle(rod::RodModel& m, const ThreadParams& thread, const std::vector<Eigen::Vector3d>& x) {
  const NeedleParams& needle = *thread.needle;
  const NeedleSpan span = needle_span(thread);
  const double l = m.rest_length, whole = l * static_cast<double>(m.edges());
  m.sections = rod::make_sections(m, {{.from = span.from,
                                       .to = span.to,
                                       .stretch = needle.material.stretch_stiffness,
                                       .bend = needle.material.bend_stiffness,
                                       .twist = needle.material.twist_stiffness,
                                       .radius = 0.5 * needle.wire_mm}});
  m.radius = std::max(m.radius, 0.5 * needle.wire_mm);
  m.angles_unknown = true;
  if (m.rest_curvature.empty()) m.rest_curvature.assign(m.vertices(), Eigen::Vector2d::Zero());
  const rod::Twist frames(x, false, 0);
  const NeedlePlane plane = needle_plane(thread);
  // Counted from the first vertex on: a needle there is gone along from its point.
  const Eigen::Vector3d axis = (needle.at_last ? 1.0 : -1.0) * to_eigen(cross(plane.direction, plane.toward));
  for (std::size_t i = 1; i + 1 < m.vertices(); ++i) {
    const double at = static_cast<double>(i) * l;
    const double inside = std::min({at + 0.5 * l, span.to, whole}) - std::max({at - 0.5 * l, span.from, 0.0});
    if (!(inside > 0)) continue;
    const Eigen::Vector3d kb = 2 * std::tan(0.5 * inside * needle.arc_rad / needle.arc_mm) * axis;
    const rod::Directors d = frames.material(needle.at_last ? i : i - 1);  // across the axis, as the wire's edges are
    m.rest_curvature[i] = {kb.dot(d.d2), -kb.dot(d.d1)};
  }
}

rod::RodModel build_model(const ThreadParams& thread, const std::vector<Eigen::Vector3d>& x) {
  const std::size_t n = x.size();
  rod::RodModel m;
  m.closed = thread.closed;
  m.radius = 0.5 * thread.diameter_mm;
  m.stretch_stiffness = thread.material.stretch_stiffness;
  m.bend_stiffness = thread.material.bend_stiffness;
  m.twist_stiffness = thread.material.twist_stiffness;
  m.mass.resize(n);
  m.weight_mass.resize(n);
  m.drag.resize(n);
  m.angles_unknown = thread.twist_mode == ThreadParams::TwistMode::unknown;
  if (thread.rest_shape_as_given) {
    const rod::Twist frames(x, thread.closed, 0);
    std::vector<Eigen::Vector2d> curvature(n, Eigen::Vector2d::Zero());
    double largest = 0;
    for (std::size_t i = 0; i < n; ++i) {
      if (!m.closed && (i == 0 || i + 1 == n)) continue;
      curvature[i] = rod::material_curvature(x[i] - x[m.previous(i)], x[m.next(i)] - x[i],
                                             frames.material(m.previous(i)), frames.joint(i));
      largest = std::max(largest, curvature[i].norm());
    }
    if (largest > 1e-12) {
      m.rest_curvature = std::move(curvature);
      m.angles_unknown = true;  // its bending turns the frames, so that twist is not even
    }
  }
  m.yield_strain = thread.yield_strain;
  if (m.yield_strain > 0) {
    m.angles_unknown = true;
    if (m.rest_curvature.empty()) m.rest_curvature.assign(n, Eigen::Vector2d::Zero());
  }
  return m;
}

}  // namespace

Thread build_thread(const ThreadParams& p, std::size_t origin, const std::vector<std::uint32_t>& nodes,
                    std::size_t pool) {
  std::vector<Eigen::Vector3d> x = resample(p);
  const Grid grid = grid_of(p);
  if (grid.block > 1) {
    const std::vector<Eigen::Vector3d> all = std::move(x);
    x.clear();
    for (std::uint32_t node : nodes)
      if (node < all.size()) x.push_back(all[node]);
  }
  const std::size_t n = x.size();
  std::size_t frames = 0;
  for (const ClampParams& c : p.clamps) frames += c.hold == ClampParams::Hold::frame ? 1 : 0;
  Thread t{.origin = origin,
           .model = {},
           .state = {x, {}, {}, rod::Twist(x, p.closed, frames)},
           .x0 = x,
           .clamps = {},
           .loads = {},
           .drive = {}};
  t.block = grid.block;
  t.pool = pool;
  t.drawn_edge = drawn_length(p) / static_cast<double>(grid.units);
  t.rest_edge = t.drawn_edge;
  if (p.rest_shape_as_given) {
    // As drawn it is to be at rest: an edge is a chord, a little shorter than the curve it stands for.
    double chords = 0;
    for (std::size_t i = 0; i + 1 < n; ++i) chords += (x[i + 1] - x[i]).norm();
    if (p.closed) chords += (x.front() - x.back()).norm();
    t.rest_edge = chords / static_cast<double>(grid.units);
  }
  t.model = build_model(p, x);
  t.model.rest_length = t.rest_edge * p.rest_length_scale;
  if (p.needle) {
    const NeedleSpan span = needle_span(p);
    add_needle(t.model, p, x);
    t.thinnest = 0.5 * std::min(p.diameter_mm, p.needle->wire_mm);
    t.needle_from = span.from;
    t.needle_to = span.to;
    t.needle_density = p.needle->material.linear_density;
  }
  if (grid.block > 1) t.model.node.assign(nodes.begin(), nodes.end());
  t.density = p.material.linear_density;
  t.drag = p.material.drag;
  t.inertial = p.inertial;
  weigh(t);
  t.state.v.assign(n, p.inertial ? to_eigen(p.velocity) : Vector3d::Zero());
  t.state.ease.assign(n, 0.0);
  t.drive.load.assign(n, Vector3d::Zero());
  t.drive.held.reserve(p.clamps.size());
  t.drive.frames.reserve(p.clamps.size());
  const auto vertex_at = [&](const Place& at) {
    if (grid.block == 1) return vertex_of(at, n, p.closed, t.model.rest_length);
    const std::size_t unit = unit_of(at, p);
    return static_cast<std::size_t>(std::lower_bound(nodes.begin(), nodes.end(), unit) - nodes.begin());
  };
  for (std::size_t i = 0; i < p.clamps.size(); ++i) {
    Clamp c;
    c.params = p.clamps[i];
    c.index = i;
    c.vertex = vertex_at(c.params.at);
    t.clamps.push_back(c);
  }
  for (const ForceParams& f : p.forces) t.loads.push_back({f, vertex_at(f.at)});
  if (grid.block > 1) {
    for (auto* v : {&t.state.x, &t.state.v, &t.x0, &t.drive.load}) v->reserve(pool);
    for (auto* v : {&t.model.mass, &t.model.weight_mass, &t.model.drag, &t.state.ease}) v->reserve(pool);
    t.model.node.reserve(pool + 1);
    t.state.twist.reserve(pool);
    t.state.twist.set_nodes(t.model.node);
  }
  t.slots.reserve(pool);
  t.free_slots.reserve(pool);
  for (std::uint32_t i = 0; i < n; ++i) t.slots.push_back(i);
  for (std::size_t i = pool; i-- > n;) t.free_slots.push_back(static_cast<std::uint32_t>(i));
  if (p.twist_turns != 0) t.state.twist.insert(p.twist_turns);
  return t;
}

std::size_t cut_vertex(const ThreadParams& t, double s_mm) {
  const std::size_t edges = edge_count(t);
  const double rest = drawn_length(t) * t.rest_length_scale / static_cast<double>(edges);
  const auto nearest = static_cast<std::size_t>(std::llround(std::max(0.0, s_mm / rest)));
  return t.closed ? nearest % edges : std::clamp<std::size_t>(nearest, 1, edges - 1);
}

Thread build_piece(const Thread& from, std::size_t first_vertex, std::size_t n, std::size_t most_held) {
  const rod::RodModel& model = from.model;
  std::vector<Vector3d> x(n);
  for (std::size_t i = 0; i < n; ++i) x[i] = from.x0[(first_vertex + i) % model.vertices()];
  Thread t{.model = model,
           .state = {x, {}, {}, rod::Twist(x, false, std::max(most_held, from.state.twist.most_held()))},
           .x0 = x,
           .clamps = {},
           .loads = {},
           .drive = {}};
  t.drive.held.reserve(from.clamps.capacity());
  t.drive.frames.reserve(from.clamps.capacity());
  t.clamps.reserve(from.clamps.capacity());
  t.loads.reserve(from.loads.capacity());
  shape_piece(t, from, first_vertex, n);
  return t;
}

void shape_piece(Thread& t, const Thread& from, std::size_t first_vertex, std::size_t n) noexcept {
  const rod::RodModel& model = from.model;
  const auto place = [&](std::size_t i) { return (first_vertex + i) % model.vertices(); };
  t.origin = from.origin;
  t.drawn_edge = from.drawn_edge;
  t.rest_edge = from.rest_edge;
  t.density = from.density;
  t.drag = from.drag;
  t.inertial = from.inertial;
  t.x0.resize(n);
  t.state.x.resize(n);
  for (std::size_t i = 0; i < n; ++i) t.x0[i] = t.state.x[i] = from.x0[place(i)];
  if (t.state.twist.vertices() != n) t.state.twist.shrink(n);
  rod::RodModel& m = t.model;
  m.closed = false;
  m.angles_unknown = model.angles_unknown;
  m.radius = model.radius;
  m.stretch_stiffness = model.stretch_stiffness;
  m.bend_stiffness = model.bend_stiffness;
  m.twist_stiffness = model.twist_stiffness;
  m.rest_length = model.rest_length;
  m.angle_drag = model.angle_drag;
  m.yield_strain = model.yield_strain;
  m.mass.resize(n);
  m.weight_mass.resize(n);
  m.drag.resize(n);
  m.rest_curvature.resize(model.rest_curvature.empty() ? 0 : n);
  if (!model.sections.empty()) {
    using Values = std::vector<double> rod::Sections::*;
    const auto take = [&](Values of, std::size_t count) {
      const auto begin = (model.sections.*of).begin() + static_cast<std::ptrdiff_t>(first_vertex);
      (m.sections.*of).assign(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    for (const Values v : {&rod::Sections::bend, &rod::Sections::twist, &rod::Sections::radius}) take(v, n);
    for (const Values v :
         {&rod::Sections::stretch, &rod::Sections::edge_bend, &rod::Sections::edge_twist, &rod::Sections::angle_drag})
      take(v, n - 1);
    rod::find_body(m, m.sections);
    t.thinnest = *std::min_element(m.sections.radius.begin(), m.sections.radius.end());
    m.radius = *std::max_element(m.sections.radius.begin(), m.sections.radius.end());
    const double before = static_cast<double>(first_vertex) * from.drawn_edge;
    const double length = static_cast<double>(n - 1) * from.drawn_edge;
    t.needle_from = std::clamp(from.needle_from - before, 0.0, length);
    t.needle_to = std::clamp(from.needle_to - before, 0.0, length);
    t.needle_density = from.needle_density;
  } else {
    m.sections.stretch.clear();  // which says that there are none
    m.sections.body_first = m.sections.body_last = 0;
    t.thinnest = from.thinnest;
    t.needle_from = t.needle_to = 0;
  }
  for (std::size_t i = 0; i < n; ++i) {
    const std::size_t j = place(i);
    const bool end = i == 0 || i + 1 == n, was_end = !model.closed && (j == 0 || j + 1 == model.vertices());
    const double share = end && !was_end ? 0.5 : 1.0;
    m.mass[i] = share * model.mass[j];
    m.weight_mass[i] = share * model.weight_mass[j];
    m.drag[i] = share * model.drag[j];
    if (!model.rest_curvature.empty()) m.rest_curvature[i] = end ? Eigen::Vector2d(0, 0) : model.rest_curvature[j];
  }
  t.state.v.assign(n, Vector3d::Zero());
  t.state.ease.assign(n, 0.0);
  t.drive.load.assign(n, Vector3d::Zero());
  t.slots.resize(n);
  for (std::uint32_t i = 0; i < n; ++i) t.slots[i] = i;
}

contact::Obstacle build_obstacle(const ObstacleParams& p) {
  using Shape = ObstacleParams::Shape;
  switch (p.shape) {
    case Shape::plane:
      break;
    case Shape::sphere:
      return contact::Obstacle::sphere(to_eigen(p.point), 0.5 * p.diameter_mm);
    case Shape::cylinder:
      return contact::Obstacle::cylinder(to_eigen(p.from), to_eigen(p.to), 0.5 * p.diameter_mm);
    case Shape::capsule:
      return contact::Obstacle::capsule(to_eigen(p.from), to_eigen(p.to), 0.5 * p.diameter_mm);
    case Shape::mesh: {
      std::vector<Eigen::Vector3d> vertices;
      vertices.reserve(p.vertices.size());
      for (const Vec3& v : p.vertices) vertices.push_back(to_eigen(v));
      return contact::Obstacle::mesh(*contact::TriangleMesh::create(std::move(vertices), p.triangles));
    }
  }
  return contact::Obstacle::plane(to_eigen(p.point), to_eigen(p.normal));
}

instrument::ForcepsModel build_forceps(const ForcepsParams& f, double lost_release_s) {
  instrument::ForcepsModel m;
  m.hinge_p_T = f.hinge_p_T;
  m.jaw_length = f.jaw_length_mm;
  m.tip_radius = f.tip_radius_mm;
  m.jaw_radius = f.jaw_radius_mm;
  m.grasp_opening = f.grasp_opening_rad;
  m.release_opening = f.release_opening_rad;
  m.grasp_reach = f.grasp_reach_mm;
  m.grip_force = f.grip_force;
  m.hand_stiffness = f.hand_stiffness;
  m.max_speed = f.max_speed_mm_per_s;
  m.max_turn = f.max_turn_rad_per_s;
  m.max_opening_rate = f.max_opening_rad_per_s;
  m.lost_release = lost_release_s;
  return m;
}

}  // namespace ligature::world
