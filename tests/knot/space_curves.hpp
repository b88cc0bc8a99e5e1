#pragma once
/// Knots and links as closed polygons in space, moved about without any strand ever passing through another.
///
/// Every move takes one vertex along a straight line. The two triangles that its edges sweep are tested against all
/// other edges, conservatively; a move that is not free is not made. So the knot cannot change, whatever the move.
#include <cstddef>

#include "sim/base/geometry.hpp"
#include "sim/base/random.hpp"
#include "sim/base/result.hpp"
#include "sim/knot/curves.hpp"
#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// The diagram laid into the plane z = 0, strands that pass over lifted by `height`, under lowered by as much.
Result<Curves> in_space(const Diagram& diagram, double height = 0.4);

/// Whether vertex i of curve k may go to p with nothing in the way; `margin` is the relative room asked for.
bool is_free(const Curves& curves, std::size_t k, std::size_t i, Vec3 p);
/// Moves it if that is free.
bool move(Curves& curves, std::size_t k, std::size_t i, Vec3 p);
/// Takes it out if the triangle with its neighbours is free and at least four are left.
bool remove(Curves& curves, std::size_t k, std::size_t i);
/// Edges no longer than this.
void subdivide(Curves& curves, double longest);

/// One shear p -> p + a sin(k p + phase), a at right angles to k, in small steps, vertex by vertex.
void shear(Curves& curves, Random& random, double amplitude, double wavelength, int steps);
/// Pulls stretches of strand out to random places, round and between others.
void poke(Curves& curves, Random& random, int times, double reach);
/// Each vertex to a random place within this distance, if that is free.
void shake(Curves& curves, Random& random, double distance);
/// Takes vertices out and puts others in between.
void resample(Curves& curves, Random& random, double longest);
/// Rotates at random.
void turn(Curves& curves, Random& random);
void reflect(Curves& curves);

/// All of the above: not the diagram it came from.
void deform(Curves& curves, Random& random, double amount);

/// Least distance between edges that do not share a vertex.
double clearance(const Curves& curves);

}  // namespace ligature::knot
