#pragma once
/// The world as a session drives it: stepped, halted, cut, begun anew, exchanged for the next scenario's. Physics and the replay both drive it by the same
/// calls, which is why they agree.
#include <cstdint>
#include <utility>

#include "appliance/run/sample_log.hpp"
#include "sim/base/hash.hpp"
#include "sim/world/world.hpp"

namespace ligature::appliance {

class Scene {
 public:
  explicit Scene(world::World world) : world_(std::move(world)) {}

  const world::World& world() const { return world_; }
  world::World& world() { return world_; }
  bool halted() const { return halted_; }
  std::uint32_t resets() const { return resets_; }

  /// @pre neither reset nor next, which need another world. @rt
  void control(Control control) noexcept {
    if (control == Control::pause) halted_ = true;
    if (control == Control::start) halted_ = false;
    if (control == Control::cut && !halted_) world_.cut_held();
  }
  /// `fresh` is the scene from now on; what was is in its place, for whoever may destroy it. @rt
  void reset(world::World& fresh) noexcept {
    StateHash hash;
    hash.add(before_);
    hash.add(world_.state_hash());
    before_ = hash.value();
    ++resets_;
    halted_ = false;
    std::swap(world_, fresh);
  }
  /// Of all scenes that there were.
  std::uint64_t state_hash() const noexcept {
    if (resets_ == 0) return world_.state_hash();
    StateHash hash;
    hash.add(before_);
    hash.add(world_.state_hash());
    return hash.value();
  }

 private:
  world::World world_;
  bool halted_ = false;
  std::uint32_t resets_ = 0;
  std::uint64_t before_ = 0;  ///< of the scenes that were reset
};

}  // namespace ligature::appliance
