#pragma once
/// What one pair of forceps holds: vertices of threads, each anchored in T.
///
/// Closing below grasp_opening takes what lies between the faces; opening above release_opening, or the loss of the
/// instrument, lets go. A held vertex is a grip constraint (contact/constraint.hpp): it follows its anchor within
/// the give of the pads (0.02 mm) until it is pulled along the faces harder than its share of grip_force and what
/// friction on the arms adds to it, then it slides and takes its anchor along. Across the faces it follows at any pull.
/// Source: thesis 3.6.2 (which fixes the vertices, without slip).
#include <Eigen/Core>
#include <cstdint>

#include "sim/base/fixed_vector.hpp"
#include "sim/base/geometry.hpp"

namespace ligature::instrument {

inline constexpr std::size_t kMostHeld = 128;  ///< vertices in one pair of forceps

struct Held {
  std::uint32_t thread = 0, vertex = 0;
  Vec3 anchor_T;                     ///< where it is held [mm]
  Eigen::Vector3d force_W{0, 0, 0};  ///< on the thread, of the last step [uN]
  double before = 0, behind = 0;     ///< of the thread on either side, what this step may draw in [mm]
};

struct Grasp {
  bool active = false;
  bool armed = false;  ///< was open since the last grasp; closed jaws that meet a thread do not take it, ...
  bool fresh = true;   ///< ... but what lies between them in the first step that they are there in
  bool slid = false;   ///< in the last step
  FixedVector<Held, kMostHeld> held;
  Eigen::Vector3d shed_W{0, 0, 0};  ///< force in the last step on what slid out in it [uN]
  Vec3 aside_W;  ///< by which the jaws stand aside of where the hand has them, pushed; what they hold goes with them
  double parted = 0;        ///< and by which each face stands further from their middle [mm]
  bool frame_held = false;  ///< the material frame of one edge turns with the jaws
  std::uint32_t frame_thread = 0, frame_edge = 0;
  Vec3 frame_d1_T;  ///< its director
};

}  // namespace ligature::instrument
