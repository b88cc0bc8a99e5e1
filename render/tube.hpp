#pragma once
/// Threads of a snapshot as rings of a smooth tube; the vertex shader sweeps kTubeSides points round each ring.
///
/// The curve is the uniform Catmull-Rom spline through the vertices, so every vertex stays on the
/// drawn centre line. Rings carry a rotation-minimising frame (double reflection, [Wang 2008] ACM TOG 27(1)); a closed
/// thread spreads the angle that is left over after one round evenly. Open ends get rounded caps.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "sim/contract/scene_snapshot.hpp"

namespace ligature::render {

inline constexpr std::uint32_t kTubeSides = 8;
inline constexpr float kWire = 2;
inline constexpr std::size_t kCapRings = 2;
inline constexpr std::size_t kMaxThreadRings = 2 * kMaxSnapshotVertices + kMaxThreads * (2 * kCapRings + 1);

/// One ring; the same layout as in frame.glsl (std430). Everything in W [mm].
struct Ring {
  std::array<float, 3> centre{};
  float radius = 0;
  std::array<float, 3> normal{};  ///< unit, across the curve
  float tilt = 0;                 ///< how much the surface normal leans along the tangent: caps -1..1, else 0
  std::array<float, 3> tangent{};
  float strength = 1;  ///< of the shadow it casts, 0..1; more by kWire where it is steel wire
};
static_assert(sizeof(Ring) == 48);

struct RingRange {
  std::uint32_t first = 0, count = 0;
};

class TubeBuilder {
 public:
  TubeBuilder();
  /// Writes the rings of all threads to `out` and one range per drawn thread. Vertices that are not finite or that
  /// repeat their predecessor are left out; ranges outside the snapshot are cut; a thread of one vertex is not drawn.
  /// @param spacing_mm    wanted distance between rings
  /// @param min_radius_mm thinner threads are drawn this thick, so that a fine suture does not vanish between pixels
  /// @return rings written, at most `capacity`
  /// @rt bounded by kMaxSnapshotVertices and capacity, no allocation
  std::size_t build(const SceneSnapshot& scene, double spacing_mm, double min_radius_mm, Ring* out,
                    std::size_t capacity, FixedVector<RingRange, kMaxThreads>& ranges) noexcept;

 private:
  std::unique_ptr<std::array<Vec3, kMaxSnapshotVertices>> points_;  ///< one cleaned thread
  std::unique_ptr<std::array<bool, kMaxSnapshotVertices>> wire_;    ///< its vertices that are the needle's
};

}  // namespace ligature::render
