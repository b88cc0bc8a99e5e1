#include "drivers/virtual_rig/hand_eye.hpp"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <string_view>

#include "drivers/text.hpp"

namespace ligature::drivers {
namespace {

constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";
constexpr const char* kColumns = "t_s,over_s,thread,end,arc_mm,x_mm,y_mm,z_mm,follow_x,follow_y,follow_z";
constexpr std::size_t kColumnCount = 11, kEndColumn = 3;
constexpr double kSameTime_s = 1e-9;  // a step's time is a sum of steps

std::optional<Aim::At> end_named(std::string_view name) {
  if (name == "none") return Aim::At::none;
  if (name == "first") return Aim::At::first;
  if (name == "last") return Aim::At::last;
  return std::nullopt;
}

Vec3 vertex(const SceneSnapshot& scene, const SnapshotThread& thread, std::size_t i, Aim::At from) {
  const std::size_t k = from == Aim::At::first ? i : thread.vertex_count - 1 - i;
  const SnapshotVertex& v = scene.vertices[thread.first_vertex + k];
  return {v.x, v.y, v.z};
}

/// The place that an aim looks at; none: the thread is not there.
std::optional<Vec3> place(const SceneSnapshot& scene, const Aim& aim) noexcept {
  if (aim.thread >= scene.threads.size()) return std::nullopt;
  const SnapshotThread& thread = scene.threads[aim.thread];
  if (thread.vertex_count < 2 || thread.closed) return std::nullopt;
  double left = aim.arc_mm;
  Vec3 a = vertex(scene, thread, 0, aim.end);
  for (std::size_t i = 1; i < thread.vertex_count; ++i) {
    const Vec3 b = vertex(scene, thread, i, aim.end);
    const double length = norm(b - a);
    if (left <= length) return a + (length > 0 ? left / length : 0) * (b - a);
    left -= length;
    a = b;
  }
  return a;
}

}  // namespace

Result<ForcepsAims> load_aims(const std::string& file) {
  if (text::endless(file)) return usage_error(file + ": is no regular file: give a file of aims");
  std::ifstream in(file);
  if (!in) return usage_error(file + ": cannot be read (" + std::strerror(errno) + "): give a file of aims");
  ForcepsAims aims;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    const auto refuse = [&](const std::string& what) {
      return usage_error(file + ":" + std::to_string(number) + ": " + what);
    };
    if (number == 1 && line.starts_with(kByteOrderMark)) line.erase(0, kByteOrderMark.size());
    const std::vector<std::string_view> cells = text::split_csv(line);
    if (cells.empty()) continue;
    if (aims.empty() && cells[0] == "t_s") {
      if (cells != text::split_csv(kColumns)) return refuse(std::string("the columns must be ") + kColumns);
      continue;
    }
    if (cells.size() != kColumnCount)
      return refuse(std::to_string(cells.size()) + " columns, must be " + std::to_string(kColumnCount) + ": " +
                    kColumns);
    std::array<double, kColumnCount> v{};
    for (std::size_t i = 0; i < v.size(); ++i)
      if (i != kEndColumn && !text::parse_number(cells[i], v[i]))
        return refuse("'" + std::string(cells[i]) + "' is not a number: columns are " + kColumns);
    const std::optional<Aim::At> end = end_named(cells[kEndColumn]);
    if (!end) return refuse("end is '" + std::string(cells[kEndColumn]) + "', must be first, last or none");
    if (!(v[1] > 0)) return refuse("over_s is " + text::format("%.9g", v[1]) + ", must be above 0");
    if (!(v[2] >= 0 && v[2] < kMaxThreads) || v[2] != std::floor(v[2]))
      return refuse("thread is " + text::format("%.9g", v[2]) + ", must be a whole number 0.." +
                    std::to_string(kMaxThreads - 1) + ": threads are counted as in the scenario");
    if (!(v[4] >= 0)) return refuse("arc_mm is " + text::format("%.9g", v[4]) + ", must be 0 or more");
    for (std::size_t i = 8; i < kColumnCount; ++i)
      if (std::abs(v[i]) > 1)
        return refuse("a follow is " + text::format("%.9g", v[i]) + ", must be -1..1: the part that is made good");
    if (!aims.empty() && v[0] <= aims.back().t_s)
      return refuse("t_s = " + text::format("%.9g", v[0]) + " does not come after the line before: sort by time");
    aims.push_back({v[0], v[1], static_cast<std::size_t>(v[2]), *end, v[4], {v[5], v[6], v[7]}, {v[8], v[9], v[10]}});
  }
  if (aims.empty()) return usage_error(file + ":1: no row: give at least one " + kColumns);
  return aims;
}

