#include "sim/contact/swept_pairs.hpp"

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

namespace ligature::contact {
namespace {

using Lanes = float __attribute__((vector_size(32)));
using Bits = std::int32_t __attribute__((vector_size(32)));
using Doubles = double __attribute__((vector_size(32)));
using Floats = float __attribute__((vector_size(16)));
using Four = std::int32_t __attribute__((vector_size(16)));

constexpr double kMostFloat = 1e38;  // beyond, coordinates are taken as this one: order is kept
constexpr double kRounding = 2e-6;   // of the furthest coordinate: what a float difference or projection is wrong by
constexpr float kNothing = 3e38F;    // low of a box that overlaps none, high its negative
constexpr float kTiny = 1e-36F;      // a divisor
constexpr double kOver = 1.005;      // of what a stretch needs to be proven

std::size_t edges_of(const Strand& strand) {
  return strand.x == nullptr || strand.vertices < 2 ? 0 : strand.edges();
}

Lanes load(const float* from) {
  Lanes w;
  std::memcpy(&w, from, sizeof w);
  return w;
}
void store(float* to, const Lanes& w) {
  std::memcpy(to, &w, sizeof w);
}
Lanes less(const Lanes& a, const Lanes& b) {
#ifdef __AVX__
  return _mm256_min_ps(a, b);
#else
  return a < b ? a : b;
#endif
}
Lanes more(const Lanes& a, const Lanes& b) {
#ifdef __AVX__
  return _mm256_max_ps(a, b);
#else
  return a > b ? a : b;
#endif
}
Four more(const Four& a, const Four& b) {
#ifdef __SSE4_1__
  return reinterpret_cast<Four>(_mm_max_epi32(reinterpret_cast<__m128i>(a), reinterpret_cast<__m128i>(b)));
#else
  return a > b ? a : b;
#endif
}
Lanes spread(float x) {
  return x - Lanes{};
}
Lanes root(const Lanes& w) {
#ifdef __AVX__
  return _mm256_sqrt_ps(w);
#else
  Lanes r;
  for (int k = 0; k < 8; ++k) r[k] = std::sqrt(w[k]);
  return r;
#endif
}
Lanes between_0_and_1(const Lanes& w) {
  return less(more(w, Lanes{}), spread(1));
}
struct Lanes3 {
  Lanes x, y, z;
};
Lanes dot(const Lanes3& a, const Lanes3& b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

/// A bit for every lane that is set.
unsigned bits(const Bits& mask) {
#ifdef __AVX__
  return static_cast<unsigned>(_mm256_movemask_ps(reinterpret_cast<__m256>(mask)));
#else
  unsigned out = 0;
  for (unsigned k = 0; k < 8; ++k) out |= static_cast<unsigned>(mask[k] != 0) << k;
  return out;
#endif
}

/// Bit k: lane `lane` of `asking` overlaps lane k of `block`.
template <class Block>
unsigned overlaps(const Block& asking, std::size_t lane, const Block& block) {
  Bits apart{};
  for (int axis = 0; axis < 3; ++axis) {
    apart |= spread(asking.low[axis][lane]) > load(block.high[axis]);
    apart |= load(block.low[axis]) > spread(asking.high[axis][lane]);
  }
  return ~bits(apart) & 0xffU;
}

/// Whether the exact boxes of two edges, swept, have a gap wider than `reach` on an axis.
bool boxes_apart(const Strand& a, const Vector3d* a1, std::size_t i, const Strand& b, const Vector3d* b1, std::size_t j,
                 double reach) {
  const std::size_t i1 = a.next(i), j1 = b.next(j);
  const double *const p[4] = {a.x[i].data(), a.x[i1].data(), a1[i].data(), a1[i1].data()}, *const q[4] = {
                                                                                               b.x[j].data(),
                                                                                               b.x[j1].data(),
                                                                                               b1[j].data(),
                                                                                               b1[j1].data()};
  bool apart = false;
  for (std::size_t k = 0; k < 3; ++k) {
    const double low_p = std::min(std::min(p[0][k], p[1][k]), std::min(p[2][k], p[3][k])),
                 high_p = std::max(std::max(p[0][k], p[1][k]), std::max(p[2][k], p[3][k])),
                 low_q = std::min(std::min(q[0][k], q[1][k]), std::min(q[2][k], q[3][k])),
                 high_q = std::max(std::max(q[0][k], q[1][k]), std::max(q[2][k], q[3][k]));
    apart |= low_p - high_q > reach || low_q - high_p > reach;
  }
  return apart;
}

float bounded(double x) {
  return static_cast<float>(std::clamp(x, -kMostFloat, kMostFloat));
}

}  // namespace

struct SweptPairs::Bound {
  float neighbours = 0;  ///< arc between of neighbours: less than this [mm]
  float reach = 0;       ///< of them [mm]
  float share = 0;       ///< of the distance of their nearer ends; 0: any
  float least = 0;       ///< ... but at least that
  float left_out = -1;   ///< arc with which they are left out: no more than this between their places [mm]
  float round = 0;       ///< arc of the whole ring, or very much [mm]
  float going_on = 0;    ///< least advance of an edge along a stretch, of its rest length; 0: there are no stretches
  float longest = 0;     ///< edge of a stretch at the start, likewise
};

SweptPairs::SweptPairs(std::size_t most_edges, std::size_t most_pairs)
    : most_edges_(most_edges), most_pairs_(most_pairs), names_(std::max<std::size_t>(most_edges, 1)) {
  // A strand of n edges takes n / 8 + 1 blocks, at most n.
  std::size_t blocks = names_.size();
  for (auto& axes : at_)
    for (Eigen::ArrayXf& axis : axes) axis = Eigen::ArrayXf::Zero(static_cast<Eigen::Index>(kWidth * (blocks + 2)));
  arc_ = Eigen::ArrayXf::Zero(static_cast<Eigen::Index>(kWidth * (blocks + 2)));
  levels_.emplace_back(blocks);
  while (blocks > 1) {
    blocks = (blocks + kWidth - 1) / kWidth;
    levels_.emplace_back(blocks);
  }
  used_.resize(levels_.size());
  near_.reserve(levels_[0].size());
  groups_.reserve(levels_[0].size() / kWidth + 1);
  pairs_.reserve(most_pairs);
}

bool SweptPairs::find(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach) noexcept {
  return search(strands, count, x1, reach, nullptr);
}

bool SweptPairs::find_nearer(const Strand* strands, std::size_t count, const Vector3d* const* x1,
                             const Nearness& what) noexcept {
  return search(strands, count, x1, what.reach, &what);
}

bool SweptPairs::search(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach,
                        const Nearness* what) noexcept {
  pairs_.clear();
  const bool all = place(strands, count, x1, what != nullptr);
  if (std::isnan(reach)) return false;
  if (edges_ == 0) return all;
  build(reach);
  if (what != nullptr) mark_stretches(strands, *what);
  for (std::size_t leaf = 0; leaf < blocks_; ++leaf) {
    if (leaf % kWidth == 0) {
      groups_.clear();
      if (top_ < 2) {
        groups_.push_back(0);
      } else {
        gather_groups(top_, 0, leaf / kWidth);
      }
    }
    if (names_[leaf].valid == 0) continue;
    gather(leaf);
    if (!near_.empty() && !emit(strands, x1, leaf, reach, what)) return false;
  }
  return all;
}

/// All vertices as floats about the origin, edge by edge in blocks. @returns false when not all fit
bool SweptPairs::place(const Strand* strands, std::size_t count, const Vector3d* const* x1, bool arcs) noexcept {
  edges_ = blocks_ = skipped_ = 0;
  furthest_ = 0;
  origin_ = {0, 0, 0};
  for (std::size_t s = 0; s < count; ++s) {
    const Strand& strand = strands[s];
    const std::size_t wanted = edges_of(strand), edges = std::min(wanted, most_edges_ - edges_);
    if (edges > 0) {
      const Vector3d* to = x1 != nullptr && x1[s] != nullptr ? x1[s] : strand.x;
      if (edges_ == 0 && strand.x[0].allFinite()) std::copy_n(strand.x[0].data(), 3, origin_.begin());
      const std::size_t first = blocks_, base = first * kWidth;
      const bool round = strand.closed && edges == wanted;
      const std::size_t vertices = std::min(edges + 1, strand.vertices);
      const bool finite =
          convert(strand.x, vertices, round, base, 0) && (to == strand.x || convert(to, vertices, round, base, 1));
      if (to == strand.x)
        for (std::size_t axis = 0; axis < 3; ++axis)
          at_[1][axis].segment(static_cast<Eigen::Index>(base), static_cast<Eigen::Index>(edges + 1)) =
              at_[0][axis].segment(static_cast<Eigen::Index>(base), static_cast<Eigen::Index>(edges + 1));
      if (arcs) lay_out(strand, base, edges);
      blocks_ += edges / kWidth + 1;
      for (std::size_t block = first; block < blocks_; ++block) {
        const std::size_t from = (block - first) * kWidth, lanes = std::min(kWidth, edges - std::min(edges, from));
        names_[block] = {static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(from), (1U << lanes) - 1U, 0, 0, 0};
      }
      edges_ += edges;
      if (!finite) {
        convert(to, vertices, round, base, 1);
        leave_out(strand, to, first, edges);
      }
    }
    if (edges < wanted) return false;
  }
  return true;
}

/// Vertices of one strand, and the first once more where it goes round. @returns false when one is not finite
bool SweptPairs::convert(const Vector3d* x, std::size_t vertices, bool round, std::size_t base,
                         std::size_t which) noexcept {
  float* const out[3] = {at_[which][0].data() + base, at_[which][1].data() + base, at_[which][2].data() + base};
  const double* from = x->data();
  const double ox = origin_[0], oy = origin_[1], oz = origin_[2];
  const Doubles origin[3] = {{ox, oy, oz, ox}, {oy, oz, ox, oy}, {oz, ox, oy, oz}};
  // The bits of floats without their sign are ordered as they are, and infinite or none at all beyond all others.
  constexpr Four kSign = {0x7fffffff, 0x7fffffff, 0x7fffffff, 0x7fffffff};
  Four furthest[3] = {};
  std::size_t i = 0;
  for (; i + 4 <= vertices; i += 4, from += 12) {
    Floats f[3];
    for (int k = 0; k < 3; ++k) {
      Doubles d;
      std::memcpy(&d, from + 4 * k, sizeof d);
      f[k] = __builtin_convertvector(d - origin[k], Floats);
      furthest[k] = more(furthest[k], reinterpret_cast<Four>(f[k]) & kSign);
    }
    // x0 y0 z0 x1 | y1 z1 x2 y2 | z2 x3 y3 z3
    const Floats xy = __builtin_shuffle(f[0], f[1], Four{0, 3, 6, 1}),
                 yz = __builtin_shuffle(f[0], f[1], Four{1, 4, 7, 2}),
                 zz = __builtin_shuffle(f[0], f[1], Four{2, 5, 0, 0});
    const Floats xs = __builtin_shuffle(xy, f[2], Four{0, 1, 2, 5}), ys = __builtin_shuffle(yz, f[2], Four{0, 1, 2, 6}),
                 zs = __builtin_shuffle(zz, f[2], Four{0, 1, 4, 7});
    std::memcpy(out[0] + i, &xs, sizeof xs);
    std::memcpy(out[1] + i, &ys, sizeof ys);
    std::memcpy(out[2] + i, &zs, sizeof zs);
  }
  const Four all = more(more(furthest[0], furthest[1]), furthest[2]);
  double most = std::bit_cast<float>(std::max(std::max(all[0], all[1]), std::max(all[2], all[3])));
  if (!(most < kMostFloat)) i = 0, most = 0;  // again, with more care
  bool finite = true;
  for (; i < vertices; ++i) {
    for (std::size_t axis = 0; axis < 3; ++axis) {
      const double v = x[i][static_cast<Eigen::Index>(axis)];
      finite &= std::isfinite(v);
      out[axis][i] = std::isnan(v) ? 0.0F : bounded(v - origin_[axis]);
      most = std::max(most, static_cast<double>(std::abs(out[axis][i])));
    }
  }
  // Lanes behind the last vertex stay on it.
  for (float* o : out) {
    const float last = round ? o[0] : o[vertices - 1];
    for (std::size_t k = vertices; k < (vertices / kWidth + 2) * kWidth; ++k) o[k] = last;
  }
  furthest_ = std::max(furthest_, most);
  return finite;
}

/// Edges with a coordinate that is not finite.
void SweptPairs::leave_out(const Strand& strand, const Vector3d* x1, std::size_t block, std::size_t edges) noexcept {
  const auto finite = [&](std::size_t i) { return strand.x[i].allFinite() && x1[i].allFinite(); };
  for (std::size_t i = 0; i < edges; ++i) {
    if (finite(i) && finite(strand.next(i))) continue;
    names_[block + i / kWidth].valid &= ~(1U << (i % kWidth));
    names_[block + i / kWidth].broken = 1;
    ++skipped_;
  }
}

void SweptPairs::build(double reach) noexcept {
  rounding_ = kRounding * std::min(furthest_ + std::abs(reach), kMostFloat) + 1e-37;
  const float grow = bounded(0.5 * reach + rounding_), rise = bounded(std::max(reach, 0.0) + 2 * rounding_);
  for (std::size_t b = 0; b < blocks_; ++b) {
    Block& block = levels_[0][b];
    const unsigned valid = names_[b].valid;
    names_[b].rising = 0;
    for (unsigned axis = 0; axis < 3; ++axis) {
      const float *const from = at_[0][axis].data() + b * kWidth, *const to = at_[1][axis].data() + b * kWidth;
      const Lanes p = load(from), q = load(from + 1), p1 = load(to), q1 = load(to + 1);
      const Lanes low = less(p, p1), high = more(p, p1), next_low = less(q, q1), next_high = more(q, q1);
      store(block.low[axis], less(low, next_low) - grow);
      store(block.high[axis], more(high, next_high) + grow);
      names_[b].rising |= static_cast<unsigned>((valid & ~bits(next_low - high > rise)) == 0) << (2 * axis) |
                          static_cast<unsigned>((valid & ~bits(low - next_high > rise)) == 0) << (2 * axis + 1);
    }
    if (names_[b].broken != 0) names_[b].rising = 0;
    if (valid == 0xffU) continue;
    for (std::size_t lane = 0; lane < kWidth; ++lane) {
      if ((valid >> lane & 1U) != 0) continue;
      for (int axis = 0; axis < 3; ++axis) {
        block.low[axis][lane] = kNothing;
        block.high[axis][lane] = -kNothing;
      }
    }
  }
  used_[0] = blocks_;
  top_ = 0;
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const std::size_t nodes = used_[level - 1];
    if (nodes == 1) break;
    top_ = level;
    used_[level] = (nodes + kWidth - 1) / kWidth;
    for (std::size_t node = 0; node < used_[level] * kWidth; ++node) {
      Block& block = levels_[level][node / kWidth];
      const std::size_t lane = node % kWidth;
      for (int axis = 0; axis < 3; ++axis) {
        float low = kNothing, high = -kNothing;
        if (node < nodes) {
          const Block& below = levels_[level - 1][node];
          Lanes l = load(below.low[axis]), h = load(below.high[axis]);
          for (const int step : {4, 2, 1}) {
            const Bits other = {step, 1 ^ step, 2 ^ step, 3 ^ step, 4 ^ step, 5 ^ step, 6 ^ step, 7 ^ step};
            l = less(l, __builtin_shuffle(l, other));
            h = more(h, __builtin_shuffle(h, other));
          }
          low = l[0];
          high = h[0];
        }
        block.low[axis][lane] = low;
        block.high[axis][lane] = high;
      }
    }
  }
}

SweptPairs::Bound SweptPairs::bound_of(const Strand& strand, const Nearness& what) const noexcept {
  Bound bound;
  bound.round = kNothing;
  if (!(strand.rest_length > 0) || !(strand.least_radius() > 0)) return bound;
  const double h = strand.radius, thinnest = strand.least_radius(),
               arc = std::max(what.neighbour_radii * h, what.neighbour_reaches * what.reach);
  bound.neighbours = bounded(arc - rounding_);
  bound.reach = bounded(std::min(what.reach, what.neighbour_reach * h));
  bound.share = bounded(what.neighbour_share);
  bound.least = bounded(what.neighbour_least * h);
  bound.left_out = bounded(what.least_arc * thinnest - rounding_);
  if (strand.closed) bound.round = bounded(strand.arc_round(0, 0) + strand.length_of(0));
  // Neighbours are proven apart by their arc where they have some, else by what they had at the start.
  const double far = arc > 0 ? what.reach / arc : 2,
               near = what.least_arc > 0 ? what.neighbour_reach / what.least_arc * (h / thinnest) : 0,
               share = kOver * std::max(far, near);
  if (!(share < 1) || (what.least_arc <= 0 && what.neighbour_share <= 0)) return bound;
  bound.going_on = bounded(share);
  bound.longest = what.least_arc > 0 ? kNothing : bounded(share / (kOver * what.neighbour_share));
  return bound;
}

/// Arc of the vertices of one strand.
void SweptPairs::lay_out(const Strand& strand, std::size_t base, std::size_t edges) noexcept {
  float* const arc = arc_.data() + base;
  const float rest = bounded(strand.rest_length);
  for (std::size_t i = 0; i <= edges; ++i)
    arc[i] = strand.node ? bounded(strand.node[i] * strand.rest_length) : static_cast<float>(i) * rest;
  for (std::size_t i = edges + 1; i <= (edges / kWidth + 1) * kWidth; ++i) arc[i] = arc[edges];
  furthest_ = std::max(furthest_, std::isfinite(arc[edges]) ? static_cast<double>(arc[edges]) : kMostFloat);
}

/// Blocks whose edges and those of the next one all go on in one direction.
void SweptPairs::mark_stretches(const Strand* strands, const Nearness& what) noexcept {
  struct Edges {
    Lanes3 from, to;
    Lanes rest, least;
    unsigned short_enough;
  };
  Bound bound;
  const auto edges_of_block = [&](std::size_t b) {
    const std::size_t at = b * kWidth;
    const auto edges = [&](const std::array<Eigen::ArrayXf, 3>& x) {
      const float *const px = x[0].data() + at, *const py = x[1].data() + at, *const pz = x[2].data() + at;
      return Lanes3{load(px + 1) - load(px), load(py + 1) - load(py), load(pz + 1) - load(pz)};
    };
    Edges e{edges(at_[0]), edges(at_[1]), load(arc_.data() + at + 1) - load(arc_.data() + at), {}, 0};
    e.least = bound.going_on * e.rest + static_cast<float>(2 * rounding_);
    const Lanes longest = bound.longest * e.rest;
    e.short_enough = bits(dot(e.from, e.from) < longest * longest);
    return e;
  };
  // All valid edges go on along the axis, whose length is not one.
  const auto go_on = [&](std::size_t b, const Edges& e, const Lanes3& axis, const Lanes& length) {
    const Lanes least = e.least * length;
    const unsigned good = bits((dot(e.from, axis) > least) & (dot(e.to, axis) > least)) & e.short_enough;
    return (names_[b].valid & ~good) == 0;
  };
  const auto end = [&](std::size_t b) {
    return b * kWidth + static_cast<std::size_t>(std::bit_width(names_[b].valid));
  };
  std::uint32_t strand = kNoStrand;
  Edges here{}, next{};
  for (std::size_t b = 0; b < blocks_; ++b) {
    Name& name = names_[b];
    if (name.strand != strand) {
      bound = bound_of(strands[strand = name.strand], what);
      next = edges_of_block(b);
    }
    name.straight = 0;
    here = next;
    const bool goes_on = b + 1 < blocks_ && names_[b + 1].strand == strand;
    if (goes_on) next = edges_of_block(b + 1);
    if (!(bound.going_on > 0) || name.broken != 0 || (goes_on && names_[b + 1].broken != 0)) continue;
    const std::size_t first = b * kWidth, last = goes_on ? end(b + 1) : end(b);
    const auto along = [&](std::size_t axis) { return at_[0][axis].data()[last] - at_[0][axis].data()[first]; };
    const float x = along(0), y = along(1), z = along(2), length = std::sqrt(x * x + y * y + z * z);
    if (!(length > 0 && length < kNothing)) continue;
    const Lanes3 axis = {spread(x), spread(y), spread(z)};
    name.straight = go_on(b, here, axis, spread(length)) && (!goes_on || go_on(b + 1, next, axis, spread(length)));
  }
}

/// Whether no edge of `block` comes near another one of it, or of `other`, the next, but those that share a vertex: all
/// are one stretch, or rise along one axis.
bool SweptPairs::follow(std::size_t block, std::size_t other) const noexcept {
  const Name &a = names_[block], &b = names_[other];
  return a.strand == b.strand && (a.straight != 0 || (a.rising & b.rising) != 0);
}

/// Blocks of level 1 from `asking` on, under `block` of `level`, that it overlaps, in ascending order.
void SweptPairs::gather_groups(std::size_t level, std::size_t block, std::size_t asking) noexcept {
  const std::size_t first = asking >> (3 * (level - 2));  // node of this level that holds the asking one
  const std::size_t node = block * kWidth;
  if (first >= node + kWidth) return;
  unsigned mask = overlaps(levels_[2][asking / kWidth], asking % kWidth, levels_[level][block]);
  if (first > node) mask &= 0xffU << (first - node);
  for (; mask != 0; mask &= mask - 1) {
    const std::size_t child = node + static_cast<std::size_t>(std::countr_zero(mask));
    if (level == 2) {
      groups_.push_back(static_cast<std::uint32_t>(child));
    } else {
      gather_groups(level - 1, child, asking);
    }
  }
}

/// Leaves from `asking` on in groups_ that it overlaps, in ascending order.
void SweptPairs::gather(std::size_t asking) noexcept {
  near_.clear();
  const auto before = [&] { return asking > 0 && names_[asking - 1].straight != 0 && follow(asking - 1, asking); };
  if (top_ == 0) {
    if (!follow(0, 0)) near_.push_back({0, 0xff});
    return;
  }
  for (const std::uint32_t group : groups_) {
    const Block& boxes = levels_[1][group];
    const std::size_t node = group * kWidth;
    unsigned mask = overlaps(levels_[1][asking / kWidth], asking % kWidth, boxes);
    if (asking > node) mask &= 0xffU << (asking - node);
    for (; mask != 0; mask &= mask - 1) {
      const std::size_t lane = static_cast<std::size_t>(std::countr_zero(mask)), leaf = node + lane;
      if (leaf == asking ? follow(asking, asking) || before() : leaf == asking + 1 && follow(asking, leaf)) continue;
      near_.push_back({static_cast<std::uint32_t>(leaf), overlaps(boxes, lane, levels_[0][asking])});
    }
  }
}

/// Lanes in `mask` of `block` that no plane proves farther from edge `lane` of `asking` than is asked for.
unsigned SweptPairs::not_apart(std::size_t asking, std::size_t lane, std::size_t block, unsigned mask, double reach,
                               const Bound* bound) const noexcept {
  const std::size_t i = asking * kWidth + lane, j = block * kWidth;
  // About the first end of the asking edge: its other end, and both ends of the others.
  const auto about = [&](const std::array<Eigen::ArrayXf, 3>& x, Lanes3& q, Lanes3& r, Lanes3& s) {
    const float *const px = x[0].data(), *const py = x[1].data(), *const pz = x[2].data();
    q = {spread(px[i + 1] - px[i]), spread(py[i + 1] - py[i]), spread(pz[i + 1] - pz[i])};
    r = {load(px + j) - px[i], load(py + j) - py[i], load(pz + j) - pz[i]};
    s = {load(px + j + 1) - px[i], load(py + j + 1) - py[i], load(pz + j + 1) - pz[i]};
  };
  Lanes3 q0, r0, s0, q1, r1, s1;
  about(at_[0], q0, r0, s0);
  about(at_[1], q1, r1, s1);
  Lanes far = spread(bounded(reach));
  if (bound != nullptr) {
    const Lanes start = load(arc_.data() + j), end = load(arc_.data() + j + 1);
    const float own_start = arc_[static_cast<Eigen::Index>(i)], own_end = arc_[static_cast<Eigen::Index>(i + 1)];
    const Lanes between = less(start - own_end, bound->round - (end - own_start)),
                most = less(end - own_start, bound->round - (start - own_end));
    mask &= ~bits(most <= bound->left_out);
    const Bits neighbours = between < bound->neighbours;
    if (bits(neighbours) != 0) {
      Lanes near = spread(bound->reach);
      if (bound->share > 0) {
        const Lanes3 ends = {q0.x - r0.x, q0.y - r0.y, q0.z - r0.z};
        near = less(near, more(spread(bound->least), bound->share * root(dot(ends, ends))));
      }
      far = neighbours ? near : far;
    }
  }
  // Nearest points at half time [Ericson 2005] 5.1.9.
  const auto middle = [](const Lanes3& a, const Lanes3& b) {
    return Lanes3{0.5F * (a.x + b.x), 0.5F * (a.y + b.y), 0.5F * (a.z + b.z)};
  };
  const Lanes3 u = middle(q0, q1), r = middle(r0, r1), e = middle(s0, s1), v = {e.x - r.x, e.y - r.y, e.z - r.z};
  const Lanes uu = dot(u, u), vv = dot(v, v), uv = dot(u, v), ur = dot(u, r), vr = dot(v, r), det = uu * vv - uv * uv;
  Lanes s = between_0_and_1((ur * vv - uv * vr) / (det > kTiny ? det : spread(kTiny)));
  const Lanes t = between_0_and_1((uv * s - vr) / (vv > kTiny ? vv : spread(kTiny)));
  s = between_0_and_1((uv * t + ur) / (uu > kTiny ? uu : spread(kTiny)));
  const Lanes3 c = {s * u.x - t * v.x - r.x, s * u.y - t * v.y - r.y, s * u.z - t * v.z - r.z};
  const auto separation = [&](const Lanes3& own, const Lanes3& first, const Lanes3& last) {
    return less(Lanes{}, dot(own, c)) - more(dot(first, c), dot(last, c));
  };
  const Lanes keep = (far * (1 + 1e-6F) + static_cast<float>(rounding_)) * root(dot(c, c));
  return mask & ~bits((separation(q0, r0, s0) > keep) & (separation(q1, r1, s1) > keep));
}

/// Pairs of the edges of leaf `asking` with those behind them in the leaves near it. @returns false when full
bool SweptPairs::emit(const Strand* strands, const Vector3d* const* x1, std::size_t asking, double reach,
                      const Nearness* what) noexcept {
  const Block& block = levels_[0][asking];
  const Name own = names_[asking];
  const Strand& strand = strands[own.strand];
  Bound bound;
  if (what != nullptr) bound = bound_of(strand, *what);
  const Vector3d* const to = x1 != nullptr && x1[own.strand] != nullptr ? x1[own.strand] : strand.x;
  unsigned rows = 0;
  for (const Near& near : near_) rows |= near.lanes;
  for (rows &= own.valid; rows != 0; rows &= rows - 1) {
    const std::size_t lane = static_cast<std::size_t>(std::countr_zero(rows)), edge = own.first + lane;
    for (const Near& near : near_) {
      if ((near.lanes >> lane & 1U) == 0) continue;
      unsigned mask = overlaps(block, lane, levels_[0][near.block]);
      if (near.block == asking) mask &= 0xfeU << lane;
      if (mask == 0) continue;
      const Name with = names_[near.block];
      const bool same = with.strand == own.strand;
      const Strand& other_strand = strands[with.strand];
      if (same) {
        // An edge and the next share a vertex, of a ring the first and the last too.
        if (edge + 1 >= with.first && edge + 1 < with.first + kWidth) mask &= ~(1U << (edge + 1 - with.first));
        const std::size_t last = strand.edges() - 1;
        if (strand.closed && edge == 0 && last >= with.first && last < with.first + kWidth)
          mask &= ~(1U << (last - with.first));
      }
      if (mask != 0 && what != nullptr)
        mask = not_apart(asking, lane, near.block, mask, reach, same ? &bound : nullptr);
      const Vector3d* const other_to = x1 != nullptr && x1[with.strand] != nullptr ? x1[with.strand] : other_strand.x;
      for (; mask != 0; mask &= mask - 1) {
        const std::size_t other = with.first + static_cast<std::size_t>(std::countr_zero(mask));
        if (boxes_apart(strand, to, edge, other_strand, other_to, other, reach)) continue;
        if (edges_along(strand, edge, other_strand, other) <= 1) continue;
        if (pairs_.size() == most_pairs_) return false;
        pairs_.push_back(
            {own.strand, static_cast<std::uint32_t>(edge), with.strand, static_cast<std::uint32_t>(other)});
      }
    }
  }
  return true;
}

}  // namespace ligature::contact
