#pragma once
/// What one call of world.step() has to say about itself: it degrades, tells and goes on, it never throws.
#include <cstdint>

namespace ligature {

/// Bits of StepReport::flags; the comment is the remedy.
enum StepFlag : std::uint32_t {
  step_ok = 0,
  step_contact_overflow = 1u << 0,     ///< more contacts than capacity, deepest kept: raise capacity.contacts
  step_not_converged = 1u << 1,        ///< iteration bound hit above the residual target: raise solver.iterations
  step_non_finite_restored = 1u << 2,  ///< state was not finite, last good state is back: look at the sample log
  step_instrument_lost = 1u << 3,      ///< an instrument is not tracked: look at the cameras
  step_grasped = 1u << 4,              ///< a grasp began in this step
  step_released = 1u << 5,             ///< a grasp ended in this step
  step_limited = 1u << 6,  ///< a vertex wanted to move further than a step may: look for a jump of the tracking
  step_crossing_prevented = 1u << 7,  ///< something would have passed: the motion was cut short, move more slowly
  step_crossing_found = 1u << 8,      ///< the audit found a crossing, the step was undone: report it, with the scenario
  step_pierced = 1u << 10,            ///< a needle's point went into a tissue, or out of it
  step_cut = 1u << 11,                ///< a thread was cut by the hands
  step_contact_gave_way = 1u << 12,   ///< a contact bore all that one can, nothing fits there: lead less far
  step_vertices_spent = 1u << 9,      ///< an adaptive thread stays coarser than it asks to be: raise its most_vertices
};

/// Stages of the step in the order in which they run, for whoever measures them (sim has no clock).
/// Those from detect to integrate come round once per linearisation: their times add up.
enum class StepStage : std::uint8_t { instruments, detect, couple, solve, integrate, continuous, finish };
inline constexpr int kStepStages = 7;

struct StepReport {
  std::uint64_t step = 0;
  std::uint32_t flags = step_ok;
  std::uint32_t contacts = 0;
  std::uint32_t iterations = 0;          ///< linear solves spent
  double residual = 0;                   ///< force imbalance left, relative to the load
  std::uint32_t contact_iterations = 0;  ///< of the solver of contacts between strands
  double contact_residual = 0;           ///< natural map residual of the last contact problem between strands
  double worst_penetration_mm = 0;
  std::uint32_t crossings_prevented = 0;  ///< times that the motion was cut short before strands crossed
  std::uint32_t crossings_found = 0;      ///< pairs of edges that the audit could not prove apart; the step was undone
  double held_lag_mm = 0;                 ///< worst distance of a held vertex or an arm from where it was led
  double refused_mm = 0;                  ///< of an arm's, what no force pushed it by: moves that were cut short
  double obstacle_lag_mm = 0;             ///< worst distance of a rigid body from where it is to move
  std::uint32_t grasped_vertices = 0;
  std::uint32_t grasps = 0, releases = 0;  ///< of instruments, in this step
  std::uint32_t vertices_added = 0, vertices_removed = 0;  ///< of adaptive threads, at the start of the step
};

}  // namespace ligature
