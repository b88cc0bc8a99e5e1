#include "sim/instrument/forceps.hpp"

#include <algorithm>
#include <cmath>

namespace ligature::instrument {
namespace {

bool usable(const InstrumentPose& hand) {
  const Pose& x = hand.X_RT;
  const double size = x.q.x * x.q.x + x.q.y * x.q.y + x.q.z * x.q.z + x.q.w * x.q.w;
  return std::isfinite(size) && size > 1e-6 && std::isfinite(norm(x.p)) && norm(x.p) < 1e5 &&
         std::isfinite(hand.opening_rad);
}

double angle_between(Quat a, Quat b) {
  const Quat d = conjugate(a) * b;
  return 2.0 * std::atan2(std::sqrt(d.x * d.x + d.y * d.y + d.z * d.z), std::abs(d.w));
}

}  // namespace

Pose world_pose(const Mount& mount, const Pose& X_RT) noexcept {
  Pose X_WT = inverse(mount.X_RW) * X_RT;
  X_WT.q = normalized(X_WT.q);
  X_WT.p = mount.motion_scale * X_WT.p;
  return X_WT;
}

void Forceps::follow(const InstrumentPose& hand, const Mount& mount, double dt) noexcept {
  X_WT_before_ = X_WT_;
  opening_before_ = opening_;
  status_ = usable(hand) ? hand.status : TrackStatus::lost;
  if (status_ == TrackStatus::lost) {
    lost_s_ += dt;
    confidence_ = 0;
    return;
  }
  const bool appears = !present_ || given_up();
  lost_s_ = 0;
  present_ = true;
  confidence_ = std::clamp(hand.confidence, 0.0, 1.0);
  const Pose target = world_pose(mount, hand.X_RT);
  const double target_opening = std::clamp(hand.opening_rad, 0.0, 1.5);
  const auto close = [&] {
    closed_ = opening_ < model_.grasp_opening || (closed_ && opening_ <= model_.release_opening);
  };
  if (appears) {
    X_WT_ = X_WT_before_ = target;
    opening_ = opening_before_ = target_opening;
    close();
    return;
  }
  const Vec3 way = target.p - X_WT_.p;
  const double distance = norm(way), reach = model_.max_speed * dt;
  X_WT_.p = distance > reach ? X_WT_.p + (reach / distance) * way : target.p;
  const double angle = angle_between(X_WT_.q, target.q), turn = model_.max_turn * dt;
  X_WT_.q = angle > turn ? slerp(X_WT_.q, target.q, turn / angle) : target.q;
  const double spread = model_.max_opening_rate * dt;
  opening_ += std::clamp(target_opening - opening_, -spread, spread);
  close();
}

Pose Forceps::X_TA(int arm, double opening) const noexcept {
  const Quat q = axis_angle({0, 0, 1}, side(arm) * 0.5 * opening);
  return {q, model_.hinge_p_T - rotate(q, model_.hinge_p_T)};
}

contact::RoundCone Forceps::cone_A(int arm) const noexcept {
  const double s = side(arm), tip = model_.tip_radius, back = model_.jaw_radius;
  return {{-tip, s * tip, 0}, {-model_.jaw_length, s * back, 0}, tip, back};
}

contact::RoundCone Forceps::seam_T() const noexcept {
  return {{-model_.tip_radius, 0, 0}, {-model_.jaw_length, 0, 0}, model_.tip_radius, model_.jaw_radius};
}

double Forceps::half_gap(double x_T) const noexcept {
  return std::max(0.0, (x_T - model_.hinge_p_T.x) * std::tan(0.5 * opening_));
}

double Forceps::radius(double x_T) const noexcept {
  const double along = std::clamp(-x_T / model_.jaw_length, 0.0, 1.0);
  return model_.tip_radius + along * (model_.jaw_radius - model_.tip_radius);
}

bool Forceps::between_faces(const Vec3& p_T, double thread_radius, double parted) const noexcept {
  return p_T.x <= 0 && p_T.x >= -model_.grasp_reach && std::abs(p_T.z) <= radius(p_T.x) &&
         std::abs(p_T.y) <= half_gap(p_T.x) + std::max(0.0, parted) + thread_radius;
}

bool Forceps::within_arm(const Vec3& p_T) const noexcept {
  const double r = radius(p_T.x);
  return p_T.x <= 0 && p_T.x >= -model_.grasp_reach && std::hypot(r + half_gap(p_T.x) - std::abs(p_T.y), p_T.z) < r;
}

bool Forceps::overlap(const Vec3& p_T, double thread_radius) const noexcept {
  const double r = radius(p_T.x), beyond = p_T.x + model_.tip_radius;  // of the spheres at the tips
  const double aside = r + half_gap(p_T.x) + std::abs(p_T.y);
  return p_T.x >= -model_.jaw_length && std::hypot(aside, p_T.z, std::max(0.0, beyond)) < r + thread_radius;
}

Vec3 Forceps::squeezed(Vec3 p_T, double thread_radius) const noexcept {
  const double room = std::max(0.0, half_gap(p_T.x) - thread_radius);
  p_T.y = std::clamp(p_T.y, -room, room);
  return p_T;
}

void Forceps::add_to(StateHash& hash) const noexcept {
  hash.add(static_cast<std::uint64_t>(closed_) << 9 | static_cast<std::uint64_t>(present_) << 8 |
           static_cast<std::uint64_t>(status_));
  for (double v : {lost_s_, X_WT_.q.x, X_WT_.q.y, X_WT_.q.z, X_WT_.q.w, X_WT_.p.x, X_WT_.p.y, X_WT_.p.z, opening_,
                   opening_before_})
    hash.add(v);
}

}  // namespace ligature::instrument
