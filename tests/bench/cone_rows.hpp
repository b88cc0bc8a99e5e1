#pragma once
/// Contact forces against the number of iterations, with and without warm start, as in figure 6 of the VRIPHYS paper,
/// on the contact problems of its reef knot (`knot/reef_vriphys`: pulled tight, then gravity), one linearisation a
/// step.
#include <string>

#include "tests/bench/table.hpp"

namespace ligature::bench {

/// @param plot FILE.svg or FILE.png; empty: the table alone. @return false, with a line on standard error, if the scene
/// or the picture could not be made
bool measure_cones(Table& table, const std::string& plot);

}  // namespace ligature::bench
