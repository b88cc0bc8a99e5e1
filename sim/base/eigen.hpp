#pragma once
/// Conversions between the border structs of geometry.hpp and Eigen.
#include <Eigen/Geometry>

#include "sim/base/geometry.hpp"

namespace ligature {

inline Eigen::Vector3d to_eigen(Vec3 v) {
  return {v.x, v.y, v.z};
}
inline Eigen::Quaterniond to_eigen(Quat q) {
  return {q.w, q.x, q.y, q.z};
}
inline Vec3 from_eigen(const Eigen::Vector3d& v) {
  return {v.x(), v.y(), v.z()};
}
inline Quat from_eigen(const Eigen::Quaterniond& q) {
  return {q.x(), q.y(), q.z(), q.w()};
}

}  // namespace ligature
