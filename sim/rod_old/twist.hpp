#pragma once
/// Quasi-static twist: a twist wave runs 0.9 m in a millisecond, so between two held frames the twist is always even.
///
///    held frame                         held frame
///    o====o====o====o====o====o====o====o          m = (theta_b - theta_a + holonomy) / joints   at every joint
///    between a                                  b
///
/// Reference directors u are carried along in time by parallel transport of each edge's tangent [Bergou 2010]; the
/// angle between the reference director of one edge, transported to the next, and that edge's own is the joint's
/// reference twist. It is followed continuously, so turns beyond 2 pi count. Outside held frames the twist is zero
/// (a free end lets go of it). Source: thesis 4.1.3, [Bergou 2008] section 5.1.
#include <Eigen/Core>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/rod_old/energy.hpp"

namespace ligature::rod_old {

class Twist {
 public:
  /// Reference frames along these vertices, transported in space from the first edge; no frame held.
  /// x: (n), n >= 2
  explicit Twist(const std::vector<Vector3d>& x);

  /// Forgets all twist: reference frames transported in space along x from the first edge, no frame held.
  /// @rt O(n), no allocation
  void restart(const std::vector<Vector3d>& x) noexcept;
  /// Carries the reference frames to the new vertices and follows the turns. @rt O(n), no allocation
  void transport(const std::vector<Vector3d>& x) noexcept;

  /// Holds the material frame of an edge at this angle against its reference director [rad].
  void hold(std::size_t edge, double theta_rad) noexcept;
  /// Holds it with director d1 (made normal to the edge); the turn nearest to the angle it has now, so that
  /// repeated small rotations add up beyond 2 pi.
  void hold_director(std::size_t edge, const Vector3d& d1) noexcept;
  void release(std::size_t edge) noexcept;
  bool held(std::size_t edge) const noexcept { return held_[edge] != 0; }
  bool any_held() const noexcept;

  /// Spreads the twist; to be called after transport() and hold(). @rt O(n), no allocation
  void distribute(double twist_stiffness, double vertex_length) noexcept;

  double joint(std::size_t vertex) const noexcept { return joint_[vertex]; }    ///< twist angle at a vertex [rad]
  double moment(std::size_t vertex) const noexcept { return moment_[vertex]; }  ///< GJ m / l [uN mm]
  double theta(std::size_t edge) const noexcept { return theta_[edge]; }        ///< material angle [rad]
  double turns() const noexcept;                                                ///< sum of the joints / 2 pi
  bool active() const noexcept { return active_; }
  Directors material(std::size_t edge) const noexcept;
  void add_to(StateHash& hash) const noexcept;

 private:
  double reference_joint(std::size_t vertex) const noexcept;

  std::vector<Vector3d> tangent_;    ///< of each edge                                    (n-1)
  std::vector<Vector3d> director_;   ///< reference director u of each edge               (n-1)
  std::vector<double> reference_;    ///< reference twist of each joint, turns followed   (n), ends 0  [rad]
  std::vector<double> theta_;        ///< material angle against u                        (n-1)        [rad]
  std::vector<double> joint_;        ///< twist at each vertex                            (n), ends 0  [rad]
  std::vector<double> moment_;       ///< twisting moment at each vertex                  (n)          [uN mm]
  std::vector<unsigned char> held_;  ///<                                                 (n-1)
  bool active_ = false;
};

/// Parallel transport of v from unit tangent a to unit tangent b: the smallest rotation that takes a to b.
Vector3d parallel_transport(const Vector3d& v, const Vector3d& a, const Vector3d& b) noexcept;

}  // namespace ligature::rod_old
