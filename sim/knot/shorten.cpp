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
  bool operator==(const Box&) const = default;
  bool meets(const Box& b) const {
    return low[0] <= b.high[0] && b.low[0] <= high[0] && low[1] <= b.high[1] && b.low[1] <= high[1] &&
           low[2] <= b.high[2] && b.low[2] <= high[2];
  }
};

// Rays that start from one point, looked at four side by side in rounded numbers: most miss most triangles.
class Fan {
 public:
  explicit Fan(Vec3 from) : from_(from) {}
  Vec3 from() const { return from_; }
  const std::vector<Vec3>& to() const { return to_; }
  void add(Vec3 to) {
    const Vec3 along = to - from_;
    const double length = norm(along);
    const Vec3 u = length > 0 ? (1.0 / length) * along : Vec3{};  // without length it may meet everything
    const std::size_t lane = to_.size() % kLanes;
    if (lane == 0) rays_.push_back({});
    rays_.back().x[lane] = u.x, rays_.back().y[lane] = u.y, rays_.back().z[lane] = u.z;
    to_.push_back(to);
  }

  /// Calls `meets` for the rays that are not surely clear of the triangle, until it is true. A ray along u meets it
  /// where det(a, b, u), det(b, c, u) and det(c, a, u), seen from the fan's point, have the sign of det(a, b, c).
  template <class Meets>
  bool any_near(Vec3 a, Vec3 b, Vec3 c, Meets&& meets) const {
    a = a - from_, b = b - from_, c = c - from_;
    const double la = norm(a), lb = norm(b), lc = norm(c);
    const double volume = dot(cross(a, b), c), sign = volume < 0 ? -1.0 : 1.0;
    const Vec3 l = sign * cross(a, b), m = sign * cross(b, c), n = sign * cross(c, a);
    const double p = kMargin * la * lb, q = kMargin * lb * lc, r = kMargin * lc * la;
    // Where the triangle is seen edge-on the opposite ray counts as well.
    const bool edge_on = std::abs(volume) <= kMargin * la * lb * lc;
    return any(
        [&](const Rays& ray) {
          const Lanes s = ray.along(l), t = ray.along(m), w = ray.along(n);
          const auto in = (s >= -p) & (t >= -q) & (w >= -r);
          return edge_on ? in | ((s <= p) & (t <= q) & (w <= r)) : in;
        },
        meets);
  }
  /// The same for the plane through the fan's point, b and c.
  template <class Meets>
  bool any_near_plane(Vec3 b, Vec3 c, Meets&& meets) const {
    b = b - from_, c = c - from_;
    const Vec3 n = cross(b, c);
    const double most = kMargin * norm(b) * norm(c);
    return any(
        [&](const Rays& ray) {
          const Lanes off = ray.along(n);
          return (off >= -most) & (off <= most);
        },
        meets);
  }

 private:
  static constexpr double kMargin = 1e-12;  // thousands of roundings
  static constexpr std::size_t kLanes = 4;
  using Lanes [[gnu::vector_size(kLanes * sizeof(double))]] = double;
  struct Rays {
    Lanes x = {}, y = {}, z = {};  // unit vectors
    Lanes along(Vec3 v) const { return x * v.x + y * v.y + z * v.z; }
  };

  template <class Near, class Meets>
  bool any(const Near& near, Meets&& meets) const {
    for (std::size_t i = 0; i < rays_.size(); ++i) {
      const auto here = near(rays_[i]);  // all bits of a lane, or none
      if ((here[0] | here[1] | here[2] | here[3]) == 0) continue;
      for (std::size_t k = 0; k < kLanes && kLanes * i + k < to_.size(); ++k)
        if (here[k] != 0 && meets(to_[kLanes * i + k])) return true;
    }
    return false;
  }

  Vec3 from_;
  std::vector<Rays> rays_;
  std::vector<Vec3> to_;
};

std::vector<Fan> fans_of(const std::vector<Ray>& rays) {
  std::vector<Fan> out;
  for (const Ray& ray : rays) {
    auto fan = std::find_if(out.begin(), out.end(), [&](const Fan& f) { return f.from() == ray.from; });
    if (fan == out.end()) fan = out.insert(out.end(), Fan(ray.from));
    fan->add(ray.to);
  }
  return out;
}

