#pragma once
/// The demo's hands before the virtual rig, for the tests of this room.
#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <string>

#include "drivers/virtual_rig/hand_path.hpp"
#include "drivers/virtual_rig/virtual_camera.hpp"

namespace ligature::drivers::testing {

/// The standard rig with the lens distortion of config/rigs/demo.toml.
inline Rig distorted_rig() {
  Rig rig = standard_rig();
  for (CameraModel& camera : rig.cameras) camera.distortion = {-0.12, 0.03, 0.0005, -0.0003, 0.0};
  return rig;
}

inline std::string demo_file(const char* name) {
  return std::string(LIGATURE_DEMO_DIR) + "/" + name;
}

inline std::shared_ptr<const HandPath> demo_path(const Rig& rig, double tremor_rms_mm = 0.043) {
  auto left = load_path(demo_file("left.csv")), right = load_path(demo_file("right.csv"));
  EXPECT_TRUE(left && right);
  TremorParams tremor;
  tremor.rms_mm = tremor_rms_mm;
  auto path = HandPath::create({*left, *right}, PathBlend::minimum_jerk, tremor, rig, false);
  EXPECT_TRUE(path.has_value());
  return std::make_shared<const HandPath>(std::move(*path));
}

using Cameras = std::array<std::unique_ptr<FrameSource>, kCameras>;

inline Cameras virtual_cameras(const VirtualRigParams& params, const Rig& rig, std::shared_ptr<const HandPath> path) {
  Cameras cameras;
  for (std::size_t c = 0; c < kCameras; ++c) {
    auto camera = make_virtual_camera(params, rig, c, path);
    EXPECT_TRUE(camera.has_value()) << (camera ? "" : camera.error().message);
    cameras[c] = std::move(*camera);
  }
  return cameras;
}

}  // namespace ligature::drivers::testing
