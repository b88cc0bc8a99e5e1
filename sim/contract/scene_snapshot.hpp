#pragma once
/// All that the picture, the recorder and the reports may know of one instant of the simulated world.
/// Written by world.snapshot(), read by render and appliance. Fixed size, trivially copyable, lengths in mm.
#include <array>
#include <cstdint>

#include "sim/base/fixed_vector.hpp"
#include "sim/base/geometry.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature {

inline constexpr std::size_t kMaxSnapshotVertices = 4096;
inline constexpr std::size_t kMaxThreads = 8;
inline constexpr std::size_t kMaxSurfaces = 4;
inline constexpr std::size_t kMaxSurfaceVertices = 8192;  ///< of all tissues
inline constexpr std::size_t kMaxHoles = 64;

struct SnapshotVertex {
  float x = 0, y = 0, z = 0;  ///< p_WV_W [mm]
};

struct SnapshotThread {
  std::uint32_t first_vertex = 0;  ///< index into SceneSnapshot::vertices
  std::uint32_t vertex_count = 0;  ///< that there is room for in it
  float radius_mm = 0;
  bool closed = false;
  /// Its stiff end of wire: vertices of it, counted from first_vertex on; none: needle_count 0.
  std::uint32_t needle_first = 0, needle_count = 0;
  float needle_radius_mm = 0;
  std::uint32_t origin = 0;  ///< the thread that it was, or was a piece of, at the start
};

/// The surface of a tissue; which triangles it has is told once (tissue_surface.hpp).
struct SnapshotTissue {
  std::uint32_t first_vertex = 0;  ///< index into SceneSnapshot::surface
  std::uint32_t vertex_count = 0;  ///< 0: the picture has no room for it
};

/// Where a thread goes into a wall or comes out of it.
struct SnapshotHole {
  SnapshotVertex place;  ///< its centre
  float radius_mm = 0;
};

struct SnapshotForceps {
  TrackStatus status = TrackStatus::lost;
  Pose X_WT;               ///< forceps frame T in the world W
  double opening_rad = 0;  ///< full angle between the arms, as the picture shall show it
  /// How far the arms on the sides +y and -y of T stand aside of that, pushed by what they meet  W [mm]
  std::array<Vec3, 2> aside;
  bool grasping = false;
  double confidence = 0;  ///< 0..1, from the tracking
};

struct SceneSnapshot {
  std::uint64_t step = 0;             ///< steps taken since create
  std::int64_t time_ns = 0;           ///< session time at the end of the step
  std::uint64_t sample_sequence = 0;  ///< the InstrumentSample the step used
  std::int64_t sample_mid_exposure_ns = 0;
  std::int64_t sample_captured_ns = 0;
  std::uint8_t cameras_alive = 0;  ///< bit i = camera i contributed to that sample
  std::uint8_t cameras_blind = 0;  ///< bit i = camera i has shown no marker for a while, and others do
  std::uint32_t grasps = 0;        ///< since create
  std::uint32_t non_finite_resets = 0;
  std::array<SnapshotForceps, kInstruments> forceps;
  FixedVector<SnapshotThread, kMaxThreads> threads;
  FixedVector<SnapshotVertex, kMaxSnapshotVertices> vertices;
  FixedVector<SnapshotTissue, kMaxSurfaces> tissues;
  FixedVector<SnapshotVertex, kMaxSurfaceVertices> surface;
  FixedVector<SnapshotHole, kMaxHoles> holes;
};

}  // namespace ligature
