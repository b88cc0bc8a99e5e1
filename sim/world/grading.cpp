#include "sim/world/grading.hpp"

#include <Eigen/Geometry>
#include <algorithm>
#include <cmath>
#include <numeric>

#include "sim/contact/edge_places.hpp"
#include "sim/contact/swept_pairs.hpp"
#include "sim/world/build.hpp"

namespace ligature::world {
namespace {

using contact::Strand;
using Eigen::Vector3d;

double turn_between(const Vector3d& e, const Vector3d& f) {
  return std::atan2(e.cross(f).norm(), e.dot(f));
}

/// What a thread as drawn asks for, as sums from its start.
struct Needs {
  std::vector<double> turned;       ///< up to a vertex, with half of its own turn          (units + 1)
  std::vector<std::size_t> near;    ///< units before this vertex that are near a strand    (units + 1)
  std::vector<std::size_t> pinned;  ///< vertices up to this one that must be there         (units + 1)

  bool allow(std::size_t at, std::size_t size) const {
    const std::size_t end = at + size;
    return size == 1 ||
           (near[end] == near[at] && pinned[end - 1] == pinned[at] && turned[end] - turned[at] <= kMostTurn);
  }
};

Needs needs_of(const ThreadParams& thread, const std::vector<Vector3d>& x, const std::vector<bool>& near) {
  const std::size_t units = grid_of(thread).units, n = x.size();
  const auto turn_at = [&](std::size_t i) {
    if (!thread.closed && (i == 0 || i + 1 == n)) return 0.0;
    return turn_between(x[i % n] - x[(i + n - 1) % n], x[(i + 1) % n] - x[i % n]);
  };
  std::vector<bool> pin(units + 1, false);
  for (const ClampParams& c : thread.clamps) pin[unit_of(c.at, thread)] = true;
  for (const ForceParams& f : thread.forces) pin[unit_of(f.at, thread)] = true;
  Needs out;
  for (std::size_t i = 0; i <= units; ++i) {
    out.turned.push_back(i == 0 ? 0.0 : out.turned.back() + 0.5 * (turn_at(i - 1) + turn_at(i)));
    out.near.push_back(i == 0 ? 0 : out.near.back() + (near[i - 1] ? 1 : 0));
    out.pinned.push_back((i == 0 ? 0 : out.pinned.back()) + (pin[i] ? 1 : 0));
  }
  return out;
}

void divide(const Needs& needs, std::size_t at, std::size_t size, std::vector<std::uint32_t>& nodes) {
  if (needs.allow(at, size)) return nodes.push_back(static_cast<std::uint32_t>(at));
  divide(needs, at, size / 2, nodes);
  divide(needs, at + size / 2, size / 2, nodes);
}

/// Divides until neighbours differ by one halving at most. `nodes` ends with the whole.
void balance(std::vector<std::uint32_t>& nodes, bool closed) {
  for (bool changed = true; changed;) {
    changed = false;
    std::vector<std::uint32_t> out;
    const std::size_t edges = nodes.size() - 1;
    const auto size = [&](std::size_t i) { return nodes[i + 1] - nodes[i]; };
    for (std::size_t i = 0; i < edges; ++i) {
      out.push_back(nodes[i]);
      const bool before = closed || i > 0, behind = closed || i + 1 < edges;
      if ((before && size(i) > 2 * size(i > 0 ? i - 1 : edges - 1)) ||
          (behind && size(i) > 2 * size(i + 1 < edges ? i + 1 : 0))) {
        out.push_back(nodes[i] + size(i) / 2);
        changed = true;
      }
    }
    out.push_back(nodes.back());
    nodes = std::move(out);
  }
}

/// Units of every thread that lie near a strand, with what is beside them.
std::vector<std::vector<bool>> near_units(const std::vector<ThreadParams>& threads,
                                          const std::vector<std::vector<Vector3d>>& x) {
  std::vector<Strand> strands;
  std::size_t edges = 0;
  double thickest = 0;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    Strand s;
    s.x = x[k].data();
    s.vertices = x[k].size();
    s.closed = threads[k].closed;
    s.radius = 0.5 * threads[k].diameter_mm;
    s.rest_length = drawn_length(threads[k]) / static_cast<double>(s.edges());
    edges += s.edges();
    thickest = std::max(thickest, threads[k].diameter_mm);
    strands.push_back(s);
  }
  const double reach = (1 + kNearSurfaces) * thickest;
  std::vector<contact::EdgePair> pairs;
  for (std::size_t most = 16 * edges + 1024;; most *= 4) {
    contact::SweptPairs find(edges, most);
    const bool all = find.find(strands.data(), strands.size(), nullptr, reach);
    if (!all && most < 4096 * edges) continue;
    pairs = find.pairs();
    break;
  }
  std::vector<std::vector<bool>> near;
  for (const Strand& s : strands) near.emplace_back(s.edges(), false);
  const auto mark = [&](std::size_t k, std::size_t edge) {
    const Strand& s = strands[k];
    const auto beside = static_cast<std::ptrdiff_t>(std::ceil(kFineBeside * 2 * s.radius / s.rest_length));
    const auto count = static_cast<std::ptrdiff_t>(s.edges());
    for (std::ptrdiff_t i = -beside; i <= beside; ++i) {
      std::ptrdiff_t at = static_cast<std::ptrdiff_t>(edge) + i;
      if (s.closed) at = (at % count + count) % count;
      if (at >= 0 && at < count) near[k][static_cast<std::size_t>(at)] = true;
    }
  };
  for (const contact::EdgePair& p : pairs) {
    const Strand &a = strands[p.strand_a], &b = strands[p.strand_b];
    const double within = a.radius + b.radius + kNearSurfaces * 2 * std::max(a.radius, b.radius);
    // What bends back to itself within less is found by its turn.
    if (p.strand_a == p.strand_b &&
        std::min(a.arc_between(p.edge_a, p.edge_b), a.closed ? a.arc_round(p.edge_a, p.edge_b) : 1e300) < 2 * within)
      continue;
    if (contact::distance(a, b, p) > within) continue;
    mark(p.strand_a, p.edge_a);
    mark(p.strand_b, p.edge_b);
  }
  return near;
}

}  // namespace

std::vector<std::vector<std::uint32_t>> grade(const std::vector<ThreadParams>& threads) {
  std::vector<std::vector<std::uint32_t>> out;
  std::vector<std::vector<Vector3d>> x;
  std::vector<std::vector<bool>> near;
  for (std::size_t k = 0; k < threads.size(); ++k) {
    const Grid grid = grid_of(threads[k]);
    if (grid.block == 1) {
      out.emplace_back(grid.units + 1);
      std::iota(out.back().begin(), out.back().end(), 0u);
      continue;
    }
    if (x.empty()) {
      for (const ThreadParams& t : threads) x.push_back(resample(t));
      near = near_units(threads, x);
    }
    const Needs needs = needs_of(threads[k], x[k], near[k]);
    std::vector<std::uint32_t> nodes;
    for (std::size_t at = 0; at < grid.units; at += grid.block) divide(needs, at, grid.block, nodes);
    nodes.push_back(static_cast<std::uint32_t>(grid.units));
    balance(nodes, threads[k].closed);
    out.push_back(std::move(nodes));
  }
  return out;
}

std::size_t pool_of(const ThreadParams& thread, std::size_t vertices) {
  const std::size_t most = grid_of(thread).units + (thread.closed ? 0 : 1);
  if (grid_of(thread).block == 1) return most;
  return std::min(most, thread.most_vertices > 0 ? thread.most_vertices : 2 * vertices + 256);
}

}  // namespace ligature::world
