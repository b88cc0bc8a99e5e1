#pragma once
/// From parameters to models: checks, resampling, masses. Used by World::create only.
#include <vector>

#include "sim/base/result.hpp"
#include "sim/instrument/forceps.hpp"
#include "sim/rod/rod.hpp"
#include "sim/world/params.hpp"
#include "sim/world/state.hpp"

namespace ligature::world {

inline constexpr std::size_t kMostVertices = 65536;

/// First complaint about parameters or capacity, as one line with its remedy.
Result<void> check(const WorldParams& params, const Capacity& capacity);

/// The unit (grading.hpp) at whose beginning a place lies, the nearest; of a closed thread the last is the first.
std::size_t unit_of(const Place& at, const ThreadParams& thread);

/// Vertices along the drawn polyline, as near to segment_mm apart as divides the whole, one a unit; of a closed thread
/// the first is not repeated.
std::vector<Eigen::Vector3d> resample(const ThreadParams& thread);

/// Drag per length [uN s/mm^2] for edges, or units, of this drawn length [mm]. @rt O(n)
void set_drag(rod::RodModel& model, double drag, double edge_mm);

/// @param origin its index in WorldParams::threads
/// @param nodes where its vertices lie (grade()) @param pool vertices that it may come to have
Thread build_thread(const ThreadParams& params, std::size_t origin, const std::vector<std::uint32_t>& nodes,
                    std::size_t pool);

/// Mass, weight and drag of every vertex, from lengths.
void weigh(Thread& thread);

/// Where a cut at this rest arc length goes, counted as the thread was drawn: the nearest vertex that is no end.
std::size_t cut_vertex(const ThreadParams& thread, double s_mm);

/// The piece of `from` that begins at this vertex and has so many, open, with nothing that clamps or loads it yet but
/// room for all that `from` has. Where it was cut off its mass and drag are those of an end.
/// @param most_held frames at vertices, and no fewer than `from` may hold
Thread build_piece(const Thread& from, std::size_t first_vertex, std::size_t vertices, std::size_t most_held = 0);
/// Makes a thread that was built as a piece, of this thread or another with as many vertices or more, this piece of
/// `from`. @pre an open thread of edges of one length @rt O(n), no allocation
void shape_piece(Thread& piece, const Thread& from, std::size_t first_vertex, std::size_t vertices) noexcept;

/// @pre check() found nothing wrong with it
contact::Obstacle build_obstacle(const ObstacleParams& obstacle);

instrument::ForcepsModel build_forceps(const ForcepsParams& forceps, double lost_release_s);

}  // namespace ligature::world
