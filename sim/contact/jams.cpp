#include "sim/contact/jams.hpp"

#include <algorithm>

namespace ligature::contact {

Jams::Jams(std::size_t most) {
  parts_.reserve(most);
}

std::size_t Jams::find(const Part& part) const noexcept {
  const auto at = std::find_if(parts_.begin(), parts_.end(), [&](const Part& p) {
    return p.soft == part.soft && p.owner == part.owner && p.index == part.index;
  });
  return static_cast<std::size_t>(at - parts_.begin());
}

bool Jams::has(bool soft, std::uint32_t owner, std::uint32_t index) const noexcept {
  Part part;
  part.soft = soft, part.owner = owner, part.index = index;
  return find(part) < parts_.size();
}

std::size_t Jams::root(std::size_t i) const noexcept {
  while (parts_[i].with != i) i = parts_[i].with;
  return i;
}

void Jams::join(std::span<const Part> parts) noexcept {
  std::size_t first = parts_.capacity();
  for (const Part& part : parts) {
    std::size_t i = find(part);
    if (i == parts_.size()) {
      if (parts_.size() == parts_.capacity()) continue;
      parts_.push_back(part);
      parts_.back().with = static_cast<std::uint32_t>(i);
    }
    if (part.held) parts_[i].own = part.own, parts_[i].held = true;
    if (first == parts_.capacity()) first = i;
    const std::size_t a = root(first), b = root(i);
    parts_[std::max(a, b)].with = static_cast<std::uint32_t>(std::min(a, b));
  }
}

void Jams::settle() noexcept {
  for (std::size_t r = 0; r < parts_.size(); ++r) {
    if (parts_[r].with != r) continue;  // the first of its piece
    Vector3d sum = Vector3d::Zero(), held = Vector3d::Zero();
    double count = 0, holds = 0;
    for (std::size_t i = r; i < parts_.size(); ++i) {
      if (root(i) != r) continue;
      sum += parts_[i].own, ++count;
      if (parts_[i].held) held += parts_[i].own, ++holds;
    }
    const Vector3d move = holds > 0 ? Vector3d(held / holds) : Vector3d(sum / count);
    for (std::size_t i = r; i < parts_.size(); ++i)
      if (root(i) == r) parts_[i].move = parts_[i].held ? parts_[i].own : move;
  }
}

}  // namespace ligature::contact
