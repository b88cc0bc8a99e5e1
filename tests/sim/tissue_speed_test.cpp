/// Threads and forceps driven against a vessel as fast as hands go: nothing ends up inside.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "sim/base/random.hpp"
#include "sim/contact/mesh.hpp"
#include "tests/sim/thread_scene.hpp"

namespace ligature::world {
namespace {

using Eigen::Vector3d;

constexpr double kShown = 2e-6;  // snapshots are of single precision [mm]

/// The vessel's surface as it is shown.
class Surface {
 public:
  explicit Surface(const World& world) : scene_(std::make_unique<SceneSnapshot>()) {
    const TissueSurface of = world.tissue_surfaces()[0];
    std::vector<contact::TriangleMesh::Triangle> triangles;
    for (const TissueTriangle& t : of.triangles) triangles.push_back(t.vertex);
    world.snapshot(*scene_);
    mesh_ = std::move(*contact::TriangleMesh::create(places(), std::move(triangles)));
  }
  /// Least signed distance of a thread's smooth centreline: at its vertices and between them.
  double nearest(const World& world) {
    world.snapshot(*scene_);
    const std::vector<Vector3d> now = places();
    mesh_.deform(now.data());
    const std::vector<Vec3> x = world.shape(0).x;
    double least = 1e9;
    for (std::size_t i = 1; i + 1 < x.size(); ++i)
      for (const double t : {0.0, 0.25, 0.5, 0.75}) {
        const Vec3 p = 0.5 * (1 - t) * (1 - t) * x[i - 1] + (0.5 + t - t * t) * x[i] + 0.5 * t * t * x[i + 1];
        least = std::min(least, mesh_.nearest({p.x, p.y, p.z}, 1e9).distance);
      }
    return least;
  }

