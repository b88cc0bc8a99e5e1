#include "sim/contact/obstacle.hpp"

namespace ligature::contact {

Obstacle Obstacle::plane(const Vector3d& point, const Vector3d& normal) {
  Obstacle o;
  o.normal_ = normal.normalized();
  o.offset_ = o.normal_.dot(point);
  return o;
}

void Obstacle::add_to(StateHash& hash) const noexcept {
  hash.add(offset());
}

}  // namespace ligature::contact
