#include "sim/contact/soft_coupling.hpp"

#include <algorithm>

namespace ligature::contact {
namespace {

constexpr double kRounding = 1e-7;  // of C where elements are crushed, at most

}  // namespace

SoftCoupling::SoftCoupling(std::size_t most_contacts) {
  sides_.reserve(2 * most_contacts);
  nodes_.reserve(6 * most_contacts);
  between_.resize(kMostNodes * (kMostNodes + 1) / 2);
}

void SoftCoupling::begin(const SoftBody& body) noexcept {
  body_ = &body;
  sides_.clear();
  nodes_.clear();
}

void SoftCoupling::touch(std::size_t contact, const SurfacePlace& place, double sign) noexcept {
  Side side;
  side.contact = contact;
  for (std::size_t k = 0; k < 3; ++k) {
    side.node[k] = body_->surface().triangle(place.triangle)[k];
    side.weight[k] = sign * place.weight[static_cast<Eigen::Index>(k)];
    if (side.weight[k] != 0) nodes_.push_back(side.node[k]);
  }
  sides_.push_back(side);
}

Eigen::Matrix3d SoftCoupling::compliance(std::uint32_t m, std::uint32_t n) const noexcept {
  if (nodes_.size() > kMostNodes) return body_->compliance(nodes_[m], nodes_[n]);
  if (m < n) return between_[n * (n + 1) / 2 + m].transpose();
  return between_[m * (m + 1) / 2 + n];
}

// What two places of one body give way by against each other is the difference of much more, and less than nothing
// where that is rounded: they are taken to give way by what may be rounded of it, too.
double SoftCoupling::rounding(const Side& a, const Side& b) const noexcept {
  double most = 0;
  for (const Side* side : {&a, &b})
    for (std::size_t k = 0; k < 3; ++k)
      if (side->weight[k] != 0)
        most = std::max(most, side->weight[k] * side->weight[k] * compliance(side->node[k], side->node[k]).trace());
  return kRounding * most;
}

void SoftCoupling::add_to(Coupling& coupling, const Eigen::Matrix3d* axes) noexcept {
  std::sort(nodes_.begin(), nodes_.end());
  nodes_.erase(std::unique(nodes_.begin(), nodes_.end()), nodes_.end());
  const auto count = static_cast<std::uint32_t>(nodes_.size());
  for (Side& side : sides_)
    for (std::size_t k = 0; k < 3; ++k)
      side.node[k] = side.weight[k] == 0
                         ? 0
                         : static_cast<std::uint32_t>(std::lower_bound(nodes_.begin(), nodes_.end(), side.node[k]) -
                                                      nodes_.begin());
  if (count <= kMostNodes)
    for (std::uint32_t m = 0; m < count; ++m)
      for (std::uint32_t n = 0; n <= m; ++n) between_[m * (m + 1) / 2 + n] = body_->compliance(nodes_[m], nodes_[n]);
  for (std::size_t i = 0; i < sides_.size(); ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      const Side &a = sides_[i], &b = sides_[j];
      Eigen::Matrix3d sum = Eigen::Matrix3d::Zero();
      for (std::size_t m = 0; m < 3; ++m)
        for (std::size_t n = 0; n < 3; ++n)
          if (a.weight[m] != 0 && b.weight[n] != 0) sum += a.weight[m] * b.weight[n] * compliance(a.node[m], b.node[n]);
      // Both sides of one contact on this body: the one with the other, and the other with the one.
      if (a.contact == b.contact && i != j) sum = 2 * sum + rounding(a, b) * Eigen::Matrix3d::Identity();
      coupling.add(a.contact, b.contact, axes[a.contact].transpose() * sum * axes[b.contact]);
    }
}

}  // namespace ligature::contact