 private:
  std::vector<Vector3d> places() const {
    std::vector<Vector3d> out;
    for (const SnapshotVertex& v : scene_->surface) out.push_back({v.x, v.y, v.z});
    return out;
  }
  std::unique_ptr<SceneSnapshot> scene_;
  contact::TriangleMesh mesh_;
};

/// A vessel along x from 0 to 4, its axis at z = 0.
WorldParams vessel_scene() {
  WorldParams p = thread_world(0.005);
  p.solver.iterations = 30;
  p.solver.residual_target = 1e-6;
  TissueParams t;
  t.name = "vessel";
  t.length_mm = 4;
  t.fix_last = true;
  t.around = 16, t.along = 12;
  p.tissues = {t};
  return p;
}

struct Watched {
  double nearest = 1e9;
  std::uint32_t found = 0;
  int inverted = 0;
  double pushed = 0;  ///< the largest force on the vessel [uN]
};

Watched watch(World& world, int steps) {
  Surface surface(world);
  Watched out;
  for (int k = 0; k < steps; ++k) {
    const StepReport r = world.step({});
    EXPECT_FALSE(r.flags & step_non_finite_restored);
    out.found += r.crossings_found;
    const TissueMeasure m = world.measure_tissue(0);
    out.inverted += m.inverted;
    out.pushed = std::max(out.pushed, norm(m.contact_force));
    out.nearest = std::min(out.nearest, surface.nearest(world));
  }
  return out;
}

/// Both ends led along these velocities, each for so long.
struct Leg {
  Vec3 velocity;
  double seconds = 0;
};
void lead(ThreadParams& t, const std::vector<Leg>& legs) {
  for (const Place::Kind end : {Place::Kind::first, Place::Kind::last}) {
    double from = 0;
    for (const Leg& leg : legs) {
      ClampParams c = clamp_at(end, ClampParams::Hold::position);
      c.velocity = leg.velocity;
      c.from_s = from;
      c.until_s = from += leg.seconds;
      t.clamps.push_back(c);
    }
  }
}

// Drawn down over the vessel by half a millimetre, held there and taken away: across it, along it, over its free rim.
TEST(TissueAtSpeed, AThreadPressedAgainstAVesselIsNeverInside) {
  for (const double diameter : {kTen0, 0.1})
    for (const double speed : {20.0, 100.0, 200.0})
      for (const int how : {0, 1, 2}) {
        WorldParams p = vessel_scene();
        p.tissues[0].fix_last = how != 2;
        const double x = how == 2 ? 3.9 : 2.0, z = 0.7;
        const Vec3 along = how == 1 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
        ThreadParams t = nylon({Vec3{x, 0.02, z} - 3 * along, Vec3{x, 0.02, z} + 3 * along}, diameter, 60, 1e-3);
        const double way = 0.7 / speed;
        lead(t, {{{0, 0, -speed}, way}, {{0, 0, 0}, 0.1}, {{0, 0, speed}, way}, {{0, 0, 0}, 0.1}});
        p.threads = {t};
        World world = make_world(p);
        const Watched w = watch(world, static_cast<int>((0.2 + 2 * way) / 0.005) + 1);
        EXPECT_GT(w.nearest, -kShown) << diameter << " mm at " << speed << " mm/s, " << how;
        EXPECT_EQ(w.found, 0u);
        EXPECT_EQ(w.inverted, 0);
        EXPECT_GT(w.pushed, 300) << "it was pressed";
      }
}

// Thrown: nothing holds it, only its own mass drives it.
TEST(TissueAtSpeed, AThreadFlungAtAVesselIsNeverInside) {
  for (const double diameter : {kTen0, 0.1})
    for (const double speed : {20.0, 100.0, 200.0})
      for (const bool fixed : {true, false}) {
        WorldParams p = vessel_scene();
        p.tissues[0].fix_last = fixed;
        ThreadParams t = nylon({{fixed ? 2.0 : 3.9, -2, 1.0}, {fixed ? 2.0 : 3.9, 1, 1.1}}, diameter, 40, 1e-6);
        t.inertial = true;
        t.velocity = {0, 0.3 * speed, -speed};
        p.threads = {t};
        World world = make_world(p);
        const Watched w = watch(world, 60);
        EXPECT_GT(w.nearest, -kShown) << diameter << " mm at " << speed << " mm/s";
        EXPECT_LT(w.nearest, diameter) << "they met";
        EXPECT_EQ(w.found, 0u);
        EXPECT_EQ(w.inverted, 0);
      }
}

// The ends shaken at random, down and up again, the vessel's free end in the middle of it.
TEST(TissueAtSpeed, AThreadShakenAgainstAVesselsFreeEndIsNeverInside) {
  for (const double speed : {100.0, 200.0}) {
    WorldParams p = vessel_scene();
    p.tissues[0].fix_last = false;
    ThreadParams t = nylon({{3.6, -2, 0.9}, {3.6, 2, 0.9}}, kTen0, 60, 1e-3);
    Random random(11);
    std::vector<Leg> legs;
    for (int k = 0; k < 24; ++k)
      legs.push_back({{random.uniform(-0.3, 0.3) * speed, random.uniform(-0.3, 0.3) * speed,
                       (k % 2 == 0 ? -1 : 1) * random.uniform(0.8, 1.0) * speed},
                      0.005 * std::ceil(1.2 / speed / 0.005)});
    lead(t, legs);
    p.threads = {t};
    World world = make_world(p);
    const Watched w = watch(world, 200);
    EXPECT_GT(w.nearest, -kShown) << speed;
    EXPECT_EQ(w.found, 0u);
    EXPECT_EQ(w.inverted, 0);
    EXPECT_GT(w.pushed, 100);
  }
}

// Closed jaws swept sideways against it, tips down, and along its length; and into its free rim from the front.
TEST(TissueAtSpeed, ForcepsSweptAgainstAVesselAreNeverInside) {
  const Quat down = axis_angle({0, 1, 0}, std::numbers::pi / 2);
  struct Sweep {
    Vec3 from, direction;
    double way;
    bool fixed;
  };
  for (const Sweep& sweep :
       {Sweep{{2, 1.3, -0.3}, {0, -1, 0}, 0.9, true}, Sweep{{3.6, 1.3, -0.3}, {0, -1, 0}, 1.4, false},
        Sweep{{4.6, 0.1, -0.3}, {-1, 0, 0}, 0.6, false}})
    for (const double speed : {20.0, 100.0, 200.0}) {
      WorldParams p = vessel_scene();
      p.forceps_present = true;
      p.tissues[0].fix_last = sweep.fixed;
      p.threads = {nylon({{-20, 0, 10}, {-10, 0, 10}}, kTen0, 10, 1e-3)};
      for (ForcepsParams& f : p.forceps) f.max_speed_mm_per_s = 1e4;
      World world = make_world(p);
      InstrumentSample sample;
      double worst = 1e9, pushed = 0;
      std::uint32_t found = 0;
      int inverted = 0;
      const auto at = [&](double s) {
        InstrumentPose& pose = sample.instruments[0];
        pose.status = TrackStatus::tracked;
        pose.confidence = 1;
        pose.X_RT = {down, sweep.from + s * sweep.direction};
        ++sample.sequence;
        found += world.step(sample).crossings_found;
        const TissueMeasure m = world.measure_tissue(0);
        worst = std::min(worst, m.tool_gap_mm);
        pushed = std::max(pushed, norm(m.tool_force));
        inverted += m.inverted;
      };
      const double by = speed * p.step_s;
      for (double s = 0; s < sweep.way; s += by) at(s);
      for (int k = 0; k < 20; ++k) at(sweep.way);
      for (double s = sweep.way; s > 0; s -= by) at(s);
      EXPECT_GT(worst, -0.03) << "of 0.25 mm from the axis of the tip to its surface";
      EXPECT_EQ(found, 0u);
      EXPECT_EQ(inverted, 0);
      EXPECT_GT(pushed, 500);
    }
}

}  // namespace
}  // namespace ligature::world
