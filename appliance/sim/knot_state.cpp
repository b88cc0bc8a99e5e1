#include "appliance/sim/knot_state.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <utility>

#include "sim/base/random.hpp"

namespace ligature::simulate {
namespace {

constexpr double kShare = 0.02;      // of the normal force on a thread, where the knot begins
constexpr double kJitter_mm = 1e-9;  // brings points into general position: far above rounding, far below any gap

/// Six times the signed volume of a tetrahedron.
double volume(Vec3 a, Vec3 b, Vec3 c, Vec3 d) {
  return dot(cross(b - a, c - a), d - a);
}

struct Box3 {
  Vec3 low, high;
  static Box3 of(std::initializer_list<Vec3> points) {
    Box3 box{*points.begin(), *points.begin()};
    for (const Vec3 p : points) {
      box.low = {std::min(box.low.x, p.x), std::min(box.low.y, p.y), std::min(box.low.z, p.z)};
      box.high = {std::max(box.high.x, p.x), std::max(box.high.y, p.y), std::max(box.high.z, p.z)};
    }
    return box;
  }
  bool meets(const Box3& o) const {
    return low.x <= o.high.x && o.low.x <= high.x && low.y <= o.high.y && o.low.y <= high.y && low.z <= o.high.z &&
           o.low.z <= high.z;
  }
};

bool pierces(Vec3 p, Vec3 q, Vec3 a, Vec3 b, Vec3 c) {
  if ((volume(a, b, c, p) > 0) == (volume(a, b, c, q) > 0)) return false;
  const bool ab = volume(p, q, a, b) > 0, bc = volume(p, q, b, c) > 0, ca = volume(p, q, c, a) > 0;
  return ab == bc && bc == ca;
}

struct Chain {
  std::vector<Vec3> x;
  bool closed = false, fixed = false;
  std::size_t edges() const { return closed ? x.size() : x.size() - 1; }
  Vec3 at(std::size_t i) const { return x[i % x.size()]; }
};

/// Whether any edge but those that end in the triangle's corners goes through it.
bool swept_free(const std::vector<Chain>& chains, std::size_t chain, std::size_t corner) {
  const Chain& own = chains[chain];
  const std::size_t n = own.x.size();
  const std::size_t before = (corner + n - 1) % n, after = (corner + 1) % n;
  const Vec3 a = own.x[before], b = own.x[corner], c = own.x[after];
  const Box3 box = Box3::of({a, b, c});
  for (std::size_t k = 0; k < chains.size(); ++k)
    for (std::size_t i = 0; i < chains[k].edges(); ++i) {
      const std::size_t j = (i + 1) % chains[k].x.size();
      if (k == chain && (i == before || i == corner || i == after || j == before || j == corner || j == after))
        continue;
      const Vec3 p = chains[k].x[i], q = chains[k].x[j];
      if (box.meets(Box3::of({p, q})) && pierces(p, q, a, b, c)) return false;
    }
  return true;
}

}  // namespace

std::vector<Touch> touches_of(const world::World& world, const world::WorldParams& params) {
  using Other = world::ContactMeasure::Other;
  std::vector<Touch> out;
  for (const world::ContactMeasure& c : world.contacts()) {
    if (c.other == Other::forceps) continue;
    if (c.other == Other::obstacle && params.obstacles[c.index].shape == world::ObstacleParams::Shape::plane) continue;
    out.push_back({c.thread, c.s_mm, c.normal_force});
    if (c.other == Other::thread) out.push_back({c.index, c.other_s_mm, c.normal_force});
  }
  return out;
}

std::optional<double> free_length(const std::vector<Touch>& touches, std::size_t thread, double rest_length_mm,
                                  bool from_last) {
  std::vector<Touch> met;
  double whole = 0;
  for (Touch t : touches) {
    if (t.thread != thread || !(t.normal_force > 0)) continue;
    if (from_last) t.s_mm = rest_length_mm - t.s_mm;
    whole += t.normal_force;
    met.push_back(t);
  }
  if (met.empty()) return std::nullopt;
  std::sort(met.begin(), met.end(), [](const Touch& a, const Touch& b) { return a.s_mm < b.s_mm; });
  double sum = 0;
  for (const Touch& t : met)
    if ((sum += t.normal_force) >= kShare * whole) return std::max(t.s_mm, 0.0);
  return std::max(met.back().s_mm, 0.0);
}

double loads_full_s(const world::WorldParams& params, double duration_s) {
  double full = -1, moving = 0;
  for (const world::ThreadParams& t : params.threads) {
    for (const world::ForceParams& f : t.forces)
      if (!(f.force == Vec3{}) && f.from_s < duration_s) full = std::max(full, f.from_s + f.ramp_s);
    for (const world::ClampParams& c : t.clamps)
      if (!(c.velocity == Vec3{}) && c.from_s < duration_s)
        moving = std::max(moving, c.until_s < duration_s ? c.until_s : c.from_s);
  }
  return full >= 0 ? full : moving;
}

std::vector<bool> tied(const std::vector<Curve>& curves, const std::vector<Pole>& poles) {
  std::vector<Chain> chains;
  Random random(1);
  const auto jittered = [&random](Vec3 p) {
    const auto one = [&random] { return random.uniform(-kJitter_mm, kJitter_mm); };
    const double x = one(), y = one(), z = one();
    return p + Vec3{x, y, z};
  };
  for (const Curve& c : curves) {
    Chain chain{c.x, c.closed, false};
    for (Vec3& p : chain.x) p = jittered(p);
    chains.push_back(std::move(chain));
  }
  for (const Pole& p : poles) chains.push_back({{jittered(p.from), jittered(p.to)}, false, true});
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t k = 0; k < chains.size(); ++k) {
      Chain& chain = chains[k];
      if (chain.fixed) continue;
      const std::size_t least = chain.closed ? 3 : 2, ends = chain.closed ? 0 : 1;
      for (std::size_t i = ends; i + ends < chain.x.size() && chain.x.size() > least;) {
        if (swept_free(chains, k, i)) {
          chain.x.erase(chain.x.begin() + static_cast<std::ptrdiff_t>(i));
          changed = true;
          ++i;  // every other one: triangles stay small
        } else {
          ++i;
        }
      }
    }
  }
  std::vector<bool> out;
  for (std::size_t k = 0; k < curves.size(); ++k) out.push_back(!chains[k].closed && chains[k].x.size() > 2);
  return out;
}

