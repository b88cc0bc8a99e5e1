#include "sim/knot/project.hpp"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <string>

#include "sim/knot/exact.hpp"

namespace ligature::knot {

namespace {

constexpr std::size_t kMostPairs = 200'000'000;  // of boxes looked at in all views: bounds the time
constexpr std::size_t kMostCrossings = 1'000'000;
constexpr int kViews = 48;

struct Edge {
  Vec3 a, b;
  std::uint32_t curve, index;
  double low_x, high_x, low_y, high_y;  // as seen, widened by more than they are rounded
};

struct Crossing {
  std::uint32_t over, under;  // edges
  std::int8_t sign;
};

enum class View { good, coincidence, meeting, too_much };

Vec3 unit(Vec3 v) {
  return (1.0 / norm(v)) * v;
}

class Viewer {
 public:
  explicit Viewer(const Curves& curves) : curves_(curves) {
    for (std::uint32_t c = 0; c < curves.size(); ++c)
      for (std::uint32_t i = 0; i < curves[c].size(); ++i)
        edges_.push_back({curves[c][i], curves[c][(i + 1) % curves[c].size()], c, i, 0, 0, 0, 0});
    order_.resize(edges_.size());
  }

  View look(Vec3 w, Projection& out) {
    w_ = w;
    crossings_.clear();
    frame();
    for (const Edge& e : edges_)
      if (const View v = corner(e); v != View::good) return v;
    std::vector<std::uint32_t> open;
    for (const std::uint32_t i : order_) {
      const Edge& e = edges_[i];
      std::size_t left = 0;
      for (const std::uint32_t j : open) {
        const Edge& f = edges_[j];
        if (f.high_x < e.low_x) continue;
        open[left++] = j;
        if (f.low_y > e.high_y || f.high_y < e.low_y) continue;
        if (const View v = cross(i, j); v != View::good) return v;
      }
      pairs_ += open.size();
      if (pairs_ > kMostPairs || crossings_.size() > kMostCrossings) return View::too_much;
      open.resize(left);
      open.push_back(i);
    }
    return gather(out);
  }

 private:
  void frame() {
    const Vec3 helper = std::abs(w_.x) < 0.6 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
    const Vec3 s = unit(cross_product(w_, helper)), t = cross_product(w_, s);
    constexpr double kMargin = 1e-14;  // coordinates are at most 1: a dozen roundings of 2^-53
    for (Edge& e : edges_) {
      const double ax = dot(e.a, s), bx = dot(e.b, s), ay = dot(e.a, t), by = dot(e.b, t);
      e.low_x = std::min(ax, bx) - kMargin, e.high_x = std::max(ax, bx) + kMargin;
      e.low_y = std::min(ay, by) - kMargin, e.high_y = std::max(ay, by) + kMargin;
    }
    for (std::uint32_t i = 0; i < order_.size(); ++i) order_[i] = i;
    std::sort(order_.begin(), order_.end(), [this](std::uint32_t i, std::uint32_t j) {
      return edges_[i].low_x != edges_[j].low_x ? edges_[i].low_x < edges_[j].low_x : i < j;
    });
  }
  static Vec3 cross_product(Vec3 a, Vec3 b) { return ligature::cross(a, b); }

  // Where an edge goes over into the next one of its curve they must not fold back on each other.
  View corner(const Edge& e) const {
    const Curve& curve = curves_[e.curve];
    const Vec3 next = curve[(e.index + 2) % curve.size()];
    if (turn(e.a, e.b, next, w_) != 0) return View::good;
    const Vec3 u = e.b - e.a, v = next - e.b;
    if (collinear(e.a, e.b, next)) {
      if (dot(u, v) < 0) return View::meeting;
    }
    const Vec3 p = u - dot(u, w_) * w_, q = v - dot(v, w_) * w_;
    return dot(p, q) > 1e-12 * norm(u) * norm(v) ? View::good : View::coincidence;
  }

  View cross(std::uint32_t i, std::uint32_t j) {
    const Edge &e = edges_[i], &f = edges_[j];
    if (e.curve == f.curve) {
      const auto n = static_cast<std::uint32_t>(curves_[e.curve].size());
      if ((e.index + 1) % n == f.index || (f.index + 1) % n == e.index) return View::good;
    }
    const int c = turn(e.a, e.b, f.a, w_), d = turn(e.a, e.b, f.b, w_);
    if (c * d > 0) return View::good;
    const int a = turn(f.a, f.b, e.a, w_), b = turn(f.a, f.b, e.b, w_);
    if (a * b > 0) return View::good;
    if (a == 0 || b == 0 || c == 0 || d == 0)
      return segments_meet(e.a, e.b, f.a, f.b) ? View::meeting : View::coincidence;
    const int height = det_sign(e.a, e.b, f.a, f.b, f.a, e.a), across = det_sign(e.a, e.b, f.a, f.b, {}, w_);
    if (height == 0) return View::meeting;
    const bool over = height * across > 0;
    crossings_.push_back({over ? i : j, over ? j : i, static_cast<std::int8_t>(over ? across : -across)});
    return View::good;
  }

