#pragma once
/// Shipped knots, run through the public door of the physics and measured from their curves.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>
#include <vector>

#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"
#include "tests/support/knot_measure.hpp"

namespace ligature::world {

using measure::Curve;

inline config::Scenario shipped_knot(const std::string& name) {
  auto scenario = config::load_scenario(std::string(LIGATURE_SOURCE_DIR) + "/config/scenarios/knot/" + name + ".toml");
  EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().message);
  return scenario ? std::move(*scenario) : config::Scenario{};
}

/// A world, what it has said about its steps, and its clock.
class Knot {
 public:
  explicit Knot(config::Scenario scenario)
      : scenario_(std::move(scenario)), world_(make(scenario_)), diameter_(scenario_.params.threads[0].diameter_mm) {}

  World& world() { return world_; }
  const config::Scenario& scenario() const { return scenario_; }
  double diameter() const { return diameter_; }
  double radius() const { return 0.5 * diameter_; }

  /// Steps on until this time, or until `stop` (asked every `every` steps) says so. @returns whether it did
  template <class Stop>
  bool run_until(double time_s, int every, Stop stop) {
    while (world_.time_s() < time_s - 0.5 * scenario_.params.step_s) {
      step();
      if (steps_ % every == 0 && stop()) return true;
    }
    return false;
  }
  void run_until(double time_s) {
    run_until(time_s, 1 << 30, [] { return false; });
  }

  std::vector<Curve> curves() const {
    std::vector<Curve> out;
    for (std::size_t i = 0; i < world_.thread_count(); ++i) out.push_back(world_.shape(i).x);
    return out;
  }
  /// How far centrelines are inside each other, over the radius; calculated from the curves.
  double penetration() const {
    const auto near = measure::nearest(curves(), scenario_.params.threads[0].closed, std::numbers::pi * radius());
    return (diameter_ - near.distance) / radius();
  }
  /// From the last touch with a strand to the end of thread `i` [mm].
  double tail(std::size_t i) const {
    const auto c = curves();
    return measure::length(c[i], false) - measure::touching(c, i, 1.15 * diameter_, 4 * diameter_).last;
  }
  double speed() const {
    double v = 0;
    for (std::size_t i = 0; i < world_.thread_count(); ++i)
      v = std::max(v, world_.measure(i, false).speed_max_mm_per_s);
    return v;
  }

  /// Nothing passed through anything, nothing was lost.
  void expect_sound() const {
    EXPECT_EQ(crossings_found_, 0) << "of " << steps_ << " steps";
    EXPECT_EQ(flagged_[0], 0) << "steps with more contacts than fit";
    EXPECT_EQ(flagged_[2], 0) << "steps that were not finite";
  }
  void print(const char* what) const {
    std::printf(
        "%s: %d steps, %u contacts at most, penetration in a step %.3g of the radius, now %.3g; "
        "%d not converged, %d limited, %d cut short, contact residual %.2g at most, %.2g now\n",
        what, steps_, contacts_, step_penetration_ / radius(), penetration(), flagged_[1], flagged_[6],
        crossings_prevented_, residual_, last_.contact_residual);
  }
  const StepReport& last() const { return last_; }
  int steps() const { return steps_; }

 private:
  static World make(const config::Scenario& s) {
    auto world = World::create(s.params, s.capacity);
    EXPECT_TRUE(world) << (world ? "" : world.error().message);
    return std::move(*world);
  }
  void step() {
    last_ = world_.step({});
    ++steps_;
    for (int bit = 0; bit < 9; ++bit)
      if (last_.flags >> bit & 1u) ++flagged_[bit];
    crossings_found_ += static_cast<int>(last_.crossings_found);
    crossings_prevented_ += static_cast<int>(last_.crossings_prevented);
    contacts_ = std::max(contacts_, last_.contacts);
    residual_ = std::max(residual_, last_.contact_residual);
    step_penetration_ = std::max(step_penetration_, last_.worst_penetration_mm);
  }

  config::Scenario scenario_;
  World world_;
  double diameter_ = 0;
  StepReport last_;
  int steps_ = 0, crossings_found_ = 0, crossings_prevented_ = 0;
  int flagged_[9] = {};
  unsigned contacts_ = 0;
  double residual_ = 0, step_penetration_ = 0;
};

}  // namespace ligature::world
