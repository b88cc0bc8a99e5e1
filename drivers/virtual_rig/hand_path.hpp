#pragma once
/// A hand-like path of both forceps: keyframes joined by minimum-jerk motion, plus physiological tremor.
/// Evaluable at any time (motion blur asks within an exposure) and a pure function of it, and of what its eye has seen.
///
///   minimum jerk between keys:  s(u) = 10 u^3 - 15 u^4 + 6 u^5              [Flash 1985]
///   tremor per axis:            sum_k A sin(2 pi f_k t + phi_k), f_k in 6..12 Hz, A set by the wanted RMS
#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "drivers/rig.hpp"
#include "drivers/virtual_rig/hand_eye.hpp"
#include "sim/base/result.hpp"

namespace ligature::drivers {

/// One row of a path file. The frame of the pose is the file's (keyframes and the demo's truth: W).
struct PathKey {
  double t_s = 0;
  Pose X;  ///< pose of the forceps frame T
  double opening_rad = 0;
};
using ForcepsPath = std::vector<PathKey>;  ///< times strictly rising

/// Reads `t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg` (a header line is skipped). Errors name file and line.
Result<ForcepsPath> load_path(const std::string& file);
/// Writes the same format, times to the nanosecond, lengths to the picometre.
Result<void> save_path(const std::string& file, const ForcepsPath& path);

enum class PathBlend { linear, minimum_jerk };  ///< linear + slerp for dense truth, minimum jerk for keyframes

/// Between rows; before the first and after the last it stands still. @pre path is not empty
PathKey interpolate(const ForcepsPath& path, PathBlend blend, double t_s) noexcept;

struct TremorParams {
  std::uint64_t seed = 1;
  double rms_mm = 0.043;  ///< of the tip's 3-D displacement; 0 = none. Source: 38-49 um in surgeons' hands
  double low_hz = 6, high_hz = 12;
};

struct ForcepsState {
  Pose X_RT;
  double opening_rad = 0;
};

class HandPath {
 public:
  /// @param keys left, right, in W; @param X_RW, motion_scale as in the rig: p_R = X_RW (p_W / motion_scale)
  /// @param loop starts again after the last key of the longer path (with a jump unless the ends agree); before time 0
  /// it waits at the first
  /// @param eye moves the hands off their paths; null: they go by heart
  static Result<HandPath> create(std::array<ForcepsPath, kInstruments> keys, PathBlend blend,
                                 const TremorParams& tremor, const Rig& rig, bool loop,
                                 std::shared_ptr<const HandEye> eye = nullptr);

  /// @rt no allocation, no lock, bounded
  std::array<ForcepsState, kInstruments> evaluate(double t_s) const noexcept;
  /// The same in W, for truth files.
  std::array<PathKey, kInstruments> evaluate_W(double t_s) const noexcept;
  double duration_s() const { return duration_s_; }

 private:
  static constexpr int kTones = 10;
  struct Tone {
    double omega = 0, phase = 0;
  };
  std::array<ForcepsPath, kInstruments> keys_;
  PathBlend blend_ = PathBlend::minimum_jerk;
  std::array<std::array<std::array<Tone, kTones>, 3>, kInstruments> tones_{};
  double amplitude_mm_ = 0;
  Pose X_RW_;
  double motion_scale_ = 1;
  double duration_s_ = 0;
  bool loop_ = false;
  std::shared_ptr<const HandEye> eye_;
};

}  // namespace ligature::drivers
