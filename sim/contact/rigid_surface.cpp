#include "sim/contact/rigid_surface.hpp"

#include <utility>

namespace ligature::contact {

RigidSurface::RigidSurface(const Obstacle& body, TriangleMesh mesh) : body_(&body), mesh_(std::move(mesh)) {
  for (std::size_t v = 0; v < mesh_.vertices(); ++v) rest_.push_back(mesh_.vertex(v));
  start_ = x_ = rest_;
  step_.assign(rest_.size(), Vector3d::Zero());
}

void RigidSurface::begin(double /*dt*/) noexcept {
  const Vector3d& n = body_->normal();
  if (body_->shape() == Obstacle::Shape::plane) along_ = body_->shift(0) - n.dot(body_->shift(0)) * n;
  put(body_->shift(0) - along_);
  if (began_ != shift_) start_ = x_;
  began_ = shift_;
  lead_to(0, 0);
}

void RigidSurface::lead_to(double at, double ahead) noexcept {
  put(body_->shift(at) - along_);
  const Vector3d by = ahead * body_->moved();
  if (by == by_) return;
  by_ = by;
  step_.assign(step_.size(), by);
}

void RigidSurface::advance(double fraction) noexcept {
  put(shift_ + fraction * by_);
}

void RigidSurface::go_back(double fraction) noexcept {
  put(began_ + fraction * (shift_ - began_));
}

void RigidSurface::put(const Vector3d& shift) noexcept {
  if (shift == shift_) return;
  shift_ = shift;
  for (std::size_t v = 0; v < x_.size(); ++v) x_[v] = rest_[v] + shift;
  mesh_.deform(x_.data());
}

}  // namespace ligature::contact