HandEye::HandEye(std::array<ForcepsAims, kInstruments> aims, double lap_s) : lap_s_(lap_s) {
  for (std::size_t h = 0; h < kInstruments; ++h) {
    hands_[h].seen = std::vector<Seen>(aims[h].size());
    hands_[h].aims = std::move(aims[h]);
  }
}

std::int64_t HandEye::lap_at(double t_s) const noexcept {
  return lap_s_ > 0 ? static_cast<std::int64_t>(std::floor(t_s / lap_s_)) : 0;
}

/// Of the next look; infinity: none comes.
double HandEye::time_of(const Hand& hand) const noexcept {
  if (hand.next >= hand.aims.size()) return std::numeric_limits<double>::infinity();
  return static_cast<double>(hand.lap) * lap_s_ + hand.aims[hand.next].t_s;
}

bool HandEye::due(double t_s) const noexcept {
  return std::any_of(hands_.begin(), hands_.end(),
                     [&](const Hand& hand) { return time_of(hand) <= t_s + kSameTime_s; });
}

void HandEye::look(const SceneSnapshot& scene, double t_s) noexcept {
  for (Hand& hand : hands_) {
    while (time_of(hand) <= t_s + kSameTime_s) {
      const Aim& aim = hand.aims[hand.next];
      Seen& seen = hand.seen[hand.next];
      if (const std::optional<Vec3> at = aim.end == Aim::At::none ? std::nullopt : place(scene, aim)) {
        const Vec3 d = *at - aim.laid;
        Vec3 off{d.x * aim.follow.x, d.y * aim.follow.y, d.z * aim.follow.z};
        if (const double far = norm(off); far > kFarthest_mm) off = (kFarthest_mm / far) * off;
        seen.off_mm[0].store(off.x, std::memory_order_relaxed);
        seen.off_mm[1].store(off.y, std::memory_order_relaxed);
        seen.off_mm[2].store(off.z, std::memory_order_relaxed);
        seen.lap.store(hand.lap, std::memory_order_release);
      }
      if (++hand.next == hand.aims.size() && lap_s_ > 0) {
        hand.next = 0;
        ++hand.lap;
      }
    }
  }
}

Vec3 HandEye::shift(std::size_t hand, double t_s) const noexcept {
  const Hand& of = hands_[hand];
  const std::int64_t lap = lap_at(t_s);
  const double t = t_s - static_cast<double>(lap) * lap_s_;
  Vec3 shift;
  for (std::size_t i = 0; i < of.aims.size(); ++i) {
    const Aim& aim = of.aims[i];
    const double since = t - aim.t_s - kReaction_s;
    if (since <= 0) break;
    Vec3 to;
    if (aim.end != Aim::At::none) {
      const Seen& seen = of.seen[i];
      if (seen.lap.load(std::memory_order_acquire) != lap) continue;
      to = {seen.off_mm[0].load(std::memory_order_relaxed), seen.off_mm[1].load(std::memory_order_relaxed),
            seen.off_mm[2].load(std::memory_order_relaxed)};
    }
    const double u = std::min(1.0, since / aim.over_s);
    shift = shift + u * u * (3 - 2 * u) * (to - shift);
  }
  return shift;
}

}  // namespace ligature::drivers