// All points of all curves in rings (or, open, in rows whose ends stay), with the boxes of their edges in a binary tree
// over the points' numbers. Edge i runs from point i to next_[i]; points near each other along a curve are near each
// other in the tree.
class Strands {
 public:
  Strands(const Curves& curves, bool closed, const std::vector<Ray>& rays) : fans_(fans_of(rays)) {
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
    met_.resize(point_.size());
    while (leaves_ < point_.size()) leaves_ *= 2;
    box_.resize(2 * leaves_);
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
  /// Whether it was another box before.
  bool join(std::size_t node) {
    Box b = box_[2 * node];
    b.take(box_[2 * node + 1]);
    const bool changed = !(b == box_[node]);
    box_[node] = b;
    return changed;
  }
  void renew(std::size_t i, const Box& b) {
    std::size_t node = leaves_ + i;
    box_[node] = b;
    while (node > 1 && join(node /= 2)) {
    }
  }

  void remove(std::size_t v) {
    const std::size_t p = previous_[v], n = next_[v];
    next_[p] = n;
    previous_[n] = p;
    alive_[v] = false;
    renew(v, Box{});
    renew(p, edge_box(p));
  }

  // What the triangle of a corner met when it was last looked at: it stays while neither changes.
  struct Met {
    std::size_t previous = kNone, next = kNone;  // the triangle's other corners
    std::size_t edge = kNone, end = kNone;       // edge kRay: a ray
  };
  static constexpr std::size_t kRay = kNone - 1;

  bool removable(std::size_t v) {
    const std::size_t p = previous_[v], n = next_[v];
    Met& met = met_[v];
    const bool there = met.edge < point_.size() && alive_[met.edge] && next_[met.edge] == met.end;
    if (met.previous == p && met.next == n && (there || met.edge == kRay)) return false;
    const Vec3 a = point_[p], b = point_[v], c = point_[n];
    if (collinear(a, b, c)) return dot(b - a, c - b) > 0;
    const std::size_t before = previous_[p];
    const auto own = [&](std::size_t e) { return e == p || e == v || e == before || e == n; };
    if (there && !own(met.edge) && segment_meets_triangle(a, b, c, point_[met.edge], point_[met.end])) {
      met = {p, n, met.edge, met.end};
      return false;
    }
    if (before != kNone && in_wedge(a, b, c, point_[before])) return false;
    if (next_[n] != kNone && in_wedge(c, b, a, point_[next_[n]])) return false;
    if (ray_in_the_way(a, b, c)) {
      met = {p, n, kRay, kNone};
      return false;
    }
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
      if (own(e)) continue;
      tests_ += 3;
      if (segment_meets_triangle(a, b, c, point_[e], point_[next_[e]])) {
        met = {p, n, e, next_[e]};
        return false;
      }
    }
    return true;
  }

  bool ray_in_the_way(Vec3 a, Vec3 b, Vec3 c) {
    for (const Fan& fan : fans_) {
      const Vec3 from = fan.from();
      ++tests_;
      const auto meets = [&](Vec3 to) {
        tests_ += 3;
        return in_the_way(from, to, a, b, c);
      };
      if (from == a   ? fan.any_near_plane(b, c, meets)
          : from == c ? fan.any_near_plane(a, b, meets)
                      : fan.any_near(a, b, c, meets))
        return true;
    }
    return false;
  }
  static bool in_the_way(Vec3 from, Vec3 to, Vec3 a, Vec3 b, Vec3 c) {
    if (from == a) return in_wedge(a, b, c, to);
    if (from == c) return in_wedge(c, b, a, to);
    if (to == a) return in_wedge(a, b, c, from);
    if (to == c) return in_wedge(c, b, a, from);
    return segment_meets_triangle(a, b, c, from, to);
  }

  std::vector<Fan> fans_;
  std::vector<Vec3> point_;
  std::vector<std::size_t> next_, previous_, start_, stack_;
  std::vector<bool> alive_;
  std::vector<Met> met_;
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