std::vector<Pole> poles_of(const world::WorldParams& params, const std::vector<Vec3>& shifts) {
  using Shape = world::ObstacleParams::Shape;
  std::vector<Pole> out;
  for (std::size_t i = 0; i < params.obstacles.size(); ++i) {
    const world::ObstacleParams& o = params.obstacles[i];
    const Vec3 way = shifts[i];
    if (o.shape == Shape::cylinder || o.shape == Shape::capsule) out.push_back({o.from + way, o.to + way});
    if (o.shape != Shape::mesh) continue;
    std::set<std::pair<std::uint32_t, std::uint32_t>> edges;
    for (const auto& t : o.triangles)
      for (std::size_t k = 0; k < 3; ++k) edges.insert(std::minmax(t[k], t[(k + 1) % 3]));
    for (const auto& [a, b] : edges) out.push_back({o.vertices[a] + way, o.vertices[b] + way});
  }
  return out;
}

std::vector<Hold> holds_of(const world::World& world, const world::WorldParams& params,
                           const std::vector<Curve>& curves) {
  std::vector<Hold> out;
  for (const world::ClampMeasure& c : world.clamps())
    if (c.active && c.vertex < curves[c.thread].s_mm.size()) out.push_back({c.thread, curves[c.thread].s_mm[c.vertex]});
  const double t_s = world.time_s();
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    const auto same = [&c](const Curve& o) { return o.origin == c.origin; };
    const bool first_piece = std::none_of(curves.begin(), curves.begin() + static_cast<std::ptrdiff_t>(k), same);
    const bool last_piece = std::none_of(curves.begin() + static_cast<std::ptrdiff_t>(k) + 1, curves.end(), same);
    for (const world::ForceParams& f : params.threads[c.origin].forces) {
      if (f.force == Vec3{} || t_s < f.from_s || t_s >= f.until_s) continue;
      // Where a cut thread is pulled in between is not followed to its pieces: only what pulls the ends.
      if (f.at.kind == world::Place::Kind::last) {
        if (last_piece) out.push_back({k, c.s_mm.back()});
      } else if (first_piece) {
        const double s = f.at.kind == world::Place::Kind::first    ? 0
                         : f.at.kind == world::Place::Kind::vertex ? c.s_mm[std::min(f.at.vertex, c.s_mm.size() - 1)]
                                                                   : f.at.s_mm;
        out.push_back({k, s});
      }
    }
  }
  return out;
}

