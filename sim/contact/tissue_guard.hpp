#pragma once
/// No surface of a soft body passes through that of another, of a rigid one or through itself: proven triangle against
/// triangle, by a plane that separates both at both ends of a move, else by conservative advancement [Mirtich 1996].
#include <vector>

#include "sim/contact/obstacle.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {

/// Where nodes of soft bodies go: on by a part of step(), or back to this part of what they moved since the start.
struct TissueMove {
  double part = 1;
  bool back = false;
  SoftMotion of(const SoftBody& body) const noexcept {
    if (back) return {body.start(), body.x(), 1 - part};
    return {body.step(), nullptr, part};
  }
};

/// While all nodes go straight as told: surfaces come no nearer to each other than share times a tenth of the sum of
/// their skins, or half of where they begin (least_apart). @param stopped what cut the move short is appended, up to
/// its capacity; or null. @rt bounded, no allocation
SoftVerdict look_tissues(const Bodies& bodies, const TissueMove& move, double share = 1,
                         std::vector<Stopped>* stopped = nullptr) noexcept;

}  // namespace ligature::contact
