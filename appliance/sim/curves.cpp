#include "appliance/sim/curves.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace ligature::simulate {

double Curve::arc_between(double s, double t) const {
  const double way = std::abs(s - t);
  return closed ? std::min(way, rest_length_mm - way) : way;
}

double arc_before_cuts(const Curve& a, double s, const Curve& b, double t) {
  if (a.origin != b.origin) return std::numeric_limits<double>::infinity();
  const double way = std::abs(a.cut_from_mm + s - b.cut_from_mm - t);
  if (!(a.ring_mm > 0)) return way;
  const double round = std::fmod(way, a.ring_mm);
  return std::min(round, a.ring_mm - round);
}

std::vector<Curve> curves_of(const world::World& world, const world::WorldParams& params) {
  std::vector<Curve> out;
  for (std::size_t k = 0; k < world.thread_count(); ++k) {
    const world::ThreadMeasure m = world.measure(k, false);
    world::ThreadShape shape = world.shape(k);
    Curve c;
    // A piece that a cut made has the name of the thread that was cut.
    while (c.origin + 1 < params.threads.size() && params.threads[c.origin].name != m.name) ++c.origin;
    c.x = std::move(shape.x);
    c.s_mm = std::move(shape.s_mm);
    c.closed = m.closed;
    c.radius_mm = 0.5 * params.threads[c.origin].diameter_mm;
    if (m.needle_last > m.needle_first) c.radii_mm = std::move(shape.radius_mm);
    c.rest_length_mm = m.rest_length_mm;
    c.cut_from_mm = m.cut_from_mm;
    c.ring_mm = m.ring_mm;
    out.push_back(std::move(c));
  }
  return out;
}

}  // namespace ligature::simulate