void EndWatch::add(double t_s, const std::vector<Curve>& curves, const std::vector<Touch>& touches,
                   const std::vector<Hold>& holds) {
  if (t_s + 1e-9 < from_s_) return;
  if (!begun_ || threads_ != curves.size()) ends_.clear();
  begun_ = true;
  threads_ = curves.size();
  for (std::size_t k = 0; k < curves.size(); ++k) {
    const Curve& c = curves[k];
    if (c.closed) continue;
    const auto known = std::find_if(ends_.begin(), ends_.end(), [k](const End& e) { return e.thread == k; });
    const auto first = free_length(touches, k, c.rest_length_mm, false);
    if (!first) continue;
    const double frees[2] = {*first, *free_length(touches, k, c.rest_length_mm, true)};
    if (known == ends_.end()) {
      End pair[2];
      for (int e = 0; e < 2; ++e) {
        const bool held = std::any_of(holds.begin(), holds.end(), [&](const Hold& h) {
          return h.thread == k && (e == 0 ? h.s_mm : c.rest_length_mm - h.s_mm) <= frees[e];
        });
        pair[e] = {k, e == 1, !held, false, frees[e], frees[e], 0, 2 * c.radius_mm};
      }
      const bool any = pair[0].tail || pair[1].tail;
      for (End& e : pair) {
        e.counts = e.tail || !any;
        ends_.push_back(e);
      }
      continue;
    }
    for (int e = 0; e < 2; ++e) {
      End& end = *(known + e);
      end.free_mm = frees[e];
      end.slid_mm = std::max(end.slid_mm, end.first_free_mm - frees[e]);
    }
  }
}

std::string why_not_held(const EndWatch& watch, const KnotVerdict& verdict, const std::vector<std::string>& names) {
  if (!watch.begun()) return fmt::format("the loads are full at {:g} s only: lengthen duration_s", watch.from_s());
  if (!verdict.tied_at_full) return fmt::format("nothing was tied when the loads were full, at {:g} s", watch.from_s());
  if (watch.ends().empty()) return "no strand pressed on any other after the loads were full";
  std::string why;
  for (const EndWatch::End& e : watch.ends()) {
    if (!e.counts || e.slid_mm <= kHoldDiameters * e.diameter_mm) continue;
    why += fmt::format("{}the {} of '{}' slid by {:.3g} mm, {:.3g} diameters", why.empty() ? "" : ", ",
                       e.last ? "last end" : "first end", names[e.thread], e.slid_mm, e.slid_mm / e.diameter_mm);
  }
  if (!verdict.tied_at_end) why = "it came open" + (why.empty() ? why : ": " + why);
  return why;
}

std::string why_not_open(const EndWatch& watch, const KnotVerdict& verdict) {
  if (!verdict.tied_before) return "nothing was tied, at the start or when the loads were full";
  if (!watch.begun()) return fmt::format("the loads are full at {:g} s only: lengthen duration_s", watch.from_s());
  if (verdict.tied_at_end) return "it is still tied at the end";
  return "";
}

}  // namespace ligature::simulate
