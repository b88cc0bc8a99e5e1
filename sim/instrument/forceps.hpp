#pragma once
/// A pair of forceps as the thread meets it: a pose that follows the hand at a bounded speed, and two arms.
///
///   frame T: origin where the closed tips meet, +x out of the hand, +y from arm `minus` to arm `plus`
///
///            y                    arm plus: round cone, turned by +opening/2 about z through the hinge
///            |   ____-------o
///   hinge    +--|----------------- x        closed, the two cones touch in the plane y = 0
///                ----_______o
///                                 arm minus: the mirror image
///
/// Arm frame A(plus), A(minus): T turned about the hinge with the arm; equal to T when closed.
/// The hand moves in the rig R; the scene lies in it as X_RW. p_WT is scaled by motion_scale about the world's origin,
/// the orientation is not: X_WT = scale(X_RW^-1 X_RT).
#include <array>

#include "sim/base/geometry.hpp"
#include "sim/base/hash.hpp"
#include "sim/contact/round_cone.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::instrument {

struct ForcepsModel {
  Vec3 hinge_p_T{-120, 0, 0};
  double jaw_length = 12;                                 ///< [mm]
  double tip_radius = 0.25;                               ///< [mm]
  double jaw_radius = 0.6;                                ///< jaw_length behind the tip [mm]
  double grasp_opening = 0.026, release_opening = 0.039;  ///< [rad]
  double grasp_reach = 3.0;                               ///< [mm]
  double grip_force = 3e5;                                ///< [uN]
  double hand_stiffness = 2e5;                            ///< of each arm, hand included [uN/mm]
  double max_speed = 400;                                 ///< [mm/s]
  double max_turn = 40;                                   ///< [rad/s]
  double max_opening_rate = 7;                            ///< [rad/s]
  double lost_release = 0.3;                              ///< [s]
};

/// The hand's space to the world's.
struct Mount {
  Pose X_RW;
  double motion_scale = 1;
};
Pose world_pose(const Mount& mount, const Pose& X_RT) noexcept;

class Forceps {
 public:
  explicit Forceps(const ForcepsModel& model = {}) : model_(model) {}
  const ForcepsModel& model() const { return model_; }

  /// Follows the hand for one step. A pose that is not finite counts as lost. Back after a loss longer than
  /// lost_release, or seen for the first time, the instrument appears where it is; otherwise it never jumps.
  void follow(const InstrumentPose& hand, const Mount& mount, double dt) noexcept;

  bool present() const { return present_; }  ///< has ever been seen
  TrackStatus status() const { return status_; }
  /// Lost for so long that it lets go.
  bool given_up() const { return lost_s_ > 0 && lost_s_ >= model_.lost_release; }
  double confidence() const { return confidence_; }
  double opening() const { return opening_; }
  double opening_before() const { return opening_before_; }
  const Pose& X_WT() const { return X_WT_; }
  const Pose& X_WT_before() const { return X_WT_before_; }  ///< at the start of the step

  /// arm 0 = minus, 1 = plus.
  static double side(int arm) { return arm == 0 ? -1.0 : 1.0; }
  Pose X_WA(int arm) const { return X_WT_ * X_TA(arm, opening_); }
  Pose X_WA_before(int arm) const { return X_WT_before_ * X_TA(arm, opening_before_); }
  contact::RoundCone cone_A(int arm) const noexcept;
  /// Closed, the two cones would leave a groove that a strand could be drawn into, and wedge them apart; real jaws,
  /// with flat faces that fingers press together, have none. A third cone, as thick, lies between them while they are
  /// closed and their faces nearer than the tip is thick.
  contact::RoundCone seam_T() const noexcept;
  bool seamless() const noexcept { return closed_ && half_gap(0) < model_.tip_radius; }

  /// Half the distance of the gripping faces at this place of the jaws [mm]. x_T <= 0
  double half_gap(double x_T) const noexcept;
  /// Radius of the jaws there [mm].
  double radius(double x_T) const noexcept;
  /// Whether a thread of this radius, centred there, is between the gripping faces.
  /// @param parted by which each face stands further from the middle, pushed [mm]
  bool between_faces(const Vec3& p_T, double thread_radius, double parted = 0) const noexcept;
  /// Whether such a thread would overlap both arms.
  bool overlap(const Vec3& p_T, double thread_radius) const noexcept;
  /// Inside an arm, where faces can be: what is drawn in over its edge runs on between them.
  bool within_arm(const Vec3& p_T) const noexcept;

  /// The same point squeezed towards y = 0 as far as the closing faces push it.
  Vec3 squeezed(Vec3 p_T, double thread_radius) const noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  Pose X_TA(int arm, double opening) const noexcept;

  ForcepsModel model_;
  bool present_ = false;
  TrackStatus status_ = TrackStatus::lost;
  double lost_s_ = 0;
  double confidence_ = 0;
  Pose X_WT_, X_WT_before_;
  double opening_ = 0, opening_before_ = 0;
  bool closed_ = false;  ///< below grasp_opening, and not above release_opening since
};

}  // namespace ligature::instrument
