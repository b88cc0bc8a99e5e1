#include "sim/contact/swept_pairs.hpp"

#ifdef __AVX__
#include <immintrin.h>
#endif

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace ligature::contact {
namespace {

constexpr double kMostFloat = 1e38;     // beyond, coordinates are taken as this one: order is kept
constexpr float kRoundOut = 2.5e-7F;    // two ulps of a float, relative
constexpr float kLeastStep = 2.4e-38F;  // and where floats are denormal
constexpr float kNothing = 3e38F;       // low of a box that overlaps none, high its negative
constexpr double kInfinite = std::numeric_limits<double>::infinity();

float rounded_down(double x) {
  const float f = static_cast<float>(std::clamp(x, -kMostFloat, kMostFloat));
  return f - (std::abs(f) * kRoundOut + kLeastStep);
}
float rounded_up(double x) {
  return -rounded_down(-x);
}

std::size_t edges_of(const Strand& strand) {
  return strand.x == nullptr || strand.vertices < 2 ? 0 : strand.edges();
}

/// Bit k: lane `lane` of `asking` overlaps lane k of `block`.
template <class Block>
unsigned overlaps(const Block& asking, std::size_t lane, const Block& block) {
#ifdef __AVX__
  __m256 apart = _mm256_setzero_ps();
  for (int axis = 0; axis < 3; ++axis) {
    const __m256 low = _mm256_broadcast_ss(&asking.low[axis][lane]);
    const __m256 high = _mm256_broadcast_ss(&asking.high[axis][lane]);
    apart = _mm256_or_ps(apart, _mm256_cmp_ps(low, _mm256_load_ps(block.high[axis]), _CMP_GT_OQ));
    apart = _mm256_or_ps(apart, _mm256_cmp_ps(_mm256_load_ps(block.low[axis]), high, _CMP_GT_OQ));
  }
  return ~static_cast<unsigned>(_mm256_movemask_ps(apart)) & 0xffU;
#else
  unsigned mask = 0;
  for (unsigned k = 0; k < 8; ++k) {
    bool apart = false;
    for (int axis = 0; axis < 3; ++axis)
      apart |= asking.low[axis][lane] > block.high[axis][k] || block.low[axis][k] > asking.high[axis][lane];
    mask |= static_cast<unsigned>(!apart) << k;
  }
  return mask;
#endif
}

}  // namespace

SweptPairs::SweptPairs(std::size_t most_edges, std::size_t most_pairs)
    : most_edges_(most_edges), most_pairs_(most_pairs), boxes_(most_edges), names_(most_edges) {
  std::size_t blocks = most_edges;
  do {
    blocks = (blocks + kWidth - 1) / kWidth;
    levels_.emplace_back(std::max<std::size_t>(blocks, 1));
  } while (blocks > 1);
  used_.resize(levels_.size());
  near_.reserve(levels_[0].size());
  pairs_.reserve(most_pairs);
}

bool SweptPairs::find(const Strand* strands, std::size_t count, const Vector3d* const* x1, double reach) noexcept {
  pairs_.clear();
  const bool all = sweep(strands, count, x1);
  if (std::isnan(reach)) return false;
  if (edges_ == 0) return all;
  build(reach);
  for (std::size_t leaf = 0; leaf < used_[0]; ++leaf) {
    near_.clear();
    if (levels_.size() == 1) {
      near_.push_back(0);
    } else {
      gather(levels_.size() - 1, 0, leaf, levels_[1][leaf / kWidth], leaf % kWidth);
    }
    if (!emit(strands, leaf, reach)) return false;
  }
  return all;
}

/// Exact boxes of all edges. @returns false when not all fit
bool SweptPairs::sweep(const Strand* strands, std::size_t count, const Vector3d* const* x1) noexcept {
  edges_ = skipped_ = 0;
  origin_ = {0, 0, 0};
  for (std::size_t s = 0; s < count; ++s) {
    const Strand& strand = strands[s];
    const std::size_t edges = edges_of(strand);
    if (edges == 0) continue;
    const Vector3d* to = x1 != nullptr && x1[s] != nullptr ? x1[s] : strand.x;
    if (edges_ == 0 && strand.x[0].allFinite()) std::copy_n(strand.x[0].data(), 3, origin_.begin());
    Box last{};
    bool last_finite = false;
    for (std::size_t i = 0; i <= edges; ++i) {
      const std::size_t vertex = i < strand.vertices ? i : 0;  // of a closed strand, round to the first
      const double* from = strand.x[vertex].data();
      const double* end = to[vertex].data();
      Box now;
      double zero = 0;
      for (std::size_t axis = 0; axis < 3; ++axis) {
        now.low[axis] = std::min(from[axis], end[axis]);
        now.high[axis] = std::max(from[axis], end[axis]);
        zero += 0 * from[axis] + 0 * end[axis];
      }
      const bool finite = zero == 0;
      if (i > 0) {
        if (edges_ == most_edges_) return false;
        Box box;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          box.low[axis] = std::min(last.low[axis], now.low[axis]);
          box.high[axis] = std::max(last.high[axis], now.high[axis]);
        }
        names_[edges_] = {static_cast<std::uint32_t>(s), static_cast<std::uint32_t>(i - 1)};
        sweep_edge(edges_++, box, finite && last_finite);
      }
      last = now;
      last_finite = finite;
    }
  }
  return true;
}

