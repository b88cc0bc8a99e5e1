#include <algorithm>
#include <cmath>
#include <limits>

#include "sim/knot/exact.hpp"
#include "sim/knot/simplify.hpp"

namespace ligature::knot {

namespace {

constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
constexpr std::size_t kMostTests = 10'000'000;  // against boxes, and four for each triangle: bounds the time

struct Box {
  double low[3] = {1e300, 1e300, 1e300}, high[3] = {-1e300, -1e300, -1e300};
  void take(Vec3 p) {
    const double x[3] = {p.x, p.y, p.z};
    for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], x[k]), high[k] = std::max(high[k], x[k]);
  }
  void take(const Box& b) {
    for (int k = 0; k < 3; ++k) low[k] = std::min(low[k], b.low[k]), high[k] = std::max(high[k], b.high[k]);
  }
  bool meets(const Box& b) const {
    return low[0] <= b.high[0] && b.low[0] <= high[0] && low[1] <= b.high[1] && b.low[1] <= high[1] &&
           low[2] <= b.high[2] && b.low[2] <= high[2];
  }
};

// All points of all curves in rings (or, open, in rows whose ends stay), with the boxes of their edges in a binary tree
// over the points' numbers. Edge i runs from point i to next_[i]; points near each other along a curve are near each
// other in the tree.
class Strands {
 public:
  Strands(const Curves& curves, bool closed, const std::vector<Ray>& rays) : rays_(rays) {
    for (const Curve& curve : curves) {
      const std::size_t first = point_.size(), n = curve.size();
      for (std::size_t i = 0; i < n; ++i) {
        point_.push_back(curve[i]);
        next_.push_back(first + (i + 1) % n);
        previous_.push_back(first + (i + n - 1) % n);
      }
      if (!closed) next_[first + n - 1] = previous_[first] = kNone;
      start_.push_back(first);
    }
    alive_.assign(point_.size(), true);
    while (leaves_ < point_.size() + rays.size()) leaves_ *= 2;
    box_.resize(2 * leaves_);
    for (std::size_t i = 0; i < rays.size(); ++i) {
      Box& b = box_[leaves_ + point_.size() + i];
      b.take(rays[i].from);
      b.take(rays[i].to);
    }
    for (std::size_t i = 0; i < point_.size(); ++i) box_[leaves_ + i] = edge_box(i);
    for (std::size_t i = leaves_; i-- > 1;) join(i);
  }

  void shorten() {
    for (bool again = true; again;) {
      again = false;
      for (std::size_t v = 0; v < point_.size(); ++v) {
        if (tests_ > kMostTests) return;
        if (!alive_[v] || next_[v] == kNone || previous_[v] == kNone) continue;
        if (next_[next_[v]] == previous_[v] || !removable(v)) continue;
        remove(v);
        again = true;
      }
    }
  }

  Shortened result() const {
    Shortened out;
    for (std::size_t c = 0; c < start_.size(); ++c) {
      const std::size_t end = c + 1 < start_.size() ? start_[c + 1] : point_.size();
      out.curves.emplace_back();
      out.kept.emplace_back();
      for (std::size_t i = start_[c]; i < end; ++i) {
        if (!alive_[i]) continue;
        out.curves.back().push_back(point_[i]);
        out.kept.back().push_back(i - start_[c]);
      }
    }
    return out;
  }

 private:
  Box edge_box(std::size_t i) const {
    Box b;
    if (next_[i] == kNone) return b;
    b.take(point_[i]);
    b.take(point_[next_[i]]);
    return b;
  }
  void join(std::size_t node) {
    Box b = box_[2 * node];
    b.take(box_[2 * node + 1]);
    box_[node] = b;
  }
  void renew(std::size_t i, const Box& b) {
    std::size_t node = leaves_ + i;
    box_[node] = b;
    while (node > 1) join(node /= 2);
  }

  void remove(std::size_t v) {
    const std::size_t p = previous_[v], n = next_[v];
    next_[p] = n;
    previous_[n] = p;
    alive_[v] = false;
    renew(v, Box{});
    renew(p, edge_box(p));
  }

  bool removable(std::size_t v) {
    const std::size_t p = previous_[v], n = next_[v];
    const Vec3 a = point_[p], b = point_[v], c = point_[n];
    if (collinear(a, b, c)) return dot(b - a, c - b) > 0;
    const std::size_t before = previous_[p];
    if (before != kNone && in_wedge(a, b, c, point_[before])) return false;
    if (next_[n] != kNone && in_wedge(c, b, a, point_[next_[n]])) return false;
    const Vec3 centre = (1.0 / 3.0) * (a + b + c);
    const double reach = std::max({norm(a - centre), norm(b - centre), norm(c - centre)}) * (1 + 1e-9) + 1e-12;
    Box box;
    box.take(a);
    box.take(b);
    box.take(c);
    stack_.assign(1, 1);
    while (!stack_.empty()) {
      const std::size_t node = stack_.back();
      stack_.pop_back();
      ++tests_;
      if (!box_[node].meets(box)) continue;
      if (node < leaves_) {
        stack_.push_back(2 * node);
        stack_.push_back(2 * node + 1);
        continue;
      }
      const std::size_t e = node - leaves_;
      if (e >= point_.size()) {
        if (ray_in_the_way(rays_[e - point_.size()], a, b, c, centre, reach)) return false;
        continue;
      }
      if (e == p || e == v || e == before || e == n) continue;
      tests_ += 3;
      if (segment_meets_triangle(a, b, c, point_[e], point_[next_[e]])) return false;
    }
    return true;
  }

  static bool ray_in_the_way(const Ray& ray, Vec3 a, Vec3 b, Vec3 c, Vec3 centre, double reach) {
    const Vec3 along = ray.to - ray.from;
    const Vec3 off = cross(along, centre - ray.from);
    if (dot(off, off) > reach * reach * dot(along, along)) return false;
    if (ray.from == a) return in_wedge(a, b, c, ray.to);
    if (ray.from == c) return in_wedge(c, b, a, ray.to);
    if (ray.to == a) return in_wedge(a, b, c, ray.from);
    if (ray.to == c) return in_wedge(c, b, a, ray.from);
    return segment_meets_triangle(a, b, c, ray.from, ray.to);
  }

  const std::vector<Ray>& rays_;
  std::vector<Vec3> point_;
  std::vector<std::size_t> next_, previous_, start_, stack_;
  std::vector<bool> alive_;
  std::vector<Box> box_;
  std::size_t leaves_ = 1, tests_ = 0;
};

}  // namespace

Shortened shorten_prepared(const Curves& curves) {
  const std::vector<Ray> none;
  Strands strands(curves, true, none);
  strands.shorten();
  return strands.result();
}

Shortened shorten_open(const Curves& curves, const std::vector<Ray>& rays) {
  Strands strands(curves, false, rays);
  strands.shorten();
  return strands.result();
}

}  // namespace ligature::knot
