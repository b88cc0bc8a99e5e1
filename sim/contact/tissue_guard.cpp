#include "sim/contact/tissue_guard.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "sim/contact/rigid_surface.hpp"
#include "sim/contact/segment_triangle.hpp"
#include "sim/contact/self_pairs.hpp"

namespace ligature::contact {
namespace {

constexpr int kMostAdvances = 60;
constexpr double kLeastDistance = 0.1;  // of the sum of skins
constexpr double kBand = 0.02;          // of what is kept: so near is there

using Corners = std::array<Vector3d, 3>;

struct Moving {
  std::array<Corners, 2> at, by, end;  // corners of either triangle, their motion, and where it leads
  Corners corners(std::size_t k, double t) const {
    return {at[k][0] + t * by[k][0], at[k][1] + t * by[k][1], at[k][2] + t * by[k][2]};
  }
};

// Whether the first lies above the second along n by more than `least`, at the start and at the end: then it does so
// all the way, since the least height of the one over the other is a concave function of time.
bool plane_separates(const Moving& m, const Vector3d& n, double least) {
  for (const auto& [a, b] : {std::tie(m.at[0], m.at[1]), std::tie(m.end[0], m.end[1])}) {
    const double low = std::min({n.dot(a[0]), n.dot(a[1]), n.dot(a[2])});
    if (!(low - std::max({n.dot(b[0]), n.dot(b[1]), n.dot(b[2])}) > least)) return false;
  }
  return true;
}

// From the place on the second triangle to that on the first; zero where they meet.
Vector3d apart(const Corners& a, const Corners& b) {
  Vector3d best = Vector3d::Zero();
  double square = -1;
  for (std::size_t k = 0; k < 3; ++k) {
    const SegmentTriangle one = closest(a[k], a[(k + 1) % 3], b[0], b[1], b[2]);
    const SegmentTriangle two = closest(b[k], b[(k + 1) % 3], a[0], a[1], a[2]);
    const Vector3d d1 = one.on_segment - one.on_triangle, d2 = two.on_triangle - two.on_segment;
    if (square < 0 || d1.squaredNorm() < square) best = d1, square = d1.squaredNorm();
    if (d2.squaredNorm() < square) best = d2, square = d2.squaredNorm();
  }
  return best;
}

double furthest(const SoftBody& body, const SoftMotion& motion) {
  double square = 0;
  for (std::size_t v = 0; v < body.surface().vertices(); ++v)
    square = std::max(square, motion.of(static_cast<std::uint32_t>(v)).squaredNorm());
  return std::sqrt(square);
}

void load(Moving& m, std::size_t k, const TriangleMesh& mesh, std::uint32_t triangle, const SoftMotion& motion) {
  for (std::size_t c = 0; c < 3; ++c) {
    const std::uint32_t v = mesh.triangle(triangle)[c];
    m.at[k][c] = mesh.vertex(v);
    m.by[k][c] = motion.of(v);
    m.end[k][c] = m.at[k][c] + m.by[k][c];
  }
}

// Two triangles. @returns until when they may go: 1 = all the way
double look_at(const Moving& m, const Vector3d& n_a, const Vector3d& n_b, double keep, double share, SoftVerdict& out) {
  if (plane_separates(m, n_b, share * keep) || plane_separates(m, -n_a, share * keep)) return 1;
  const Vector3d between = m.at[0][0] + m.at[0][1] + m.at[0][2] - m.at[1][0] - m.at[1][1] - m.at[1][2];
  if (plane_separates(m, between.normalized(), share * keep)) return 1;
  if (plane_separates(m, (n_b - n_a).normalized(), share * keep)) return 1;
  ++out.looked_at;
  const Vector3d first = apart(m.at[0], m.at[1]);
  const double distance = first.norm();
  if (!(distance > 0)) {
    ++out.inside;
    return 1;
  }
  const double least = share * least_apart(distance, keep);
  if (plane_separates(m, first / distance, least)) return 1;
  // What all of it moves by together brings nothing nearer.
  const Vector3d mean = (m.by[0][0] + m.by[0][1] + m.by[0][2] + m.by[1][0] + m.by[1][1] + m.by[1][2]) / 6;
  double speed = 0;
  for (const Corners& by : m.by)
    speed += std::max({(by[0] - mean).norm(), (by[1] - mean).norm(), (by[2] - mean).norm()});
  double t = 0, here = distance;
  for (int i = 0; i < kMostAdvances && t < out.fraction; ++i) {
    if (i > 0) here = apart(m.corners(0, t), m.corners(1, t)).norm();
    const double left = here - least;
    if (left >= (1 - t) * speed) return 1;
    if (left <= kBand * least) break;
    t += left / speed;
  }
  if (t >= 1) return 1;
  ++out.found;
  out.fraction = std::min(out.fraction, t);
  return t;
}

template <class Cut>
void look_between(const SoftBody& a, const SoftBody& b, const TissueMove& move, double share, SoftVerdict& out,
                  const Cut& cut) {
  const TriangleMesh &mesh = a.surface(), &other = b.surface();
  const SoftMotion by = move.of(a), other_by = move.of(b);
  const double keep = kLeastDistance * (a.skin() + b.skin());
  const double own = furthest(a, by), reach = furthest(b, other_by) + keep;
  if ((mesh.low() - other.high()).cwiseMax(other.low() - mesh.high()).maxCoeff() > own + reach) return;
  for (std::uint32_t t = 0; t < mesh.triangles(); ++t) {
    Moving m;
    load(m, 0, mesh, t, by);
    Vector3d low = m.at[0][0], high = low;
    for (std::size_t c = 0; c < 3; ++c) {
      low = low.cwiseMin(m.at[0][c]).cwiseMin(m.end[0][c]);
      high = high.cwiseMax(m.at[0][c]).cwiseMax(m.end[0][c]);
    }
    if ((low - other.high()).cwiseMax(other.low() - high).maxCoeff() > reach) continue;
    other.for_each_near(low, high, reach, [&](std::uint32_t u) {
      load(m, 1, other, u, other_by);
      const double until = look_at(m, mesh.face_normal(t), other.face_normal(u), keep, share, out);
      if (until < 1) cut(t, u, keep, until);
    });
  }
}

// Of a surface with itself. Further than pairs are looked for it does not go.
template <class Cut>
void look_within(const SoftBody& body, SelfPairs& pairs, const TissueMove& move, double share, SoftVerdict& out,
                 const Cut& cut) {
  const TriangleMesh& mesh = body.surface();
  const SoftMotion by = move.of(body);
  const double keep = kLeastDistance * 2 * body.skin();
  // What all of it moves by together brings nothing nearer.
  Vector3d low = by.of(0), high = low;
  for (std::uint32_t v = 1; v < mesh.vertices(); ++v) low = low.cwiseMin(by.of(v)), high = high.cwiseMax(by.of(v));
  const double reach = (high - low).norm();
  const auto near = pairs.find(mesh, std::min(reach + keep, SelfPairs::kMostReach));
  if (reach + keep > (1 + 1e-9) * pairs.known()) {
    ++out.found;
    out.fraction = std::min(out.fraction, std::max(0.0, pairs.known() - keep) / reach);
  }
  for (const SelfPairs::Pair& p : near) {
    Moving m;
    load(m, 0, mesh, p.a, by);
    load(m, 1, mesh, p.b, by);
    const double until = look_at(m, mesh.face_normal(p.a), mesh.face_normal(p.b), keep, share, out);
    if (until < 1) cut(p.a, p.b, keep, until);
  }
}

}  // namespace

SoftVerdict look_tissues(const Bodies& bodies, const TissueMove& move, double share,
                         std::vector<Stopped>* stopped) noexcept {
  SoftVerdict out;
  for (std::uint32_t i = 0; i < bodies.count; ++i) {
    const SoftBody* const own = bodies.soft_of(i);
    if (own && own->skin() > 0 && own->self_pairs())
      look_within(*own, *own->self_pairs(), move, share, out,
                  [&](std::uint32_t t, std::uint32_t u, double keep, double until) {
                    if (stopped && stopped->size() < stopped->capacity()) stopped->push_back({i, t, i, u, keep, until});
                  });
    for (std::uint32_t j = i + 1; j < bodies.count; ++j) {
      if (!kept_apart(bodies, i, j)) continue;
      const SoftBody *const a = met_by_tissue(bodies, i), *const b = met_by_tissue(bodies, j);
      look_between(*a, *b, move, share, out, [&](std::uint32_t t, std::uint32_t u, double keep, double until) {
        if (stopped && stopped->size() < stopped->capacity()) stopped->push_back({i, t, j, u, keep, until});
      });
    }
  }
  return out;
}

}  // namespace ligature::contact
