#pragma once
/// Forceps let loose on the whole scene of the anastomosis, every number from a seed, and independent looks at whether
/// anything is where it cannot be.
///
///   strands    of threads and needle: none passed through another, each move of a step looked at where the step as a
///              whole is not proven (knot_handling.hpp)
///   inside     a place of the thread is in a wall where the surface winds round it once (solid angles of all its
///              triangles over 4 pi [van Oosterom 1983]); between the holes of its own channel it may be
///   arms       a place of an arm's axis is in a wall, likewise; and how far the surface of the tissue lies from the
///              arm's own, as the world measures it: negative is pressed in
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <memory>
#include <numbers>
#include <ostream>
#include <string>

#include "appliance/rt/clock.hpp"
#include "appliance/sim/quantiles.hpp"
#include "config/scenario_file.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "tests/sim/knot_handling.hpp"

namespace ligature::world::handled {

inline Vec3 vec(const SnapshotVertex& v) {
  return {v.x, v.y, v.z};
}

/// Times that the surface winds round the place: 1 inside, 0 outside.
inline double winding(const TissueSurface& surface, const SnapshotVertex* at, Vec3 place) {
  double sum = 0;
  for (const TissueTriangle& t : surface.triangles) {
    const Vec3 a = vec(at[t.vertex[0]]) - place, b = vec(at[t.vertex[1]]) - place, c = vec(at[t.vertex[2]]) - place;
    const double la = norm(a), lb = norm(b), lc = norm(c);
    sum += 2 * std::atan2(dot(a, cross(b, c)), la * lb * lc + dot(a, b) * lc + dot(b, c) * la + dot(c, a) * lb);
  }
  return sum / (4 * std::numbers::pi);
}
/// From the place to the nearest corner or middle of a triangle: not less than that to the surface.
inline double depth_at_most(const TissueSurface& surface, const SnapshotVertex* at, Vec3 place) {
  double nearest = 1e9;
  for (const TissueTriangle& t : surface.triangles) {
    const Vec3 a = vec(at[t.vertex[0]]), b = vec(at[t.vertex[1]]), c = vec(at[t.vertex[2]]);
    nearest = std::min({nearest, norm(a - place), norm((1 / 3.0) * (a + b + c) - place)});
  }
  return nearest;
}

constexpr double kBesideHole_mm = 0.15;  // that a thread may be in the wall next to its channel

/// Clears the marks of what of thread 0 lies in the channel that a hole in this tissue is of: between its two holes, or
/// from the only one that there is yet on towards the needle's point, as far as the thread has not come out.
inline void leave_channel(std::vector<bool>& in, const ThreadShape& shape, const SceneFacts& facts,
                          const FactHole& hole, std::size_t tissue) {
  if (hole.thread != 0 || hole.tissue != tissue) return;
  double low = hole.s_mm, high = hole.s_mm;
  bool lone = true;
  for (const FactHole& mate : facts.holes)
    if (&mate != &hole && mate.stitch == hole.stitch && mate.tissue == hole.tissue && mate.thread == hole.thread)
      low = std::min(low, mate.s_mm), high = std::max(high, mate.s_mm), lone = false;
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (shape.s_mm[i] <= low - kBesideHole_mm) continue;
    if (shape.s_mm[i] >= high + kBesideHole_mm && !(lone && in[i])) break;
    in[i] = false;
  }
}

constexpr double kBehind_mm = 0.5;   // that p99 of the lag of what is held is to stay below
constexpr double kArmLooked_mm = 8;  // behind the tip; vessels are 1 mm thick

struct Outcome {
  int steps = 0, grasps = 0, pierced = 0, prevented = 0, found = 0, not_finite = 0;
  int crooked = 0;            ///< steps that the proof for straight motion does not reach
  int unproven = 0;           ///< steps with a move that it does not reach
  int passed = 0;             ///< steps in which a strand passed through another
  int touching = 0;           ///< steps in which an arm or a thread pressed on tissue
  int inverted_in_a_row = 0;  ///< steps, at most
  int behind_in_a_row = 0;    ///< steps with what is held or an arm more than kBehind_mm from where it is led, at most
  int refused_in_a_row = 0;   ///< ... of which no force pushed an arm by that much, at most
  int inside = 0;             ///< places of the thread found in a wall where it has no channel
  double deepest_mm = 0;      ///< of those, at most
  double arm_gap_mm = 1e9;    ///< least
  int arms_inside = 0;        ///< places of the axes of arms found in a wall
  double farthest_mm = 0;     ///< of a vertex from the origin: nothing flies away
  std::uint64_t hash = 0;
  simulate::Quantiles step_ms;  ///< processor time of a step under these hands
};

