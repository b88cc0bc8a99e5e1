#pragma once
/// Surfaces of triangles that lie anyhow, on a body that stays where it is.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <utility>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {

/// A tube along y, crumpled: every vertex somewhere else by up to `rough` of its radius.
inline TriangleMesh crumpled(Random& random, double radius, int sides, int rings, double rough) {
  std::vector<Vector3d> x;
  std::vector<TriangleMesh::Triangle> t;
  for (int k = 0; k < rings; ++k)
    for (int i = 0; i < sides; ++i) {
      const double a = 2 * std::numbers::pi * i / sides, r = radius * (1 + rough * random.uniform(-1, 1));
      x.push_back(
          {r * std::cos(a), 0.15 * (k - 0.5 * (rings - 1)) + 0.3 * rough * random.uniform(-1, 1), r * std::sin(a)});
    }
  const auto n = static_cast<std::uint32_t>(sides), last = n * static_cast<std::uint32_t>(rings - 1);
  x.push_back({0, -0.075 * (rings - 1), 0});
  x.push_back({0, 0.075 * (rings - 1), 0});
  const auto low = static_cast<std::uint32_t>(x.size() - 2), high = low + 1;
  for (std::uint32_t i = 0; i < n; ++i) {
    const std::uint32_t j = (i + 1) % n;
    for (std::uint32_t k = 0; k < last; k += n) {
      t.push_back({k + i, k + n + i, k + n + j});
      t.push_back({k + i, k + n + j, k + j});
    }
    t.push_back({i, j, low});
    t.push_back({last + j, last + i, high});
  }
  return *TriangleMesh::create(x, t);
}

/// A body that stays where it is.
class Still final : public SoftBody {
 public:
  explicit Still(TriangleMesh mesh) : mesh_(std::move(mesh)) {
    for (std::size_t v = 0; v < mesh_.vertices(); ++v) x_.push_back(mesh_.vertex(v));
    step_.assign(x_.size(), Vector3d(0, 0, 0));
  }
  const TriangleMesh& surface() const noexcept override { return mesh_; }
  std::size_t nodes() const noexcept override { return x_.size(); }
  const Vector3d* start() const noexcept override { return x_.data(); }
  const Vector3d* x() const noexcept override { return x_.data(); }
  void begin(double) noexcept override {}
  void linearise() noexcept override {}
  void push(std::uint32_t, const Vector3d&) noexcept override {}
  void solve() noexcept override {}
  const Vector3d* step() const noexcept override { return step_.data(); }
  Eigen::Matrix3d compliance(std::uint32_t, std::uint32_t) const noexcept override { return Eigen::Matrix3d::Zero(); }
  void advance(double) noexcept override {}
  void go_back(double) noexcept override {}
  void finish() noexcept override {}
  void add_to(StateHash&) const noexcept override {}

 private:
  TriangleMesh mesh_;
  std::vector<Vector3d> x_, step_;
};

/// Least of a function of [0, 1]: by samples, then by thirds about the best of them.
template <class Function>
double least_of(const Function& at, int samples) {
  double least = 1e9;
  int best = 0;
  for (int i = 0; i <= samples; ++i)
    if (const double value = at(i / static_cast<double>(samples)); value < least) least = value, best = i;
  double low = std::max(best - 1, 0) / static_cast<double>(samples);
  double high = std::min(best + 1, samples) / static_cast<double>(samples);
  for (int k = 0; k < 60; ++k) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (at(a) < at(b))
      high = b;
    else
      low = a;
  }
  return std::min(least, at(0.5 * (low + high)));
}

/// Where a contact is on the surface.
inline Vector3d place_of(const StrandContact& c, const TriangleMesh& mesh) {
  const TriangleMesh::Triangle& corner = mesh.triangle(c.on.triangle);
  Vector3d on = Vector3d::Zero();
  for (std::size_t i = 0; i < 3; ++i) on += c.on.weight[static_cast<Eigen::Index>(i)] * mesh.vertex(corner[i]);
  return on;
}

inline Vector3d unit(Random& random) {
  const Vector3d v(random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1));
  return v.norm() > 0.1 ? Vector3d(v.normalized()) : unit(random);
}

}  // namespace ligature::contact
