#pragma once
/// What a run leaves for its picture, in memory that grows with the logarithm of its length: of every octave of time
/// the same number of samples, so that fast beginnings and slow ends are both there.
#include <cstdint>
#include <vector>

#include "sim/world/world.hpp"

namespace ligature::simulate {

/// Whether step k is one of those kept: all up to 2^(bits + 1), then 2^bits of each octave.
constexpr bool kept(std::uint64_t step, int bits) {
  std::uint64_t stride = 1;
  while ((step >> (bits + 1)) >= stride) stride *= 2;
  return step % stride == 0;
}

class History {
 public:
  struct Energies {  ///< of all threads together [uN mm]
    double t_s = 0, stretch = 0, bend = 0, twist = 0, kinetic = 0, potential = 0;
    double speed_mm_per_s = 0;  ///< of the fastest vertex
  };
  struct Links {
    double t_s = 0;
    std::vector<double> twist, writhe;  ///< (threads) [turns]
  };
  struct Shape {
    double t_s = 0;
    std::vector<std::vector<Vec3>> threads;
  };

  /// @param links also follows twist and writhe, which costs O(vertices^2) a sample
  explicit History(bool links) : links_wanted_(links) {}
  /// At the start (step 0) and after every step; @param last whatever step it is, this is the end
  void add(const world::World& world, std::uint64_t step, bool last);

  const std::vector<Energies>& energies() const { return energies_; }
  const std::vector<Links>& links() const { return links_; }
  const std::vector<Shape>& shapes() const { return shapes_; }

 private:
  bool links_wanted_;
  std::vector<Energies> energies_;
  std::vector<Links> links_;
  std::vector<Shape> shapes_;
};

}  // namespace ligature::simulate
