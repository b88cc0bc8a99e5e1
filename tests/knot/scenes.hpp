#pragma once
/// Curves for the tests of knots: closed braids, rings, motions that cross nothing.
#include <cmath>
#include <cstdlib>
#include <numbers>
#include <vector>

#include "sim/base/random.hpp"
#include "sim/knot/curves.hpp"
#include "sim/knot/exact.hpp"

namespace ligature::knot {

inline Curve ring(std::size_t n, double radius = 1.0) {
  Curve out;
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    out.push_back({radius * std::cos(a), radius * std::sin(a), 0.01 * std::sin(3 * a)});
  }
  return out;
}

/// The closed braid of a word: letter k > 0 takes strand k over strand k + 1 (positions counted from 1), -k under it.
/// Strands run round the z axis; crossings of a positive letter are all of one sign.
inline Curves closed_braid(int strands, const std::vector<int>& word) {
  const std::size_t m = static_cast<std::size_t>(strands), n = word.size();
  // Place of each strand after each letter; then follow them round until they close.
  std::vector<std::vector<Vec3>> sheet(m);  // from each starting position, the points of one way round
  std::vector<std::size_t> end(m);
  const auto at = [&](double turn, double r, double z) {
    const double a = 2 * std::numbers::pi * turn;
    return Vec3{(r + 2.0) * std::cos(a), (r + 2.0) * std::sin(a), z};
  };
  for (std::size_t s = 0; s < m; ++s) {
    std::size_t p = s;
    for (std::size_t k = 0; k < n; ++k) {
      const double t0 = static_cast<double>(k) / static_cast<double>(n), dt = 1.0 / static_cast<double>(n);
      sheet[s].push_back(at(t0, static_cast<double>(p), 0));
      const auto low = static_cast<std::size_t>(std::abs(word[k])) - 1;
      if (p == low || p == low + 1) {
        const bool up = p == low;  // moves outwards
        const double z = (up == (word[k] > 0)) ? 0.4 : -0.4;
        sheet[s].push_back(at(t0 + 0.25 * dt, static_cast<double>(p), z));
        p = up ? low + 1 : low;
        sheet[s].push_back(at(t0 + 0.75 * dt, static_cast<double>(p), z));
      }
    }
    end[s] = p;
  }
  Curves out;
  std::vector<bool> done(m, false);
  for (std::size_t s = 0; s < m; ++s) {
    if (done[s]) continue;
    Curve& c = out.emplace_back();
    for (std::size_t p = s; !done[p]; p = end[p]) {
      done[p] = true;
      c.insert(c.end(), sheet[p].begin(), sheet[p].end());
    }
  }
  return out;
}

/// Every edge cut into `parts` equal ones.
inline Curve resampled(const Curve& curve, int parts) {
  Curve out;
  for (std::size_t i = 0; i < curve.size(); ++i) {
    const Vec3 a = curve[i], b = curve[(i + 1) % curve.size()];
    for (int k = 0; k < parts; ++k) {
      const double f = static_cast<double>(k) / parts;
      out.push_back((1 - f) * a + f * b);
    }
  }
  return out;
}

/// Moves point i of curve c to q where its two edges sweep over no other edge; says whether it did.
inline bool moved_freely(Curves& curves, std::size_t c, std::size_t i, Vec3 q) {
  Curve& curve = curves[c];
  const std::size_t n = curve.size(), before = (i + n - 1) % n, after = (i + 1) % n;
  const Vec3 p = curve[i], a = curve[before], b = curve[after];
  if (collinear(a, p, q) || collinear(b, p, q) || collinear(a, q, b)) return false;
  for (std::size_t k = 0; k < curves.size(); ++k)
    for (std::size_t e = 0; e < curves[k].size(); ++e) {
      const std::size_t f = (e + 1) % curves[k].size();
      if (k == c && (e == before || e == i)) continue;
      const Vec3 x = curves[k][e], y = curves[k][f];
      // An edge that hangs on a or b touches the triangle there; only the far part may not.
      const bool at_a = k == c && f == before, at_b = k == c && e == after;
      if (at_a ? in_wedge(a, p, q, x) : segment_meets_triangle(a, p, q, x, y)) return false;
      if (at_b ? in_wedge(b, p, q, y) : segment_meets_triangle(b, p, q, x, y)) return false;
    }
  // The two moving edges hang together at the point: neither may pass over the other's far end.
  if (segment_meets_triangle(a, p, q, b, b) || segment_meets_triangle(b, p, q, a, a)) return false;
  curve[i] = q;
  return true;
}

/// `tries` random moves of random points by up to `reach`, those that cross nothing.
inline std::size_t shaken(Curves& curves, Random& random, std::size_t tries, double reach) {
  std::size_t done = 0;
  for (std::size_t k = 0; k < tries; ++k) {
    const std::size_t c = random.next() % curves.size(), i = random.next() % curves[c].size();
    const Vec3 d{random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
    done += moved_freely(curves, c, i, curves[c][i] + reach * d) ? 1 : 0;
  }
  return done;
}

inline Vec3 random_direction(Random& random) {
  for (;;) {
    const Vec3 v{random.uniform(-1, 1), random.uniform(-1, 1), random.uniform(-1, 1)};
    const double n = norm(v);
    if (n > 0.1 && n < 1) return (1 / n) * v;
  }
}

/// Turned by a random rotation and moved, by one for all curves.
inline Curves turned_and_moved(const Curves& curves, Random& random) {
  const Vec3 x = random_direction(random), r = random_direction(random);
  const Vec3 n = cross(x, r), y = (1 / norm(n)) * n, z = cross(x, y);
  const Vec3 shift{random.uniform(-50, 50), random.uniform(-50, 50), random.uniform(-50, 50)};
  Curves out = curves;
  for (Curve& c : out)
    for (Vec3& p : c) p = p.x * x + p.y * y + p.z * z + shift;
  return out;
}

inline Curve reversed(const Curve& c) {
  return {c.rbegin(), c.rend()};
}
inline Curve mirrored(Curve c) {
  for (Vec3& p : c) p.z = -p.z;
  return c;
}

/// An open curve through the same polygon with every edge cut into one to four random parts.
inline Curve cut_at_random(const Curve& curve, Random& random) {
  Curve out;
  for (std::size_t i = 0; i + 1 < curve.size(); ++i) {
    out.push_back(curve[i]);
    for (double f = random.uniform(); f < 1 && random.next() % 2 == 0; f += (1 - f) * random.uniform(0.01, 1))
      if (f > 0) out.push_back((1 - f) * curve[i] + f * curve[i + 1]);
  }
  out.push_back(curve.back());
  return out;
}

/// Every `step`-th point of an open curve, and its last.
inline Curve thinned(const Curve& curve, std::size_t step) {
  Curve out;
  for (std::size_t i = 0; i + 1 < curve.size(); i += step) out.push_back(curve[i]);
  out.push_back(curve.back());
  return out;
}

/// Noise of up to `size` in every coordinate.
inline Curve noisy(Curve curve, Random& random, double size) {
  for (Vec3& p : curve)
    p = p + Vec3{random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size)};
  return curve;
}

}  // namespace ligature::knot
