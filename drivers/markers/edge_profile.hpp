#pragma once
/// Share of a pixel that a straight edge covers after the lens's blur, and its slope: what a disc's rim looks like.
///
///   P(d) = mean over the pixel's square of Phi((d + n_x a + n_y b) / s),  a, b in [-1/2, 1/2]
///        = [G(d+p) - G(d+q) - G(d-q) + G(d-p)] / (|n_x| |n_y|),  p, q = (|n_x| +- |n_y|) / 2,  G'' = Phi(./s)
///
/// d: how far the edge lies beyond the pixel's centre along its outward normal n [px]; s: blur along n [px].
/// In units of the profile's own width tau^2 = s^2 + 1/12 only the shape is left: it goes from a trapezoid (no blur) to
/// a Gaussian's integral, and is tabulated over that and over the edge's direction.
#include <algorithm>
#include <cmath>
#include <vector>

#include "drivers/markers/lanes.hpp"

namespace ligature::drivers {

class EdgeProfile {
 public:
  struct Value {
    float share;  ///< 0..1
    float slope;  ///< d share / d (d / tau)
  };
  static_assert(sizeof(Value) == 2 * sizeof(float));  // two neighbours are read as four floats

  /// Edges of eight pixels. @param lean the normal's smaller part over its larger @param box 1 / (12 tau^2)
  /// @param x distance / tau. @rt
  void at(const lanes::Lane& box, const lanes::Lane& lean, const lanes::Lane& x, lanes::Lane& share,
          lanes::Lane& slope) const noexcept {
    using namespace lanes;
    const auto whole = [](const Lane& w, int most) {
      return __builtin_convertvector(less(more(w, Lane{}), spread(static_cast<float>(most))), Bits);
    };
    const Lane place = (x + kReach) * kPerUnit;
    const Bits i = whole(place, kSteps - 2), row = whole(box * (kBoxes - 1) + 0.5F, kBoxes - 1) * kLeans +
                                                   whole(lean * (kLeans - 1) + 0.5F, kLeans - 1);
    const Lane f = less(more(place - __builtin_convertvector(i, Lane), Lane{}), spread(1));
    Lane share0, slope0, share1, slope1;
    load4(&table_.data()->share, 2 * (row * kSteps + i), share0, slope0, share1, slope1);
    share = share0 + f * (share1 - share0), slope = slope0 + f * (slope1 - slope0);
  }

  static constexpr float kReach = 3.5F;  ///< in units of tau: beyond it a pixel is covered or not

  EdgeProfile();
  static const EdgeProfile& shared();  ///< built at the first call: call it once before real time begins

 private:
  static constexpr int kBoxes = 17, kLeans = 9;
  static constexpr float kPerUnit = 24;
  static constexpr int kSteps = static_cast<int>(2 * kReach * kPerUnit) + 1;
  std::vector<Value> table_;
};

}  // namespace ligature::drivers
