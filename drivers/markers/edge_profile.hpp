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

namespace ligature::drivers {

class EdgeProfile {
 public:
  struct Value {
    float share;  ///< 0..1
    float slope;  ///< d share / d (d / tau)
  };

  /// Row of the table for an edge with the normal's smaller over larger part `lean` and `box` = 1 / (12 tau^2). @rt
  int row(float box, float lean) const noexcept {
    const int i = std::clamp(static_cast<int>(box * (kBoxes - 1) + 0.5F), 0, kBoxes - 1);
    const int j = std::clamp(static_cast<int>(lean * (kLeans - 1) + 0.5F), 0, kLeans - 1);
    return (i * kLeans + j) * kSteps;
  }
  /// @param x distance / tau. @rt
  Value at(int row, float x) const noexcept {
    const float place = std::clamp((x + kReach) * kPerUnit, 0.0F, static_cast<float>(kSteps - 1) - 0.001F);
    const int i = static_cast<int>(place);
    const float f = place - static_cast<float>(i);
    const Value &a = table_[static_cast<std::size_t>(row + i)], &b = table_[static_cast<std::size_t>(row + i + 1)];
    return {a.share + f * (b.share - a.share), a.slope + f * (b.slope - a.slope)};
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