/// A hand that goes to random places in a box round the vessel, fast or slowly, turns, opens and closes.
class RandomHand {
 public:
  RandomHand(Random& random, Pose start, double opening_rad, bool closed)
      : random_(random), pose_(start), base_(start.q), opening_(opening_rad), stays_closed_(closed) {
    choose();
  }
  void step(double dt) {
    if (--left_ <= 0) choose();
    const Vec3 way = to_ - pose_.p;
    const double far = norm(way), by = speed_ * dt;
    pose_.p = far <= by ? to_ : pose_.p + (by / far) * way;
    pose_.q = normalized(slerp(pose_.q, turn_to_, 0.03));
    opening_ += std::clamp(opening_to_ - opening_, -0.5 * dt, 0.5 * dt);
  }
  InstrumentPose sample() const {
    InstrumentPose p;
    p.status = lost_ ? TrackStatus::lost : TrackStatus::tracked;
    p.confidence = lost_ ? 0 : 1;
    p.X_RT = pose_;
    p.opening_rad = std::max(0.0, opening_);
    return p;
  }

 private:
  void choose() {
    to_ = {random_.uniform(-2.2, 2.2), random_.uniform(-1.2, 1.2), random_.uniform(1.3, 3.6)};
    speed_ = 5 * std::pow(40.0, random_.uniform());  // to 200 mm/s
    left_ = 1 + static_cast<int>(random_.uniform(0, 80));
    const Vec3 axis = link::random_in_ball(random_, 1);
    turn_to_ = normalized(axis_angle((1 / std::max(norm(axis), 1e-6)) * axis, random_.uniform(0, 0.6)) * base_);
    constexpr double kRadPerDeg = std::numbers::pi / 180;
    if (!stays_closed_ || random_.uniform() < 0.1)
      opening_to_ = random_.uniform() < 0.5 ? 0 : random_.uniform(0, 2) * kRadPerDeg, stays_closed_ = false;
    lost_ = random_.uniform() < 0.03;
  }
  Random& random_;
  Pose pose_;
  Quat base_, turn_to_;
  double opening_ = 0, opening_to_ = 0, speed_ = 0;
  Vec3 to_;
  int left_ = 0;
  bool stays_closed_ = false, lost_ = false;
};

struct Case {
  std::uint64_t seed = 0;
  double script_s = 0;  ///< the scripted trainee until then
  int steps = 0;        ///< at random after that
  double grip_mn = 0;   ///< of the jaws; 0: the scenario's
  double step_ms = 5;   ///< 0: the scenario's
};

inline void PrintTo(const Case& c, std::ostream* out) {
  *out << "seed " << c.seed << ", from " << c.script_s << " s";
}

