#include "drivers/calibration/moved.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <map>
#include <set>

namespace ligature::calibration {
namespace {

constexpr std::size_t kLeastCorners = 6;  // of a view that counts
constexpr std::size_t kLeastViews = 4;    // on either side
constexpr double kLeastScatter_px = 0.02;
constexpr double kLeastShift_px = 0.15;
constexpr double kScatters = 3;         // by how many of them the two sides lie apart, ...
constexpr double kSigmas = 10;          // ... and by how many of their middle's
constexpr double kMiddleToSigma = 1.2;  // of a distance in the plane: its middle is 1.18 sigma, and few views show less
constexpr double kRobust_px = 0.5;
constexpr double kOutlier = 10;  // of those

using Shift = std::array<double, 2>;

double middle(std::vector<double> v) {
  const auto at = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), at, v.end());
  return *at;
}

Shift middle_of(const std::vector<Shift>& v, std::size_t from, std::size_t to) {
  std::vector<double> u, w;
  for (std::size_t i = from; i < to; ++i) u.push_back(v[i][0]), w.push_back(v[i][1]);
  return {middle(std::move(u)), middle(std::move(w))};
}

/// Where each view of the camera lies beside its boards as the others have them, in the order of time.
std::vector<std::pair<std::size_t, Shift>> shifts_of(const Bundle& bundle, std::size_t camera,
                                                     const std::vector<std::size_t>& order,
                                                     const BundleOptions& options) {
  Bundle others = bundle;
  for (BundleCamera& c : others.cameras) c.lens_free = {}, c.pose_free = false;
  std::vector<std::size_t> used(bundle.boards.size());
  for (BundleCorner& k : others.corners) {
    k.used = k.used && static_cast<std::size_t>(k.camera) != camera;
    used[static_cast<std::size_t>(k.board)] += k.used;
  }
  adjust(others, options);
  std::map<std::size_t, std::array<std::vector<double>, 2>> of_board;
  for (const BundleCorner& k : others.corners) {
    const auto b = static_cast<std::size_t>(k.board);
    if (static_cast<std::size_t>(k.camera) != camera || used[b] < kLeastCorners) continue;
    const auto r = residual(others, k);
    if (!std::isfinite(r[0]) || !std::isfinite(r[1])) continue;
    of_board[b][0].push_back(r[0]), of_board[b][1].push_back(r[1]);
  }
  std::vector<std::pair<std::size_t, Shift>> out;
  for (const std::size_t b : order) {
    const auto seen = of_board.find(b);
    if (seen == of_board.end() || seen->second[0].size() < kLeastCorners) continue;
    out.emplace_back(b, Shift{middle(seen->second[0]), middle(seen->second[1])});
  }
  return out;
}

/// Where the camera's views part with the least left on either side, and how clearly they do at all.
struct Parting {
  std::size_t board = 0;
  double shift_px = 0;  ///< there
  double sigmas = 0;    ///< of the clearest parting, which may be another; 0: there is none
};

Parting part(const std::vector<std::pair<std::size_t, Shift>>& views) {
  Parting out;
  std::vector<Shift> shifts;
  for (const auto& [board, shift] : views) shifts.push_back(shift);
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t at = kLeastViews; at + kLeastViews <= shifts.size(); ++at) {
    const Shift before = middle_of(shifts, 0, at), after = middle_of(shifts, at, shifts.size());
    std::vector<double> off;
    double sum = 0;
    for (std::size_t i = 0; i < shifts.size(); ++i) {
      const Shift& own = i < at ? before : after;
      off.push_back(std::hypot(shifts[i][0] - own[0], shifts[i][1] - own[1]));
      sum += off.back();
    }
    const double scatter = std::max(kLeastScatter_px, kMiddleToSigma * middle(std::move(off)));
    const double shift = std::hypot(after[0] - before[0], after[1] - before[1]);
    const double n = static_cast<double>(at), m = static_cast<double>(shifts.size() - at);
    if (shift >= std::max(kLeastShift_px, kScatters * scatter))
      out.sigmas = std::max(out.sigmas, shift / (scatter * std::sqrt(1 / n + 1 / m)));
    if (sum < least) least = sum, out.board = views[at].first, out.shift_px = shift;
  }
  return out;
}

}  // namespace

std::optional<MovedCamera> find_moved(const Bundle& bundle, const std::vector<std::size_t>& order,
                                      const std::function<bool()>& go_on) {
  bool stopped = false;
  BundleOptions options;
  options.go_on = [&] {
    stopped = stopped || (go_on && !go_on());
    return !stopped;
  };
  Parting clearest;
  for (std::size_t c = 0; c < bundle.cameras.size() && !stopped; ++c)
    if (const Parting own = part(shifts_of(bundle, c, order, options)); own.sigmas > clearest.sigmas) clearest = own;
  if (clearest.sigmas < kSigmas) return {};
  std::vector<std::size_t> rank(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) rank[order[i]] = i;
  // One that moved draws boards, and others, after it: it is the one without whose later views the rest agrees best.
  std::optional<MovedCamera> out;
  double least = std::numeric_limits<double>::infinity();
  std::vector<std::size_t> sees_both;
  for (std::size_t c = 0; c < bundle.cameras.size() && !stopped; ++c) {
    Bundle without = bundle;
    std::array<std::set<int>, 2> boards;  // that it saw before, and from then on
    for (BundleCorner& k : without.corners) {
      const bool own = static_cast<std::size_t>(k.camera) == c;
      const bool later = rank[static_cast<std::size_t>(k.board)] >= rank[clearest.board];
      if (own) boards[later ? 1 : 0].insert(k.board);
      const auto r = residual(without, k);
      k.used = !(own && later) && std::isfinite(r[0]) && std::isfinite(r[1]);
    }
    if (std::min(boards[0].size(), boards[1].size()) < kLeastViews) continue;
    sees_both.push_back(c);
    BundleOptions robust = options;
    robust.cauchy_px = kRobust_px;
    adjust(without, robust);
    double cost = 0, n = 0;
    for (BundleCorner& k : without.corners) {
      const auto r = residual(without, k);
      const double square = (r[0] * r[0] + r[1] * r[1]) / (kRobust_px * kRobust_px);
      if (!k.used || !std::isfinite(square)) {
        k.used = false;
        continue;
      }
      k.used = square < kOutlier * kOutlier;
      cost += std::log1p(square), ++n;
    }
    if (n == 0 || cost / n >= least) continue;
    least = cost / n;
    const Parting own = part(shifts_of(without, c, order, options));
    out = own.sigmas >= kSigmas ? MovedCamera{c, own.board, own.shift_px, {}}
                                : MovedCamera{c, clearest.board, clearest.shift_px, {}};
  }
  if (stopped || !out) return {};
  if (sees_both.size() == 2) out->or_camera = sees_both[0] == out->camera ? sees_both[1] : sees_both[0];
  return out;
}

}  // namespace ligature::calibration
