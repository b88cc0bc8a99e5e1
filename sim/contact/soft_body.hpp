#pragma once
/// A body that deforms, as contact meets it: nodes, a surface of triangles on them, and what forces on nodes do.
///
/// The step of a soft body goes along with that of the strands (coupled_step.hpp), one linearisation each:
///
///   linearise()   the body's own forces at x(), drag and inertia since start() included
///   push()        forces of contacts on nodes, on top of them
///   solve()       step() = A^-1 (all these forces), A the body's linearised implicit step
///   advance()     x() goes on by a part of step(), the surface with it
///
/// compliance() are blocks of the same A^-1, so that pushing a force and solving again moves nodes as it says. A may be
/// an approximation that stays the same from linearisation to linearisation; what it lacks is the next one's step.
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/mesh.hpp"
#include "sim/contact/rings.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

class SelfPairs;

class SoftBody {
 public:
  virtual ~SoftBody() = default;

  /// On nodes 0 .. vertices - 1, where they are now; vertex i is node i.
  virtual const TriangleMesh& surface() const noexcept = 0;
  virtual std::size_t nodes() const noexcept = 0;
  virtual const Vector3d* start() const noexcept = 0;  ///< at the start of the step  W [mm]      (nodes)
  virtual const Vector3d* x() const noexcept = 0;      ///< now  W [mm]                           (nodes)
  /// What its surface keeps of the distance to that of another soft body, which keeps its own share [mm]; 0: they pass
  /// through each other.
  virtual double skin() const noexcept { return 0; }

  /// Where its surface may meet itself; null: it passes through itself, as it does without a skin.
  virtual SelfPairs* self_pairs() const noexcept { return nullptr; }

  /// Begins a step of dt [s] with what is now as its start. @rt this and all below: no allocation
  virtual void begin(double dt) noexcept = 0;
  virtual void linearise() noexcept = 0;
  /// What stands for A has led nowhere: a better one, of where the body is now. @pre linearise(), not yet solve()
  /// @param again although it had one in this step
  virtual void renew([[maybe_unused]] bool again) noexcept {}
  virtual void push(std::uint32_t node, const Vector3d& force) noexcept = 0;  ///< W [uN]
  virtual void solve() noexcept = 0;
  virtual const Vector3d* step() const noexcept = 0;  ///< of the last solve()  W [mm]             (nodes)
  /// Motion of node i for a force on node j, both of the surface. compliance(j, i) is its transpose. [mm/uN]
  virtual Eigen::Matrix3d compliance(std::uint32_t i, std::uint32_t j) const noexcept = 0;
  /// step() of a node of the surface becomes this, until the next solve().
  virtual void lead(std::uint32_t /*node*/, const Vector3d& /*step*/) noexcept {}
  /// Largest fraction of step() that the body bears.
  virtual double reach() const noexcept { return 1; }
  virtual void advance(double fraction) noexcept = 0;
  /// Whether the body bears the straight way there: go_back() need not lead through where it has been.
  virtual bool bears_back(double /*fraction*/) const noexcept { return true; }
  /// Takes back all but a fraction of what the step has moved so far: 0 is undoing it.
  virtual void go_back(double fraction) noexcept = 0;
  /// Ends the step: velocities follow from what it moved.
  virtual void finish() noexcept = 0;

  virtual void add_to(StateHash& hash) const noexcept = 0;
};

/// Where nodes go from where they are: by part of (to - from), or of `to` alone.
struct SoftMotion {
  const Vector3d* to = nullptr;
  const Vector3d* from = nullptr;
  double part = 1;
  Vector3d of(std::uint32_t node) const noexcept {
    return from ? Vector3d(part * (to[node] - from[node])) : Vector3d(part * to[node]);
  }
};

struct SoftVerdict {
  double fraction = 1;    ///< of the move of strands and nodes that brings no centreline to the surface; 1 = all
  std::size_t found = 0;  ///< edges that would pass, or come too near to tell
  /// Pairs of edge and triangle that begin in each other, or of which the edge begins inside: nothing is said of them.
  std::size_t inside = 0;
  std::size_t looked_at = 0;  ///< pairs that a separating plane did not settle
};

/// What a guard stopped, or would have stopped later: an edge of a strand, or a triangle of one body, against a
/// triangle of another.
struct Stopped {
  std::uint32_t strand = 0, edge = 0;  ///< or body, and its triangle
  std::uint32_t body = 0, triangle = 0;
  double kept = 0;          ///< distance that the guard keeps between them [mm]
  double part = 0;          ///< of the move, until when they may go
  double from = 0, to = 1;  ///< what of the edge it is
};

inline constexpr double kCentrelineKept = 0.05;  ///< of its radius, from a thread's centreline to a surface
/// Likewise from a tool's axis: its spheres lie a radius apart, and what came deeper between two of them they would
/// push along the axis instead of out.
inline constexpr double kAxisKept = 0.5;

/// What two surfaces that begin so far apart keep of it at least: `kept`, or half of what they have, which ends at a
/// thousandth of `kept`, so that there is always a direction in which they lie apart. What is nearer than that for once
/// is at least not told from rounding.
inline double least_apart(double distance, double kept) noexcept {
  constexpr double kEnd = 1e-3, kLost = 0.3, kRounding = 1e-3;
  const double half = 0.5 * distance, end = kEnd * kept;
  if (half >= end) return half < kept ? half : kept;
  if (distance > end) return end;
  return distance > kLost * end ? (1 - kRounding) * distance : half;
}

/// While vertices go straight from x to x1 and nodes as told: no centreline comes nearer to the surface than share
/// times `kept` of its radius, or half of where it begins (least_apart). Proven triangle by triangle: by a plane that
/// separates both at both ends of the move, else by conservative advancement [Mirtich 1996].
/// @param x1 one array a strand, where its vertices would end @param passages of strands through the body of this
/// number: of an edge that runs into one, what lies outside is looked at; or null. @param stopped what cut the move
/// short is appended, up to its capacity (body: `number`); or null. @rt bounded, no allocation
SoftVerdict look_soft(const Strand* strands, std::size_t count, const Vector3d* const* x1, const SoftBody& body,
                      const SoftMotion& motion, double share = 1, const std::vector<Passage>* passages = nullptr,
                      std::uint32_t number = 0, double kept = kCentrelineKept,
                      std::vector<Stopped>* stopped = nullptr) noexcept;

}  // namespace ligature::contact