  View gather(Projection& out) const {
    struct Met {
      std::uint32_t crossing;
      bool over;
    };
    std::vector<std::vector<Met>> met(edges_.size());
    for (std::uint32_t x = 0; x < crossings_.size(); ++x) {
      met[crossings_[x].over].push_back({x, true});
      met[crossings_[x].under].push_back({x, false});
    }
    const auto other = [this](Met m) -> const Edge& {
      return edges_[m.over ? crossings_[m.crossing].under : crossings_[m.crossing].over];
    };
    out = {};
    out.direction = w_;
    out.diagram.components.resize(curves_.size());
    out.place.resize(curves_.size());
    for (std::uint32_t i = 0; i < edges_.size(); ++i) {
      const Edge& e = edges_[i];
      std::vector<Met>& here = met[i];
      std::sort(here.begin(), here.end(), [&](Met m, Met n) {
        if (m.crossing == n.crossing) return false;
        return compare_places(e.a, e.b, other(m).a, other(m).b, other(n).a, other(n).b, w_) < 0;
      });
      for (std::size_t k = 0; k + 1 < here.size(); ++k)
        if (compare_places(e.a, e.b, other(here[k]).a, other(here[k]).b, other(here[k + 1]).a, other(here[k + 1]).b,
                           w_) == 0)
          return View::coincidence;
      double last = static_cast<double>(e.index);
      for (const Met& m : here) {
        const Edge& f = other(m);
        const Vec3 n = cross_product(f.b - f.a, w_);
        const double t = dot(n, f.a - e.a) / dot(n, e.b - e.a);
        // Only told to a double's precision; the order is what was decided exactly.
        last = std::clamp(static_cast<double>(e.index) + t, last, static_cast<double>(e.index) + 1);
        out.diagram.components[e.curve].push_back({m.crossing, m.over});
        out.place[e.curve].push_back(last);
      }
    }
    for (const Crossing& x : crossings_) out.diagram.sign.push_back(x.sign);
    return View::good;
  }

  const Curves& curves_;
  std::vector<Edge> edges_;
  std::vector<std::uint32_t> order_;
  std::vector<Crossing> crossings_;
  Vec3 w_;
  std::size_t pairs_ = 0;
};

// Attempt k looks from a little further aside, round a spiral whose angle has no simple ratio.
Vec3 turned(Vec3 w, int k) {
  if (k == 0) return w;
  const Vec3 helper = std::abs(w.x) < 0.6 ? Vec3{1, 0, 0} : Vec3{0, 1, 0};
  const Vec3 s = unit(cross(w, helper)), t = cross(w, s);
  const double angle = 2.399963229728653 * k;  // golden
  const double aside = 0.0137 * std::sqrt(static_cast<double>(k)) * (1 + 0.1 * k);
  return unit(w + aside * (std::cos(angle) * s + std::sin(angle) * t));
}

}  // namespace

Result<Projection> projection_of_prepared(const Curves& curves, Vec3 direction) {
  const double largest = std::max({std::abs(direction.x), std::abs(direction.y), std::abs(direction.z)});
  if (!std::isfinite(largest) || largest == 0) return usage_error("the direction of view is zero or not finite");
  Vec3 w = unit((1.0 / largest) * direction);
  for (double* x : {&w.x, &w.y, &w.z})
    if (std::abs(*x) < 0x1.0p-200) *x = 0;
  Viewer viewer(curves);
  Projection out;
  for (int k = 0; k < kViews; ++k) switch (viewer.look(turned(w, k), out)) {
      case View::good:
        return out;
      case View::meeting:
        return failure("the curves touch or cross: there is no knot to tell");
      case View::too_much:
        return usage_error("the curves are seen to cross more than " + std::to_string(kMostCrossings) +
                           " times, or nearly: resample them");
      case View::coincidence:
        break;
    }
  return failure("no view tells the crossings apart: the curves coincide or nearly do");
}

Result<Projection> projection(const Curves& curves, Vec3 direction) {
  Result<Curves> ready = prepared(curves, true);
  if (!ready) return unexpected(ready.error());
  return projection_of_prepared(*ready, direction);
}

Result<Diagram> project(const Curves& curves, Vec3 direction) {
  Result<Projection> seen = projection(curves, direction);
  if (!seen) return unexpected(seen.error());
  return std::move(seen->diagram);
}

}  // namespace ligature::knot
