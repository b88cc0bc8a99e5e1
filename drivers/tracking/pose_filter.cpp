#include "drivers/tracking/pose_filter.hpp"

#include <algorithm>
#include <cmath>

#include "drivers/tracking/forceps_shape.hpp"
#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

constexpr double kRest_mm2_per_s = 60 * 0.006 * 0.006;                       // variance of x gained a second
constexpr std::array<double, ModelBank::kModels> kAcceleration{0, 20, 300};  // [mm/s^2]; of model 0 none
constexpr double kStays = 0.97;       // probability that the next step is of the same model
constexpr double kLeastShare = 1e-6;  // so that none is ever out of the game
constexpr double kStartSpeed = 100;   // of a hand just found [mm/s]
constexpr double kDoubt = 3;          // a variance this much larger than the next one's was a prediction's
constexpr double kLongestStep_s = 0.25;

using Numbers = std::array<double, ModelBank::kAxes>;

Numbers numbers(Vec3 v) {
  return {v.x, v.y, v.z};
}
Numbers numbers(const Eigen::Vector3d& v) {
  return {v.x(), v.y(), v.z()};
}
Eigen::Vector3d vector(const Numbers& n) {
  return {n[0], n[1], n[2]};
}

}  // namespace

void ModelBank::start(const Numbers& z, const Numbers& variance) noexcept {
  share_.fill(1.0 / kModels);
  for (std::size_t m = 0; m < axis_.size(); ++m)
    for (std::size_t i = 0; i < static_cast<std::size_t>(axes_); ++i) {
      const double v = m == 0 ? 0 : kStartSpeed * unit_;
      axis_[m][i] = {z[i], 0, variance[i], 0, v * v};
    }
}

void ModelBank::step(double dt, const Numbers& z, const Numbers& variance) noexcept {
  const std::size_t axes = static_cast<std::size_t>(axes_);
  const auto before = axis_;
  std::array<double, kModels> foretold{}, likely{};
  for (std::size_t to = 0; to < kModels; ++to)
    for (std::size_t from = 0; from < kModels; ++from)
      foretold[to] += share_[from] * (from == to ? kStays : (1 - kStays) / (kModels - 1));
  for (std::size_t m = 0; m < kModels; ++m)
    for (std::size_t i = 0; i < axes; ++i) {
      // The mix of all that may have become this model.
      Axis a;
      const auto weight = [&](std::size_t from) {
        return share_[from] * (from == m ? kStays : (1 - kStays) / (kModels - 1)) / foretold[m];
      };
      for (std::size_t from = 0; from < kModels; ++from)
        a.x += weight(from) * before[from][i].x, a.v += weight(from) * before[from][i].v;
      for (std::size_t from = 0; from < kModels; ++from) {
        const Axis& b = before[from][i];
        const double w = weight(from), dx = b.x - a.x, dv = b.v - a.v;
        a.xx += w * (b.xx + dx * dx), a.xv += w * (b.xv + dx * dv), a.vv += w * (b.vv + dv * dv);
      }
      // Foretell.
      if (m == 0) {
        a.v = a.xv = a.vv = 0;
        a.xx += kRest_mm2_per_s * unit_ * unit_ * dt;
      } else {
        a.x += dt * a.v;
        a.xx += dt * (2 * a.xv + dt * a.vv);
        a.xv += dt * a.vv;
        const double q = kAcceleration[m] * kAcceleration[m] * unit_ * unit_ * dt;
        a.xx += q * dt * dt / 3, a.xv += q * dt / 2, a.vv += q;
      }
      // Measure.
      const double S = a.xx + variance[i], e = z[i] - a.x, K = a.xx / S, Kv = a.xv / S;
      likely[m] -= 0.5 * (e * e / S + std::log(S));
      a.x += K * e, a.v += Kv * e;
      a.vv -= Kv * a.xv, a.xv *= 1 - K, a.xx *= 1 - K;
      axis_[m][i] = a;
    }
  const double most = *std::max_element(likely.begin(), likely.end());
  double sum = 0;
  for (std::size_t m = 0; m < kModels; ++m)
    share_[m] = std::max(kLeastShare, foretold[m] * std::exp(likely[m] - most)), sum += share_[m];
  for (double& share : share_) share /= sum;
}

