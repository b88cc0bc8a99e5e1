#pragma once
/// What touches or holds a thread at one place, as a law between force and motion, and its augmented Lagrangian.
///
/// The place is a point of one segment, c = w0 x_i + w1 x_(i+1) (a vertex: w1 = 0), so every constraint lies inside the
/// band of the implicit step and an iteration over all of them costs one banded factorisation, however many they are.
///
///   contact   gap g = n.c - offset >= 0,  f_n >= 0,  g f_n = 0          (Signorini)
///             |f_t| <= mu f_n; where less, the point sticks: u_t = 0;
///             where equal, f_t opposes the slip u_t                      (Coulomb, exact cone)
///   grip      across the faces, which are in the way, a stiff spring: f_n = -stiffer k u_n
///             along them |f_t - p| <= b; where less, f_t = -k u_t; where equal it slides               (Tresca)
///             b = bound, p = 0 but where a thread leaves the faces aslant, over an arm: Leaving
///
/// u = c - anchor is the motion against the (moving) body during the step. That of contacts is the fixed point f = P(f
/// - k u) for any k > 0, P the projection on the cone ([Alart 1991], natural map); the solver takes Newton steps on the
/// force P(f - k u) and then makes it the new f (method of multipliers [Rockafellar 1976]), so that neither penetration
/// nor creep is left over at convergence, whatever k. k follows the force so that f/k stays about `softness`. For a
/// frozen bound mu f_n each such step minimises a convex function; the bound is refreshed with f_n in each. Where the
/// thread resists a change of the normal force more than k does (bends of few edges), the multiplier would come no
/// nearer than a part of k over that stiffness in each: there the normal force has an augmentation of its own. Friction
/// has not: what slides by rounding over so stiff a spring would not stick. A contact that begins has no friction in
/// its first solve, whose normal force bounds it in the next: held where it was before the step, what slides would be
/// torn off.
#include <Eigen/Core>
#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace ligature::contact {

using Eigen::Matrix3d;
using Eigen::Vector3d;

/// A strand that leaves the faces of a grip at the angle phi to them, over an arm, and presses on it there by N. Of its
/// tension T = N/sin(phi) the arm bears a part along the faces, whether it rubs or not, as a pulley does; and friction
/// on the arm is added to what the faces hold. Drawn out the strand bears exp(mu phi) times what is inside, drawn in
/// exp(-mu phi) times   (Euler, Eytelwein):
///
///   p += T (1 - cos(phi)) e   b += T (1 - exp(-mu phi)) drawn out,  T (exp(mu phi) - 1) drawn in
///
/// with e along the faces and outwards. So one strand is drawn out by bound exp(mu phi), whatever phi, and with another
/// that pulls the other way, of tension T' at phi', by (bound + T' exp(mu phi')) exp(mu phi).
struct Leaving {
  Vector3d along{0, 0, 0};  ///< e; unit                                                                  W
  double angle = 0;         ///< phi, from 0 to pi/2; more lies on the arm outside the faces
  double press = 0;         ///< N, as the last assembly found it; 0 where no strand leaves aslant [uN]
};

struct Constraint {
  enum class Kind : std::uint8_t { contact, grip };
  Kind kind = Kind::contact;
  std::uint32_t vertex = 0;        ///< i
  double w0 = 1, w1 = 0;           ///< weights of x_i and x_(i+1), sum 1
  Vector3d normal{0, 0, 1};        ///< n, from the body to the thread, of a grip across the faces; unit  W
  double offset = 0;               ///< g = n.c - offset                                     [mm]
  double slack = 0;                ///< penetration that may stay in this step: g >= -slack  [mm]
  Vector3d anchor{0, 0, 0};        ///< where the point would be at the end if it stuck      W [mm]
  double friction = 0;             ///< mu; of a grip, of what bends round the arms
  double most = 1e6;               ///< normal force at which a contact gives way [uN]
  double bound = 0;                ///< of a grip, along the faces, without what leaves aslant [uN]
  std::array<Leaving, 2> leaving;  ///< of a grip
  bool bends = true;               ///< what is gripped runs over the arms; of a stiff body false
  std::uint32_t holder = 0;        ///< of a grip: neighbours that one holder has are between the same faces
  double k = 1;                    ///< augmentation; of a grip the stiffness of the pads [uN/mm]
  double stiffer = 1;              ///< times k: augmentation of the normal force
  Vector3d force{0, 0, 0};         ///< multiplier: force on the thread, of a grip zero      W [uN]
  Vector3d direction{0, 0, 0};     ///< of the last slip; zero when it stuck
  bool flipped = false;            ///< slip reversed during this step: the secant is used instead of the tangent
  bool sliding = false;
  int within_bound = 0;  ///< solves on end in which it slid along the secant by less than its bound holds
  bool engaged = false;  ///< a contact in the active set
  bool settled = false;  ///< a grip holds unconditionally until the first solve has moved it with its body
  std::size_t slot = 0;  ///< where the caller keeps its force from step to step
};

/// The force P(f - k u) at point c and its stiffness -df/dc, positive semidefinite and symmetric.
struct Response {
  Vector3d force;
  Matrix3d stiffness;
  double bound = 0;          ///< of the part that can slip [uN]
  Vector3d pulley{0, 0, 0};  ///< p: about which it is bounded [uN]
  double lack = 0;           ///< of a contact's distance from what it keeps, if it touches; negative inside [mm]
  bool active = false;       ///< touches (contact) or holds (grip)
  bool sliding = false;
};
/// @pre `engaged` and `sliding` say which of the cases of the law a contact is in. Remembers in `constraint` the
/// direction of slip. @rt constant time
Response respond(Constraint& constraint, const Vector3d& c) noexcept;

/// After a solve that moved the place by `moved`, of which `fraction` was made: the force that it balanced becomes the
/// constraint's. True when the constraint changes to another case of its law, or is made stiffer because the solve left
/// most of what it lacked. @param gap_now gap() there [mm]
bool move_multiplier(Constraint& constraint, const Response& response, double fraction, const Vector3d& moved,
                     double gap_now) noexcept;

/// The function of c whose negative gradient is respond()'s force, for bound and pulley that stay as they are in
/// `frozen` [uN mm].
double potential(const Constraint& constraint, const Vector3d& c, const Response& frozen) noexcept;

/// Where the constraint acts on the thread at x; behind the last vertex of a closed thread follows the first.
inline std::size_t behind(const std::vector<Vector3d>& x, const Constraint& c) noexcept {
  return c.vertex + 1 == x.size() ? 0 : c.vertex + 1;
}
inline Vector3d place(const std::vector<Vector3d>& x, const Constraint& c) noexcept {
  if (c.w1 == 0) return c.w0 * x[c.vertex];
  return c.w0 * x[c.vertex] + c.w1 * x[behind(x, c)];
}

/// Force of a grip on the thread along its normal. [uN]
inline double across_faces(const Constraint& grip, const Vector3d& c) noexcept {
  return grip.stiffer * grip.k * grip.normal.dot(grip.anchor - c);
}

/// What a grip does to the thread at c, and how far that has slid along the faces beyond what holds it: the anchor
/// follows by as much. Nothing slides before the grip is settled.
struct GripAt {
  Vector3d force{0, 0, 0};  ///< W [uN]
  Vector3d slid{0, 0, 0};   ///< W [mm]
};
GripAt grip_at(const Constraint& grip, const Vector3d& c) noexcept;

/// g without slack; positive = apart. [mm]
inline double gap(const Constraint& constraint, const Vector3d& c) noexcept {
  return constraint.normal.dot(c) - constraint.offset;
}

}  // namespace ligature::contact
