#include "appliance/sim/history.hpp"

#include <algorithm>

namespace ligature::simulate {

void History::add(const world::World& world, std::uint64_t step, bool last) {
  constexpr int kEnergyBits = 8, kLinkBits = 4, kShapeBits = 3;
  const double t_s = world.time_s();
  const auto wanted = [&](const auto& samples, int bits) {
    return (last || kept(step, bits)) && (samples.empty() || samples.back().t_s < t_s);
  };
  if (wanted(energies_, kEnergyBits)) {
    Energies e;
    e.t_s = t_s;
    for (std::size_t k = 0; k < world.thread_count(); ++k) {
      const world::ThreadMeasure m = world.measure(k, false);
      e.stretch += m.stretch_energy;
      e.bend += m.bend_energy;
      e.twist += m.twist_energy;
      e.kinetic += m.kinetic_energy;
      e.potential += m.potential_energy;
      e.speed_mm_per_s = std::max(e.speed_mm_per_s, m.speed_max_mm_per_s);
    }
    energies_.push_back(e);
  }
  // Clamps take hold with the first step.
  if (links_wanted_ && step > 0 && wanted(links_, kLinkBits)) {
    Links l;
    l.t_s = t_s;
    for (std::size_t k = 0; k < world.thread_count(); ++k) {
      const world::ThreadMeasure m = world.measure(k, true);
      l.twist.push_back(m.twist_turns);
      l.writhe.push_back(m.writhe);
    }
    links_.push_back(std::move(l));
  }
  if (wanted(shapes_, kShapeBits)) {
    Shape s;
    s.t_s = t_s;
    for (std::size_t k = 0; k < world.thread_count(); ++k) {
      s.threads.push_back(world.shape(k).x);
      if (world.measure(k, false).closed) s.threads.back().push_back(s.threads.back().front());
    }
    shapes_.push_back(std::move(s));
  }
}

}  // namespace ligature::simulate
