#pragma once
/// The one public door of the physics: create, step, snapshot.
///
/// Deterministic: the same samples, parameters and step count give bit-identical state on the same binary.
/// No clock, files, logging or threads in here; after create() no allocation, lock or exception.
#include <cstdint>
#include <memory>

#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/contract/step_report.hpp"
#include "sim/world/params.hpp"

namespace ligature::world {

/// Called at the end of each stage of the step, so that a caller with a clock can time them.
using StageObserver = void (*)(void* context, StepStage stage) noexcept;

class World {
 public:
  /// Checks the parameters (finite, positive, within capacity, nothing overlapping at the start) and takes all memory.
  static Result<World> create(const WorldParams& params, const Capacity& capacity);
  World(World&&) noexcept;
  World& operator=(World&&) noexcept;
  ~World();

  /// Advances by one step towards this sample. @rt bounded by vertices, contacts and iterations; no allocation
  StepReport step(const InstrumentSample& sample) noexcept;
  /// @rt no allocation
  void snapshot(SceneSnapshot& out) const noexcept;
  /// Hash of the whole dynamic state, bit for bit.
  std::uint64_t state_hash() const noexcept;
  void observe_stages(StageObserver observer, void* context) noexcept;
  /// Fault injection for the tests of the appliance: the next step meets a non-finite vertex.
  void inject_non_finite() noexcept;

 private:
  struct State;
  explicit World(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace ligature::world
