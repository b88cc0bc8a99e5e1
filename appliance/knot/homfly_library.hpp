#pragma once
/// HOMFLY polynomials by libhomfly [Jenkins 1989], which allocates through a garbage collector: linked by
/// `ligature-knot` only.
#include <cstddef>
#include <memory>

#include "sim/knot/names/homfly.hpp"

namespace ligature::knot {

/// What is refused beyond: memory and time grow with the factorial of the square root of the crossings.
inline constexpr std::size_t kMostCrossings = 64;

/// Not for several threads at once: the library keeps its state in globals.
std::unique_ptr<HomflySource> homfly_library();

}  // namespace ligature::knot
