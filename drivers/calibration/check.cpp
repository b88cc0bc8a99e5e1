#include "drivers/calibration/check.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "drivers/calibration/judge.hpp"

namespace ligature::calibration {
namespace {

std::string format(const char* pattern, double a, double b = 0) {
  char buffer[200];
  std::snprintf(buffer, sizeof buffer, pattern, a, b);
  return buffer;
}

double median(std::vector<double> v) {
  if (v.empty()) return 0;
  const auto middle = v.begin() + static_cast<std::ptrdiff_t>(v.size() / 2);
  std::nth_element(v.begin(), middle, v.end());
  return *middle;
}

}  // namespace

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::pass:
      return "pass";
    case Verdict::note:
      return "note";
    case Verdict::alert:
      return "alert";
    case Verdict::fail:
      return "fail";
  }
  return "";
}

BarCheck check_bar(const drivers::Rig& rig, const std::vector<MarkerFrame>& frames, std::size_t a, std::size_t b,
                   double bar_mm, double ball_mm, const CheckLimits& limits) {
  BarCheck out;
  out.frames = frames.size();
  const std::size_t cameras = rig.cameras.size();
  std::vector<std::vector<double>> off(cameras);
  std::vector<double> lengths;
  for (const MarkerFrame& frame : frames) {
    std::array<std::optional<Vec3>, 2> ends;
    for (std::size_t k = 0; k < 2; ++k) {
      const auto& sights = frame.markers[k == 0 ? a : b];
      ends[k] = place_ball(rig.cameras, sights, ball_mm);
      if (!ends[k] || sights.size() < 3) continue;  // of two cameras neither can be blamed
      for (const MarkerSight& s : sights) {
        std::vector<MarkerSight> others;
        std::copy_if(sights.begin(), sights.end(), std::back_inserter(others),
                     [&](const MarkerSight& o) { return o.camera != s.camera; });
        const auto p = place_ball(rig.cameras, others, ball_mm);
        if (!p) continue;
        const auto uv = ball_image(rig.cameras[static_cast<std::size_t>(s.camera)], *p, ball_mm);
        off[static_cast<std::size_t>(s.camera)].push_back(std::hypot(uv[0] - s.u_px, uv[1] - s.v_px));
      }
    }
    if (ends[0] && ends[1]) lengths.push_back(norm(*ends[0] - *ends[1]));
  }
  // A wrong blob makes a length that has nothing to do with the others.
  if (!lengths.empty()) {
    const double middle = median(lengths);
    std::vector<double> away;
    for (const double l : lengths) away.push_back(std::abs(l - middle));
    const double gate = std::max(0.05, 10 * 1.4826 * median(away));
    std::erase_if(lengths, [&](double l) { return std::abs(l - middle) > gate; });
  }
  out.placed = lengths.size();
  for (const auto& list : off) out.camera_px.push_back(median(list)), out.camera_seen.push_back(list.size());

  const auto worse = [&](Verdict v, std::string reason) {
    out.verdict = std::max(out.verdict, v);
    out.reasons.push_back(std::move(reason));
  };
  out.verdict = Verdict::pass;
  if (out.placed < std::max<std::size_t>(1, limits.frames)) {
    worse(Verdict::fail, "both balls were placed in " + std::to_string(out.placed) + " of " +
                             std::to_string(out.frames) + " frames, " + std::to_string(limits.frames) +
                             " are needed: move the bar slowly through the working volume, in view of all cameras");
    if (out.placed == 0) return out;
  }
  double sum = 0;
  for (const double l : lengths) sum += l;
  out.length_mm = sum / static_cast<double>(lengths.size());
  out.error_mm = out.length_mm - bar_mm;
  double squares = 0;
  for (const double l : lengths) {
    squares += (l - out.length_mm) * (l - out.length_mm);
    out.worst_mm = std::max(out.worst_mm, std::abs(l - bar_mm));
  }
  out.spread_mm = std::sqrt(squares / static_cast<double>(lengths.size()));
  out.sigma_mm =
      lengths.size() > 1 ? out.spread_mm / std::sqrt(static_cast<double>(lengths.size() - 1)) : out.spread_mm;

  const double error = std::abs(out.error_mm);
  const auto length = [&](Verdict v, const char* what) {
    worse(v, format("the bar measures %.3f mm, %+.3f mm from its length: ", out.length_mm, out.error_mm) + what);
  };
  if (error > limits.fail_mm)
    length(Verdict::fail, "is it the right bar? Calibrate the rig again before anyone trains");
  else if (error > limits.alert_mm)
    length(Verdict::alert, "calibrate the rig today");
  else if (error > limits.note_mm)
    length(Verdict::note, "calibrate the rig this week");
  // The camera that was knocked disagrees most, but it spoils the others' agreement too: the worst one is named.
  std::size_t worst = 0;
  for (std::size_t c = 1; c < cameras; ++c)
    if (out.camera_px[c] > out.camera_px[worst]) worst = c;
  const double px = cameras > 0 ? out.camera_px[worst] : 0;
  const auto moved = [&](Verdict v, const char* what) {
    worse(v, rig.cameras[worst].name + format(" sees the balls %.2f px from where the others put them: ", px) + what);
  };
  if (px > limits.fail_px)
    moved(Verdict::fail, "it has moved: fasten it and calibrate the rig again");
  else if (px > limits.alert_px)
    moved(Verdict::alert, "it may have moved: look at its mount, calibrate the rig today");
  else if (px > limits.note_px)
    moved(Verdict::note, "look at its mount and its lens");
  for (std::size_t c = 0; c < cameras; ++c)
    if (out.camera_seen[c] == 0)
      worse(Verdict::alert,
            rig.cameras[c].name + " saw no ball together with two others: is it covered, dark or unplugged?");
  if (out.spread_mm > limits.spread_mm)
    worse(Verdict::note,
          format("single lengths scatter by %.2f mm: move the bar more slowly, look at the light", out.spread_mm));
  return out;
}

}  // namespace ligature::calibration
