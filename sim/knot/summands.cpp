#include "sim/knot/summands.hpp"

#include <algorithm>

namespace ligature::knot {

std::vector<std::size_t> summands(const std::vector<Pass>& walk) {
  std::vector<std::size_t> out(walk.size()), left(walk.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  std::uint32_t crossings = 0;
  for (const Pass& p : walk) crossings = std::max(crossings, p.crossing + 1);
  std::vector<std::size_t> mate(walk.size()), met(crossings, 0);  // places in `left`; where a crossing was met last
  for (std::size_t number = 0; !left.empty(); ++number) {
    const std::size_t n = left.size();
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t& other = met[walk[left[i]].crossing];
      if (other < i && walk[left[other]].crossing == walk[left[i]].crossing) mate[i] = other, mate[other] = i;
      other = i;
    }
    std::size_t begin = 0, size = n;
    for (std::size_t s = 0; s < n; ++s) {
      std::size_t reach = 0;  // the furthest mate of what the stretch has met
      for (std::size_t k = 0; k + 1 < size; ++k) {
        reach = std::max(reach, (mate[(s + k) % n] + n - s) % n);
        if (reach + 1 >= size) break;
        if (reach > k) continue;
        begin = s, size = k + 1;
        break;
      }
    }
    std::vector<std::size_t> rest;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t i = left[(begin + k) % n];
      if (k < size)
        out[i] = number;
      else
        rest.push_back(i);
    }
    left = std::move(rest);
  }
  return out;
}

}  // namespace ligature::knot
