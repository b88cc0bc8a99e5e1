#pragma once
/// Obstacles in a picture: what of them is seen, in pale, and their outline.
#include "appliance/sim/chart.hpp"
#include "appliance/sim/strands.hpp"
#include "sim/contract/tissue_surface.hpp"
#include "sim/world/params.hpp"

namespace ligature::simulate {

/// @param shift how far it has moved [mm]; @param box nothing is drawn outside. A plane is drawn where it is seen from
/// the side: as a line, hatched where it is solid.
void draw_body(Drawing& drawing, const Paper& paper, const world::ObstacleParams& body, Vec3 shift, const Box& box);

/// A closed surface: its faces towards the eye, far ones first, and its outline.
void draw_surface(Drawing& drawing, const Paper& paper, const TissueSurface& surface, const Box& box);

}  // namespace ligature::simulate
