#pragma once
/// Strands for the tests of detection: random walks, a tight knot, and where they move to.
#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact::test {

inline Vector3d anywhere(Random& random) {
  return {random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
}

/// A walk with edges of about `length` that turns back at the walls of a box of half width `room`.
inline std::vector<Vector3d> wander(Random& random, std::size_t vertices, double length, double room) {
  std::vector<Vector3d> x(vertices);
  x[0] = anywhere(random) * room;
  Vector3d along = anywhere(random).normalized();
  for (std::size_t i = 1; i < vertices; ++i) {
    along = (along + 0.7 * anywhere(random)).normalized();
    for (int axis = 0; axis < 3; ++axis)
      if (std::abs(x[i - 1][axis] + length * along[axis]) > room) along[axis] = -along[axis];
    x[i] = x[i - 1] + length * along;
  }
  return x;
}

/// Strands with where they are and where they go. Fill x (and x1), then ready().
struct Scene {
  std::vector<std::vector<Vector3d>> x, x1;
  std::vector<bool> closed;
  std::vector<Strand> strands;
  std::vector<const Vector3d*> to;

  void add(std::vector<Vector3d> vertices, bool ring) {
    x.push_back(std::move(vertices));
    closed.push_back(ring);
  }
  void copy_ends() { x1 = x; }
  /// Each vertex on its own, all together, or not at all.
  void move(Random& random, double far) {
    copy_ends();
    const Vector3d together = far * anywhere(random);
    for (auto& strand : x1)
      for (Vector3d& v : strand) v += together + far * anywhere(random);
  }
  void shift(const Vector3d& by) {
    for (auto* all : {&x, &x1})
      for (auto& strand : *all)
        for (Vector3d& v : strand) v += by;
  }
  void ready() {
    if (x1.empty()) copy_ends();
    strands.clear(), to.clear();
    for (std::size_t s = 0; s < x.size(); ++s) {
      strands.push_back({x[s].data(), x[s].size(), closed[s], 0.0125, 0.025});
      to.push_back(x1[s].data());
    }
  }
  const Vector3d* const* ends() const { return to.data(); }
  std::size_t edges() const {
    std::size_t sum = 0;
    for (const Strand& strand : strands) sum += strand.edges();
    return sum;
  }
};

/// A thread of diameter d with edges of d, about 100 to 400 of them in a knot wound like a (2, 9) torus knot whose
/// strands pass each other at little more than d, two straight tails, everything moving by some thousandths of d.
inline Scene tight_knot(std::size_t vertices, double d) {
  const std::size_t in = std::min<std::size_t>(vertices / 2, 300);
  const double wide = 5 * d, thin = 1.6 * d;
  const auto curve = [&](double u) {
    const double a = 2 * std::numbers::pi * u, r = wide + thin * std::cos(9 * a);
    return Vector3d(r * std::cos(2 * a), r * std::sin(2 * a), thin * std::sin(9 * a));
  };
  std::vector<Vector3d> knot{curve(0.01)};
  for (double u = 0.01; u < 0.99 && knot.size() < in; u += 1e-5)
    if ((curve(u) - knot.back()).norm() >= d) knot.push_back(curve(u));
  const std::size_t tail = (vertices - knot.size()) / 2;
  std::vector<Vector3d> x;
  const Vector3d out = (knot[0] - knot[1]).normalized(), on = (knot.back() - knot[knot.size() - 2]).normalized();
  for (std::size_t i = tail; i > 0; --i)
    x.push_back(knot[0] + static_cast<double>(i) * d * (out + Vector3d(0, 0, 1)).normalized());
  x.insert(x.end(), knot.begin(), knot.end());
  for (std::size_t i = 1; x.size() < vertices; ++i)
    x.push_back(knot.back() + static_cast<double>(i) * d * (on + Vector3d(0, 0, 1)).normalized());
  Scene scene;
  scene.add(std::move(x), false);
  Random random(1);
  scene.move(random, 0.005 * d);
  scene.ready();
  return scene;
}

}  // namespace ligature::contact::test