inline Outcome handle(const Case& c, Executor* executor = nullptr) {
  Outcome out;
  auto scenario = config::load_scenario(std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/anastomosis/stitch.toml");
  EXPECT_TRUE(scenario) << scenario.error().message;
  if (!scenario) return out;
  WorldParams& p = scenario->params;
  p.X_RW = {};
  p.motion_scale = 1;
  p.forceps_present = true;
  if (c.grip_mn > 0)
    for (ForcepsParams& f : p.forceps) f.grip_force = 1e3 * c.grip_mn;
  if (c.step_ms > 0) p.step_s = 1e-3 * c.step_ms;
  auto made = World::create(p, scenario->capacity);
  EXPECT_TRUE(made) << made.error().message;
  if (!made) return out;
  World world = std::move(*made);
  world.use_executor(executor);
  std::array<drivers::ForcepsPath, kInstruments> script;
  for (const auto& f : scenario->forceps) {
    const auto path = drivers::load_path(f.path_file.string());
    EXPECT_TRUE(path);
    if (path) script[f.name == "right" ? 1 : 0] = *path;
  }

  Random random(c.seed);
  InstrumentSample sample;
  const double dt = p.step_s;
  int row = 0, behind = 0, refused = 0;
  const auto surfaces = world.tissue_surfaces();
  const auto scene = std::make_unique<SceneSnapshot>();
  const auto facts = std::make_unique<SceneFacts>();
  knots::Way moves{&world, {}};
  const auto take = [&](bool look) {
    ++sample.sequence;
    const std::vector<knots::Line> before = look ? knots::lines_of(world) : std::vector<knots::Line>{};
    if (look) moves.places.assign(1, before);
    const std::int64_t begun_ns = rt::processor_now_ns();
    const StepReport r = world.step(sample);
    if (look) out.step_ms.add(static_cast<double>(rt::processor_now_ns() - begun_ns) / rt::kNsPerMs);
    ++out.steps;
    out.grasps += (r.flags & step_grasped) != 0;
    out.pierced += (r.flags & step_pierced) != 0;
    behind = r.held_lag_mm > kBehind_mm ? behind + 1 : 0;
    out.behind_in_a_row = std::max(out.behind_in_a_row, behind);
    refused = r.refused_mm > kBehind_mm ? refused + 1 : 0;
    out.refused_in_a_row = std::max(out.refused_in_a_row, refused);
    out.not_finite += (r.flags & step_non_finite_restored) != 0;
    out.prevented += static_cast<int>(r.crossings_prevented);
    out.found += static_cast<int>(r.crossings_found);
    int inverted = 0;
    bool touching = false;
    for (std::size_t k = 0; k < world.tissue_count(); ++k) {
      const TissueMeasure m = world.measure_tissue(k);
      inverted += m.inverted;
      out.arm_gap_mm = std::min(out.arm_gap_mm, m.tool_gap_mm);
      touching = touching || norm(m.contact_force) + norm(m.tool_force) > 0;
    }
    out.touching += touching;
    row = inverted > 0 ? row + 1 : 0;
    out.inverted_in_a_row = std::max(out.inverted_in_a_row, row);
    if (!look) return;
    const std::vector<knots::Line> after = knots::lines_of(world);
    for (const knots::Line& line : after)
      for (const Vec3& x : line.x) out.farthest_mm = std::max(out.farthest_mm, norm(x));
    if (knots::look(before, after, p.threads[0].diameter_mm).unproven > 0) {
      ++out.crooked;
      moves.places.push_back(after);
      const knots::Look seen = moves.look(p.threads[0].diameter_mm);
      out.unproven += seen.unproven > 0;
      out.passed += seen.passed > 0;
    }
    if (out.steps % 8 != 0) return;
    world.snapshot(*scene);
    world.facts(*facts);
    for (const ArmShape& arm : world.arms())
      for (std::size_t i = 0; i < arm.x.size(); ++i)
        for (std::size_t k = 0; k < surfaces.size(); ++k) {
          if (norm(arm.x[i] - arm.x[0]) > kArmLooked_mm) continue;
          const SnapshotVertex* at = scene->surface.data() + scene->tissues[k].first_vertex;
          out.arms_inside += winding(surfaces[k], at, arm.x[i]) >= 0.5;
        }
    const ThreadShape shape = world.shape(0);
    std::vector<bool> in(shape.x.size());
    for (std::size_t k = 0; k < surfaces.size(); ++k) {
      const SnapshotVertex* at = scene->surface.data() + scene->tissues[k].first_vertex;
      for (std::size_t i = 0; i < in.size(); ++i) in[i] = winding(surfaces[k], at, shape.x[i]) >= 0.5;
      for (const FactHole& hole : facts->holes) leave_channel(in, shape, *facts, hole, k);
      for (std::size_t i = 0; i < in.size(); ++i) {
        if (!in[i]) continue;
        ++out.inside;
        out.deepest_mm = std::max(out.deepest_mm, depth_at_most(surfaces[k], at, shape.x[i]));
      }
    }
  };

  std::array<drivers::PathKey, kInstruments> key;
  const int scripted = static_cast<int>(std::lround(c.script_s / dt));
  for (int k = 0; k <= scripted; ++k) {
    for (std::size_t h = 0; h < kInstruments; ++h) {
      key[h] = drivers::interpolate(script[h], drivers::PathBlend::linear, k * dt);
      InstrumentPose& pose = sample.instruments[h];
      pose.status = TrackStatus::tracked;
      pose.confidence = 1;
      pose.X_RT = key[h].X;
      pose.opening_rad = key[h].opening_rad;
    }
    take(false);
  }
  world.observe_stages(&knots::Way::seen, &moves);
  std::array<RandomHand, kInstruments> hands{RandomHand(random, key[0].X, key[0].opening_rad, false),
                                             RandomHand(random, key[1].X, key[1].opening_rad, c.script_s > 0)};
  for (int k = 0; k < c.steps; ++k) {
    for (std::size_t h = 0; h < kInstruments; ++h) {
      hands[h].step(dt);
      sample.instruments[h] = hands[h].sample();
    }
    take(true);
  }
  out.hash = world.state_hash();
  return out;
}

inline void report(const Case& c, const Outcome& o) {
  std::printf(
      "seed %llu from %.1f s: %d steps, %d touching, grasps %d, pierced %d, prevented %d, found %d, crooked %d, "
      "unproven %d, passed %d, inside %d (%.4f mm), arms inside %d, arm gap %.4f mm, inverted in a row %d, behind "
      "in a row %d, refused in a row %d, farthest %.1f mm, step p50 %.1f p90 %.1f p99 %.1f max %.1f ms\n",
      static_cast<unsigned long long>(c.seed), c.script_s, o.steps, o.touching, o.grasps, o.pierced, o.prevented,
      o.found, o.crooked, o.unproven, o.passed, o.inside, o.deepest_mm, o.arms_inside, o.arm_gap_mm,
      o.inverted_in_a_row, o.behind_in_a_row, o.refused_in_a_row, o.farthest_mm, o.step_ms.at(0.5), o.step_ms.at(0.9),
      o.step_ms.at(0.99), o.step_ms.max());
}

inline void expect_nothing_broken(const Outcome& o) {
  EXPECT_EQ(o.not_finite, 0);
  EXPECT_EQ(o.found, 0);
  EXPECT_EQ(o.passed, 0);
  EXPECT_EQ(o.inside, 0) << "at most " << o.deepest_mm << " mm";
  EXPECT_EQ(o.arms_inside, 0) << "pressed in by at most " << -o.arm_gap_mm << " mm";
  EXPECT_LE(o.inverted_in_a_row, 1);
  EXPECT_LT(o.farthest_mm, 100);
}

}  // namespace ligature::world::handled