Numbers ModelBank::at(double lead_s) const noexcept {
  Numbers out{};
  for (std::size_t m = 0; m < kModels; ++m)
    for (std::size_t i = 0; i < static_cast<std::size_t>(axes_); ++i)
      out[i] += share_[m] * (axis_[m][i].x + lead_s * axis_[m][i].v);
  return out;
}

void ModelBank::shift(const Numbers& by) noexcept {
  for (auto& model : axis_)
    for (std::size_t i = 0; i < static_cast<std::size_t>(axes_); ++i) model[i].x -= by[i];
}

PoseFilter::PoseFilter(const PoseFilterParams& params)
    : params_(params), tip_(3, 1), turn_(3, 1 / params.turn_lever_mm), opening_(1, 1 / params.hinge_lever_mm) {}

void PoseFilter::update(const InstrumentPose& pose, const PoseVariance& variance, std::int64_t t_ns) noexcept {
  status_ = pose.status;
  if (pose.status == TrackStatus::lost) return;
  const double dt = units::s_per_ns * static_cast<double>(t_ns - newest_ns_);
  const Numbers open{pose.opening_rad, 0, 0}, open_variance{variance.opening, 0, 0};
  if (!started_ || !(dt > 0) || dt > kLongestStep_s) {
    // Found anew: the measurement, and what was shown slides there.
    const bool shown = started_ && dt > 0 && dt < params_.slide_within_s;
    const Vec3 before = at(t_ns).X_RT.p;
    slide_ = shown ? before - pose.X_RT.p : Vec3{};
    reference_ = pose.X_RT.q;
    tip_.start(numbers(pose.X_RT.p), variance.tip);
    turn_.start({}, variance.turn);
    opening_.start(open, open_variance);
    closed_ = pose.opening_rad * params_.hinge_lever_mm < 0.5 * (params_.closes_below_mm + params_.opens_above_mm);
    started_ = true;
    doubt_mm2_ = variance.tip[0] + variance.tip[1] + variance.tip[2];
  } else {
    const Eigen::Quaterniond reference = to_eigen(reference_);
    const Eigen::Vector3d turned = log_rotation(to_eigen(pose.X_RT.q) * reference.conjugate());
    const Numbers before = tip_.at(dt);
    tip_.step(dt, numbers(pose.X_RT.p), variance.tip);
    const double trace = variance.tip[0] + variance.tip[1] + variance.tip[2];
    if (doubt_mm2_ > kDoubt * trace) {
      // The hand was not where it was thought to be: the picture slides there instead of leaping.
      const Numbers after = tip_.at(0);
      const Vec3 leap{before[0] - after[0], before[1] - after[1], before[2] - after[2]};
      if (const double length = norm(leap); length > params_.slide_above_mm)
        slide_ = slide_ + (1 - params_.slide_above_mm / length) * leap;
    }
    doubt_mm2_ = trace;
    turn_.step(dt, numbers(turned), variance.turn);
    opening_.step(dt, open, open_variance);
    const Numbers turn = turn_.at(0);  // small again for the next step
    reference_ = from_eigen((exp_rotation(vector(turn)) * reference).normalized());
    turn_.shift(turn);
    const double left = norm(slide_), most = params_.slide_most_mm_per_s * dt;
    const double stays = std::exp(-dt / params_.slide_s);
    slide_ = ((1 - stays) * left > most ? 1 - most / left : stays) * slide_;
    const double gap_mm = opening_.at(0)[0] * params_.hinge_lever_mm;
    closed_ = closed_ ? gap_mm < params_.opens_above_mm : gap_mm < params_.closes_below_mm;
  }
  newest_ns_ = t_ns;
}

FilteredPose PoseFilter::at(std::int64_t t_ns) const noexcept {
  FilteredPose out;
  out.status = status_;
  out.closed = closed_;
  if (!started_) return out;
  const double lead_s =
      std::clamp(units::s_per_ns * static_cast<double>(t_ns - newest_ns_), 0.0, 1e-3 * params_.max_lead_ms);
  const Numbers tip = tip_.at(lead_s);
  out.X_RT.p = Vec3{tip[0], tip[1], tip[2]} + slide_;
  out.X_RT.q = from_eigen((exp_rotation(vector(turn_.at(lead_s))) * to_eigen(reference_)).normalized());
  out.opening_rad = opening_.at(lead_s)[0];
  return out;
}

}  // namespace ligature::drivers
