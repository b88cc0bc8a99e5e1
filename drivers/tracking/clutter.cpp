#include "drivers/tracking/clutter.hpp"

#include <Eigen/LU>
#include <algorithm>

#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

constexpr int kBelieved = 3;                 // frames
constexpr double kPlace = 0.5, kPace = 0.1;  // how much of a place and its motion is remembered, and taken from a frame
constexpr double kGoesOn_s = 0.3;            // a ball that is moved goes on for so long
constexpr int kMost = 100;                   // frames that a place's memory speaks for
constexpr double kForget_s = 5;              // ... and how long without any
constexpr double kSame2 = 36;                // 6 sigma of a view, beside ...
constexpr double kTremor_px = 0.5;           // ... what moves a ball that stands
constexpr double kNear_px = 4;               // a blob that moved no further than this from a place is still the same
constexpr double kBeside_px = 1.5;           // from the marker's view
constexpr double kInstead_px = 10;           // from where the marker must be: nothing of its own image reaches there
constexpr std::size_t kViews = 2;            // that say where the marker is

}  // namespace

Eigen::Vector2d Clutter::foretold(const Place& place, std::int64_t now_ns) noexcept {
  const double since_s = units::s_per_ns * static_cast<double>(now_ns - place.newest_ns);
  return place.px + std::min(since_s, kGoesOn_s) * place.px_per_s;
}

bool Clutter::known(const Place& place, const View& view, std::int64_t now_ns) const noexcept {
  if (place.times < kBelieved || units::s_per_ns * static_cast<double>(now_ns - place.newest_ns) > kForget_s)
    return false;
  const Eigen::Vector2d e = view.px - foretold(place, now_ns);
  const Eigen::Matrix2d S = view.weight.inverse() * kSame2 + kTremor_px * kTremor_px * Eigen::Matrix2d::Identity();
  return e.dot(S.inverse() * e) < 1;
}

void Clutter::strip(Sight& sight, std::int64_t now_ns) const noexcept {
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      MarkerViews& views = sight[m];
      std::uint8_t left = 0;
      for (std::size_t k = 0; k < views.count[c]; ++k) {
        const View& view = views.view[c][k];
        if (std::none_of(place_[m][c].begin(), place_[m][c].end(),
                         [&](const Place& place) { return known(place, view, now_ns); }))
          views.view[c][left++] = view;
      }
      views.known[c] = static_cast<std::uint8_t>(views.count[c] - left);
      views.count[c] = left;
    }
}

void Clutter::learn(const FitInput& in, const Sight& all, const ForcepsEstimate& x, const Choice& choice,
                    std::int64_t now_ns) noexcept {
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    const auto& of = choice.of[m];
    if (static_cast<std::size_t>(std::count_if(of.begin(), of.end(), [](auto k) { return k >= 0; })) < kViews) continue;
    for (std::size_t c = 0; c < kCameras; ++c) {
      // Beside the view that is the marker another blob is none of it, in its stead it may be half of it.
      Eigen::Vector2d marker;
      double clear = kBeside_px;
      if (of[c] >= 0)
        marker = (*in.sight)[m].view[c][static_cast<std::size_t>(of[c])].px;
      else if (clear = kInstead_px;
               !(*in.cameras)[c].image_of(in.shape->marker_R(m, x), in.shape->markers[m].radius, marker))
        continue;
      for (std::size_t k = 0; k < all[m].count[c]; ++k) {
        const Eigen::Vector2d& px = all[m].view[c][k].px;
        if ((px - marker).norm() < clear) continue;
        auto& places = place_[m][c];
        Place* at = nullptr;
        double nearest = kNear_px;
        for (Place& place : places)
          if (const double d = (foretold(place, now_ns) - px).norm(); place.times > 0 && d < nearest)
            nearest = d, at = &place;
        if (!at) {  // the one that nothing was seen of for longest makes room
          at = &*std::min_element(places.begin(), places.end(), [](const Place& a, const Place& b) {
            return (a.times > 0 ? a.newest_ns : -1) < (b.times > 0 ? b.newest_ns : -1);
          });
          *at = {};
        }
        const Eigen::Vector2d off = px - foretold(*at, now_ns);
        const double dt = units::s_per_ns * static_cast<double>(now_ns - at->newest_ns);
        at->px = px - (at->times > 0 ? kPlace : 0) * off;
        if (at->times > 0 && dt > 0) at->px_per_s += kPace * off / dt;
        at->times = std::min(at->times + 1, kMost);
        at->newest_ns = now_ns;
      }
    }
  }
}

}  // namespace ligature::drivers
