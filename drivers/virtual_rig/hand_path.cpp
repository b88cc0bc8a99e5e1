#include "drivers/virtual_rig/hand_path.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <numbers>

#include "drivers/text.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace ligature::drivers {

namespace {
constexpr const char* kColumns = "t_s,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg";
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
// Beyond it is another unit, or a slip.
constexpr double kLongest_s = 1e6, kFurthest_mm = 1e4, kWidest_deg = 180;
constexpr const char* kBounds = "1e6 s, 1e4 mm or 180 degrees";
}  // namespace

Result<ForcepsPath> load_path(const std::string& file) {
  if (text::endless(file)) return usage_error(file + ": is no regular file: give a path file");
  std::ifstream in(file);
  if (!in) return usage_error(file + ": cannot be read (" + std::strerror(errno) + "): give a path file");
  ForcepsPath path;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto where = [&] { return file + ":" + std::to_string(number) + ": "; };
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    const std::vector<std::string_view> cells = text::split_csv(line);
    if (cells.empty()) continue;
    if (path.empty() && cells[0] == "t_s") {
      if (cells != text::split_csv(kColumns)) return usage_error(where() + "columns must be " + kColumns);
      continue;
    }
    if (cells.size() != 9)
      return usage_error(where() + std::to_string(cells.size()) + " columns, must be 9: " + kColumns);
    std::array<double, 9> v{};
    for (std::size_t i = 0; i < v.size(); ++i)
      if (!text::parse_number(cells[i], v[i]))
        return usage_error(where() + "'" + std::string(cells[i]) + "' is not a number: columns are " + kColumns);
    const auto within = [&](std::size_t i, double most) { return std::abs(v[i]) <= most; };
    if (!within(0, kLongest_s) || !within(1, kFurthest_mm) || !within(2, kFurthest_mm) || !within(3, kFurthest_mm) ||
        !within(8, kWidest_deg))
      return usage_error(where() + "beyond " + kBounds + ": check the units of " + kColumns);
    const double n = std::sqrt(v[4] * v[4] + v[5] * v[5] + v[6] * v[6] + v[7] * v[7]);
    if (std::abs(n - 1) > 1e-3)
      return usage_error(where() + "quaternion has length " + text::format("%.6g", n) +
                         ", must be 1: order is qx,qy,qz,qw");
    if (!path.empty() && v[0] <= path.back().t_s)
      return usage_error(where() + "t_s = " + text::format("%.9g", v[0]) +
                         " does not come after the line before: sort by time");
    path.push_back({v[0], {normalized({v[4], v[5], v[6], v[7]}), {v[1], v[2], v[3]}}, v[8] * units::rad_per_deg});
  }
  if (path.empty()) return usage_error(file + ":1: no row: give at least one of " + kColumns);
  return path;
}

Result<void> save_path(const std::string& file, const ForcepsPath& path) {
  std::FILE* out = std::fopen(file.c_str(), "w");
  if (!out) return failure(file + ": cannot be written (" + std::strerror(errno) + ")");
  std::fprintf(out, "%s\n", kColumns);
  for (const PathKey& k : path)
    std::fprintf(out, "%.9f,%.6f,%.6f,%.6f,%.9f,%.9f,%.9f,%.9f,%.6f\n", k.t_s, k.X.p.x, k.X.p.y, k.X.p.z, k.X.q.x,
                 k.X.q.y, k.X.q.z, k.X.q.w, k.opening_rad * units::deg_per_rad);
  const bool bad = std::ferror(out) != 0;
  if (std::fclose(out) != 0 || bad) return failure(file + ": could not be written whole: is the disk full?");
  return {};
}

PathKey interpolate(const ForcepsPath& path, PathBlend blend, double t_s) noexcept {
  const auto after =
      std::upper_bound(path.begin(), path.end(), t_s, [](double t, const PathKey& k) { return t < k.t_s; });
  if (after == path.begin() || after == path.end()) {
    PathKey still = after == path.begin() ? path.front() : path.back();
    still.t_s = t_s;
    return still;
  }
  const PathKey &a = *(after - 1), &b = *after;
  double u = (t_s - a.t_s) / (b.t_s - a.t_s);
  if (blend == PathBlend::minimum_jerk) u = u * u * u * (10 + u * (6 * u - 15));
  return {t_s, {slerp(a.X.q, b.X.q, u), (1 - u) * a.X.p + u * b.X.p}, (1 - u) * a.opening_rad + u * b.opening_rad};
}

Result<HandPath> HandPath::create(std::array<ForcepsPath, kInstruments> keys, PathBlend blend,
                                  const TremorParams& tremor, const Rig& rig, bool loop,
                                  std::shared_ptr<const HandEye> eye) {
  HandPath path;
  for (const ForcepsPath& k : keys) {
    if (k.empty()) return usage_error("hand path: a forceps has no keyframe: give at least one for each hand");
    path.duration_s_ = std::max(path.duration_s_, k.back().t_s);
  }
  if (!(rig.motion_scale > 0)) return usage_error("hand path: motion_scale must be above 0");
  path.keys_ = std::move(keys);
  path.blend_ = blend;
  path.X_RW_ = rig.X_RW;
  path.motion_scale_ = rig.motion_scale;
  path.loop_ = loop && path.duration_s_ > 0;
  path.eye_ = std::move(eye);
  // Three axes of kTones tones of equal amplitude: 3-D mean square = 3 kTones A^2 / 2.
  path.amplitude_mm_ = tremor.rms_mm * std::sqrt(2.0 / (3.0 * kTones));
  Random random(tremor.seed);
  for (auto& hand : path.tones_)
    for (auto& axis : hand)
      for (Tone& tone : axis)
        tone = {2 * std::numbers::pi * random.uniform(tremor.low_hz, tremor.high_hz),
                random.uniform(0, 2 * std::numbers::pi)};
  return path;
}

std::array<PathKey, kInstruments> HandPath::evaluate_W(double t_s) const noexcept {
  const double t = loop_ && t_s > 0 ? t_s - duration_s_ * std::floor(t_s / duration_s_) : t_s;
  std::array<PathKey, kInstruments> out;
  for (std::size_t hand = 0; hand < kInstruments; ++hand) {
    PathKey key = interpolate(keys_[hand], blend_, t);
    std::array<double, 3> shake{};
    for (std::size_t axis = 0; axis < 3; ++axis)
      for (const Tone& tone : tones_[hand][axis])
        shake[axis] += amplitude_mm_ * std::sin(tone.omega * t_s + tone.phase);
    key.t_s = t_s;
    key.X.p = key.X.p + motion_scale_ * Vec3{shake[0], shake[1], shake[2]};
    if (eye_) key.X.p = key.X.p + eye_->shift(hand, t_s);
    out[hand] = key;
  }
  return out;
}

std::array<ForcepsState, kInstruments> HandPath::evaluate(double t_s) const noexcept {
  const auto keys = evaluate_W(t_s);
  std::array<ForcepsState, kInstruments> out;
  for (std::size_t hand = 0; hand < kInstruments; ++hand) {
    const Pose X_WT{keys[hand].X.q, (1 / motion_scale_) * keys[hand].X.p};
    out[hand] = {X_RW_ * X_WT, keys[hand].opening_rad};
  }
  return out;
}

}  // namespace ligature::drivers
