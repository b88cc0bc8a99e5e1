#pragma once
/// The peer that a user could pick today: threads as chains of rigid capsules in Bullet 3.24 (Debian's, in single
/// precision), one capsule a segment, of the same radius and length, under the same friction, clamps and end loads.
///
/// What the translation decides, so that the engine is met where it is at its best:
///
///  length    scaled so that the thinnest radius is half a unit: Bullet's margins assume objects of 0.2 units and more.
///  joints    point to point: the cheapest and stiffest that it has. A tight knot's shape is the radius's work, not the
///            bending stiffness's. Where a clamp spins, six-axis joints with the twist locked and springs against
///            bending instead, or there would be no torsion at all.
///  load      Mass is free in a quasi-static scene, and Bullet's joints and contacts open in proportion to T dt^2/m, T
///            the load on a thread and m the mass of a segment; joints start from zero in every step, so that they open
///            by about 2 T dt^2 / (m erp iterations). T/m is chosen so that this is two hundredths of a radius at ten
///            iterations. That is to Bullet's advantage: no hand could be followed so, a loose knot takes tens of
///            seconds to come tight; all therefore begin with the knot that ours pulled tight. Ratios of loads stay as
///            they are.
///  inertia   about a capsule's axis so large that it never turns about it: point-to-point joints carry no twist, and
///            what a strand slides over would roll away under it instead of holding it. As with us, friction then has
///            no rolling moment.
///  damping   for the scene to come to rest, since a thread in air or water does.
///  neighbours  that the radius keeps apart anyway, below pi h of arc, do not collide, as with us.
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "sim/world/params.hpp"
#include "tests/bench/knot_curves.hpp"

namespace ligature::bench {

struct BulletSettings {
  enum class Solver : std::uint8_t { sequential_impulse, nncg };
  std::string name;
  Solver solver = Solver::sequential_impulse;
  int iterations = 10;
  int substeps = 1;           ///< of one step of ours
  double erp = 0.2;           ///< of joints and contacts: share of an error that one step corrects
  bool split_impulse = true;  ///< penetration is pushed out without adding to the speed
  bool friction_anchors =
      false;  ///< friction along two axes that also pulls back what has crept; else one, along the slip
};

class BulletChain {
 public:
  /// @param vertices of each thread at `time_s` [mm]; capsules join them, each as long as the way between two
  BulletChain(const world::WorldParams& params, const std::vector<std::vector<Vec3>>& vertices, double time_s,
              const BulletSettings& settings);
  ~BulletChain();
  /// All bodies as they are in `other` (of the same scene), with these settings.
  BulletChain(const BulletChain& other, const BulletSettings& settings);

  /// One step of params.step_s.
  void step();

  /// From now on loads that last swing by `share` up and down, linearly; held frames turn to and fro at
  /// `spin_rad_per_s`.
  void work(double share, double spin_rad_per_s, double period_s);

  double time_s() const;
  /// Centrelines: through the middle of what a joint left between two capsules. [mm]
  std::vector<Curve> curves() const;
  /// The widest joint, over the radius.
  double worst_joint() const;
  /// Contact points that touch.
  int contacts() const;
  bool finite() const;
  std::uint64_t state_hash() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ligature::bench