void SweptPairs::sweep_edge(std::size_t edge, const Box& box, bool finite) noexcept {
  if (finite) {
    boxes_[edge] = box;
  } else {
    boxes_[edge].low.fill(kInfinite);
    boxes_[edge].high.fill(-kInfinite);
    ++skipped_;
  }
}

void SweptPairs::build(double reach) noexcept {
  used_[0] = (edges_ + kWidth - 1) / kWidth;
  const auto clear = [](Block& block, std::size_t lane) {
    for (int axis = 0; axis < 3; ++axis) {
      block.low[axis][lane] = kNothing;
      block.high[axis][lane] = -kNothing;
    }
  };
  for (std::size_t edge = 0; edge < used_[0] * kWidth; ++edge) {
    Block& block = levels_[0][edge / kWidth];
    const std::size_t lane = edge % kWidth;
    if (edge >= edges_ || !(boxes_[edge].low[0] <= boxes_[edge].high[0])) {
      clear(block, lane);
      continue;
    }
    for (std::size_t axis = 0; axis < 3; ++axis) {
      block.low[axis][lane] = rounded_down(boxes_[edge].low[axis] - origin_[axis] - 0.5 * reach);
      block.high[axis][lane] = rounded_up(boxes_[edge].high[axis] - origin_[axis] + 0.5 * reach);
    }
  }
  for (std::size_t level = 1; level < levels_.size(); ++level) {
    const std::size_t nodes = used_[level - 1];
    used_[level] = (nodes + kWidth - 1) / kWidth;
    for (std::size_t node = 0; node < used_[level] * kWidth; ++node) {
      Block& block = levels_[level][node / kWidth];
      const std::size_t lane = node % kWidth;
      if (node >= nodes) {
        clear(block, lane);
        continue;
      }
      const Block& below = levels_[level - 1][node];
      for (int axis = 0; axis < 3; ++axis) {
        block.low[axis][lane] = *std::min_element(below.low[axis], below.low[axis] + kWidth);
        block.high[axis][lane] = *std::max_element(below.high[axis], below.high[axis] + kWidth);
      }
    }
  }
}

/// Leaves from `asking` on under `block` of `level` that overlap lane `lane` of `box`, in ascending order.
void SweptPairs::gather(std::size_t level, std::size_t block, std::size_t asking, const Block& box,
                        std::size_t lane) noexcept {
  unsigned mask = overlaps(box, lane, levels_[level][block]);
  const std::size_t first = asking >> (3 * (level - 1));  // node of this level that holds the asking leaf
  const std::size_t node = block * kWidth;
  if (first >= node + kWidth) return;
  if (first > node) mask &= 0xffU << (first - node);
  for (; mask != 0; mask &= mask - 1) {
    const std::size_t child = node + static_cast<std::size_t>(std::countr_zero(mask));
    if (level == 1) {
      near_.push_back(static_cast<std::uint32_t>(child));
    } else {
      gather(level - 1, child, asking, box, lane);
    }
  }
}

/// Pairs of the edges of leaf `asking` with those behind them in the leaves near it. @returns false when full
bool SweptPairs::emit(const Strand* strands, std::size_t asking, double reach) noexcept {
  const Block& block = levels_[0][asking];
  const std::size_t end = std::min(edges_, (asking + 1) * kWidth);
  for (std::size_t edge = asking * kWidth; edge < end; ++edge) {
    const std::size_t lane = edge % kWidth;
    const Box& box = boxes_[edge];
    const Name name = names_[edge];
    for (const std::uint32_t leaf : near_) {
      unsigned mask = overlaps(block, lane, levels_[0][leaf]);
      if (leaf == asking) mask &= 0xfeU << lane;
      for (; mask != 0; mask &= mask - 1) {
        const std::size_t other = leaf * kWidth + static_cast<std::size_t>(std::countr_zero(mask));
        bool apart = false;
        for (std::size_t axis = 0; axis < 3; ++axis) {
          apart |= box.low[axis] - boxes_[other].high[axis] > reach;
          apart |= boxes_[other].low[axis] - box.high[axis] > reach;
        }
        if (apart) continue;
        const Name with = names_[other];
        if (name.strand == with.strand) {
          const Strand& strand = strands[name.strand];
          if (with.edge == name.edge + 1 || (strand.closed && name.edge == 0 && with.edge + 1 == strand.edges()))
            continue;
        }
        if (edges_along(strands[name.strand], name.edge, strands[with.strand], with.edge) <= 1) continue;
        if (pairs_.size() == most_pairs_) return false;
        pairs_.push_back({name.strand, name.edge, with.strand, with.edge});
      }
    }
  }
  return true;
}

}  // namespace ligature::contact
