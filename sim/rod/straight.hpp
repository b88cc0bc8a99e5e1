#pragma once
/// Stretching, bending and the moments of twist of a rod that is straight at rest, all along it in one pass, several
/// edges side by side: the equations of energy.hpp, to rounding, at a fraction of the time of one term after another.
/// Held frames (half joints) are left out: rod.cpp adds them.
#include <vector>

#include "sim/rod/rod.hpp"

namespace ligature::rod {

/// As add_elastic<3>(), but for joints whose frame is held. @returns the square of the largest force in an element
/// [uN^2]. @rt O(n), no allocation
double add_straight(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist, Hessian kind,
                    double scale, const double* tension, double* gradient, BlockBand<3>* band) noexcept;

/// Stretching and bending, but for joints whose frame is held. @rt O(n), no allocation
Energies straight_energy(const RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept;

}  // namespace ligature::rod
