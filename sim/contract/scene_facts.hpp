#pragma once
/// What can be said of a scene without looking at it: what jaws hold, which holes threads run through, how threads are
/// divided. Written by world.facts(), read by whoever judges what is done. Fixed size.
#include <array>
#include <cstdint>

#include "sim/base/fixed_vector.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "sim/contract/tissue_surface.hpp"

namespace ligature {

/// One hole that a thread runs through.
struct FactHole {
  std::uint32_t thread = 0;  ///< as it is numbered now
  std::uint32_t tissue = 0;
  std::uint32_t stitch = 0;           ///< its channel through the wall, which has two holes, or one that is half made
  WallPart wall = WallPart::outside;  ///< the surface that it is in
  double s_mm = 0;                    ///< rest arc length of the thread in it
  double force = 0;                   ///< between thread and rim [uN]
};

struct FactThread {
  std::uint32_t origin = 0;  ///< the thread that it was, or was a piece of, at the start
  double rest_length_mm = 0;
  bool needle = false, needle_at_last = false;  ///< it ends in a needle; at its last vertex, else its first
};

/// What is held between them, a bit for each origin; of a needle both may be.
struct FactJaws {
  static_assert(kMaxThreads <= 8);
  std::uint8_t threads = 0, needles = 0;

  void hold(std::size_t origin, bool needle) {
    (needle ? needles : threads) |= static_cast<std::uint8_t>(1u << origin);
  }
  bool has_thread(std::size_t origin) const { return (threads >> origin & 1u) != 0; }
  bool has_needle(std::size_t origin) const { return (needles >> origin & 1u) != 0; }
};

struct SceneFacts {
  FixedVector<FactThread, kMaxThreads> threads;
  FixedVector<FactHole, kMaxHoles> holes;
  std::array<FactJaws, kInstruments> jaws;
};

}  // namespace ligature
