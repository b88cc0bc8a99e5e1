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
};

/// Stages of the step in the order in which they run, for whoever measures them (sim has no clock).
enum class StepStage : std::uint8_t { instruments, detect, couple, solve, integrate, finish };
inline constexpr int kStepStages = 6;

struct StepReport {
  std::uint64_t step = 0;
  std::uint32_t flags = step_ok;
  std::uint32_t contacts = 0;
  std::uint32_t iterations = 0;  ///< linear solves spent
  double residual = 0;           ///< of the contact problem, relative to the load
  double worst_penetration_mm = 0;
  std::uint32_t grasped_vertices = 0;
};

}  // namespace ligature
