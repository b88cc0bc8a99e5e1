#include "sim/rod_old/twist.hpp"

#include <Eigen/Geometry>
#include <cmath>
#include <numbers>

namespace ligature::rod_old {
namespace {

Vector3d any_normal(const Vector3d& t) {
  Vector3d axis = Vector3d::Zero();
  int smallest = 0;
  t.cwiseAbs().minCoeff(&smallest);
  axis[smallest] = 1.0;
  return t.cross(axis).normalized();
}

Vector3d unit_or(const Vector3d& v, const Vector3d& otherwise) {
  const double length = v.norm();
  return length > 1e-150 ? Vector3d(v / length) : otherwise;
}

Vector3d made_normal(const Vector3d& v, const Vector3d& t) {
  const Vector3d across = v - t.dot(v) * t;
  return across.squaredNorm() > 1e-12 ? Vector3d(across.normalized()) : any_normal(t);
}

// Angle from a to b about t, in (-pi, pi].
double signed_angle(const Vector3d& a, const Vector3d& b, const Vector3d& t) {
  return std::atan2(a.cross(b).dot(t), a.dot(b));
}

double nearest_turn(double angle, double to) {
  if (std::abs(to - angle) < std::numbers::pi) return angle;
  return angle + 2.0 * std::numbers::pi * std::round((to - angle) / (2.0 * std::numbers::pi));
}

}  // namespace

Vector3d parallel_transport(const Vector3d& v, const Vector3d& a, const Vector3d& b) noexcept {
  const double c = a.dot(b);
  if (c < -1.0 + 1e-12) return v;  // folded back: no smallest rotation exists, any half turn does
  const Vector3d axis = a.cross(b);
  return c * v + axis.cross(v) + axis.dot(v) / (1.0 + c) * axis;
}

Twist::Twist(const std::vector<Vector3d>& x)
    : tangent_(x.size() - 1),
      director_(x.size() - 1),
      reference_(x.size(), 0.0),
      theta_(x.size() - 1, 0.0),
      joint_(x.size(), 0.0),
      moment_(x.size(), 0.0),
      held_(x.size() - 1, 0) {
  restart(x);
}

void Twist::restart(const std::vector<Vector3d>& x) noexcept {
  for (std::size_t i = 0; i + 1 < x.size(); ++i) {
    tangent_[i] = unit_or(x[i + 1] - x[i], i ? tangent_[i - 1] : Vector3d::UnitX());
    director_[i] = i == 0
                       ? any_normal(tangent_[0])
                       : made_normal(parallel_transport(director_[i - 1], tangent_[i - 1], tangent_[i]), tangent_[i]);
  }
  for (double& angle : reference_) angle = 0;
  for (double& angle : theta_) angle = 0;
  for (double& angle : joint_) angle = 0;
  for (double& moment : moment_) moment = 0;
  for (unsigned char& held : held_) held = 0;
  active_ = false;
}

bool Twist::any_held() const noexcept {
  for (unsigned char held : held_)
    if (held) return true;
  return false;
}

double Twist::reference_joint(std::size_t vertex) const noexcept {
  const Vector3d carried = parallel_transport(director_[vertex - 1], tangent_[vertex - 1], tangent_[vertex]);
  return signed_angle(carried, director_[vertex], tangent_[vertex]);
}

void Twist::transport(const std::vector<Vector3d>& x) noexcept {
  const std::size_t edges = tangent_.size();
  for (std::size_t i = 0; i < edges; ++i) {
    const Vector3d t = unit_or(x[i + 1] - x[i], tangent_[i]);
    director_[i] = made_normal(parallel_transport(director_[i], tangent_[i], t), t);
    tangent_[i] = t;
  }
  for (std::size_t i = 1; i < edges; ++i) reference_[i] = nearest_turn(reference_joint(i), reference_[i]);
}

void Twist::hold(std::size_t edge, double theta_rad) noexcept {
  held_[edge] = 1;
  theta_[edge] = theta_rad;
}

void Twist::hold_director(std::size_t edge, const Vector3d& d1) noexcept {
  const Vector3d wanted = made_normal(d1, tangent_[edge]);
  hold(edge, nearest_turn(signed_angle(director_[edge], wanted, tangent_[edge]), theta_[edge]));
}

void Twist::release(std::size_t edge) noexcept {
  held_[edge] = 0;
}

void Twist::distribute(double twist_stiffness, double vertex_length) noexcept {
  const std::size_t edges = tangent_.size();
  active_ = false;
  for (std::size_t i = 0; i <= edges; ++i) joint_[i] = moment_[i] = 0.0;

  std::size_t first = edges, last = edges;
  for (std::size_t i = 0; i < edges; ++i) {
    if (!held_[i]) continue;
    if (first == edges) first = i;
    if (last != edges && i > last) {
      double total = theta_[i] - theta_[last];
      for (std::size_t k = last + 1; k <= i; ++k) total += reference_[k];
      const double even = total / static_cast<double>(i - last);
      for (std::size_t k = last + 1; k <= i; ++k) {
        joint_[k] = even;
        moment_[k] = twist_stiffness * even / vertex_length;
        if (k < i) theta_[k] = theta_[k - 1] + even - reference_[k];
      }
      active_ = active_ || even != 0.0;
    }
    last = i;
  }
  // Free tails turn with the nearest held frame, without twist; so does a rod that nobody holds, with its first edge.
  if (first == edges) first = last = 0;
  for (std::size_t i = first; i-- > 0;) theta_[i] = theta_[i + 1] + reference_[i + 1];
  for (std::size_t i = last + 1; i < edges; ++i) theta_[i] = theta_[i - 1] - reference_[i];
}

double Twist::turns() const noexcept {
  double sum = 0;
  for (double joint : joint_) sum += joint;
  return sum / (2.0 * std::numbers::pi);
}

Directors Twist::material(std::size_t edge) const noexcept {
  const Vector3d u = director_[edge], v = tangent_[edge].cross(u);
  const double c = std::cos(theta_[edge]), s = std::sin(theta_[edge]);
  return {c * u + s * v, c * v - s * u};
}

void Twist::add_to(StateHash& hash) const noexcept {
  for (const Vector3d& u : director_) hash.bytes(u.data(), sizeof(double) * 3);
  for (double angle : theta_) hash.add(angle);
  for (double angle : reference_) hash.add(angle);
  hash.bytes(held_.data(), held_.size());
}

}  // namespace ligature::rod_old
