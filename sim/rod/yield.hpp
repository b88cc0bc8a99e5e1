#pragma once
/// Threads that keep some of a bend: elastic, perfectly plastic bending of a round section whose fibres yield at one
/// strain in tension and in compression. The moment of a joint is at most the plastic one, 16/(3 pi) times that under
/// which the outermost fibres begin to yield [Timoshenko, Strength of Materials II, 1956, article 64]; what a joint is
/// bent by beyond that is its new rest shape. That it decides how surgical knots hold: [Johanns et al. 2023, Science
/// Advances 9, eadg8861]. Stretch and twist stay elastic.
#include <vector>

#include "sim/rod/rod.hpp"

namespace ligature::rod {

/// The curvature [1/mm] to which a round section of this radius [mm] can be bent back: (16/(3 pi)) strain / radius.
double most_elastic_curvature(double yield_strain, double radius) noexcept;

/// Joints bent by more than they bend back take on what is beyond in model.rest_curvature; those of stiffer sections (a
/// needle) and at held frames do not yield. Nothing where model.yield_strain is 0. Frames carried to x, angles unknown.
/// @returns the work that is lost in it [uN mm]. @rt O(n), no allocation
double yield(RodModel& model, const std::vector<Vector3d>& x, const Twist& twist) noexcept;

}  // namespace ligature::rod
