#include "sim/knot/summands.hpp"

#include <algorithm>
#include <unordered_map>

namespace ligature::knot {

std::vector<std::size_t> summands(const std::vector<Pass>& walk) {
  std::vector<std::size_t> out(walk.size()), left(walk.size());
  for (std::size_t i = 0; i < left.size(); ++i) left[i] = i;
  for (std::size_t number = 0; !left.empty(); ++number) {
    const std::size_t n = left.size();
    std::vector<std::size_t> mate(n);
    std::unordered_map<std::uint32_t, std::size_t> met;
    for (std::size_t i = 0; i < n; ++i) {
      const auto [it, fresh] = met.try_emplace(walk[left[i]].crossing, i);
      if (!fresh) mate[i] = it->second, mate[it->second] = i;
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
