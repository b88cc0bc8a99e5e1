#pragma once
/// The zero of an increasing function between two places.
#include <cmath>

namespace ligature::contact {

/// False position, its weights halved where one end stays [Dowell and Jarratt 1971]. @pre at_low < 0 < at_high, the
/// values at low and high. @param near two looks nearer than this to each other end it @param most looks
template <class Function>
double zero_of(double low, double at_low, double high, double at_high, double near, int most, const Function& f) {
  int side = 0;
  double middle = low;
  for (int k = 0; k < most && high - low > near; ++k) {
    const double before = middle;
    middle = (low * at_high - high * at_low) / (at_high - at_low);
    if (k > 0 && std::abs(middle - before) < near) break;
    const double value = f(middle);
    if (value == 0) break;
    if (value < 0) {
      low = middle, at_low = value;
      if (side < 0) at_high *= 0.5;
      side = -1;
    } else {
      high = middle, at_high = value;
      if (side > 0) at_low *= 0.5;
      side = 1;
    }
  }
  return middle;
}

}  // namespace ligature::contact
