#pragma once
/// Taking a diagram apart: pieces that lie beside one another, and factors of a connected sum.
#include <cstddef>
#include <vector>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

struct Part {
  Diagram diagram;                      ///< crossings renumbered
  std::vector<std::size_t> components;  ///< which of the whole's components its own are, or are cut from
};

/// The connected pieces of a diagram; a component without crossings is a piece of its own.
std::vector<Part> split_pieces(const Diagram& diagram);

/// The factors that a connected diagram shows: wherever two faces share several edges, a circle through both meets the
/// diagram twice and parts it. What lies between two such edges, joined up, is a factor, and is looked at again. A
/// crossing that alone joins two halves comes out as a factor of one crossing.
/// @pre connected
std::vector<Part> visible_factors(const Diagram& connected);

/// A knot's diagram with its visible factors one after the other round a ring, each opened where its largest faces are:
/// the same sum, drawn without factors inside factors. Links and what shows one factor come back as they are.
Diagram factors_in_a_ring(const Diagram& diagram);

}  // namespace ligature::knot
