#include "drivers/tracking/tracker.hpp"

#include <Eigen/LU>
#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "drivers/tracking/clutter.hpp"
#include "drivers/tracking/consensus.hpp"
#include "drivers/tracking/fit.hpp"
#include "drivers/tracking/motion.hpp"
#include "drivers/tracking/starts.hpp"
#include "sim/base/eigen.hpp"
#include "sim/base/units.hpp"

namespace ligature::drivers {
namespace {

constexpr double kMisfitCap = 30;  // a view that a pose does not explain costs as much as one 5.5 sigma off
constexpr double kSurprise = 60;   // squared sigmas off the prediction: seven unknowns never are
constexpr double kWeak = 2;        // a pose this much less certain than usual leans on the prediction
constexpr double kTurnReach = 0.15, kTurnSpeed = 10;  // how far off a hand may be found [rad, rad/s]
constexpr double kOpeningReach = 0.1, kOpeningSpeed = 5;
constexpr double kStrained = 3;         // squared residuals this much above their variance: pulled by the prediction
constexpr double kContradicted = 18;    // squared sigmas that a prediction costs its views: seven unknowns hardly do
constexpr double kDistinct_mm = 2;      // poses closer than this are one
constexpr double kRivalMargin = 12;     // a rival this close in misfit is not told apart
constexpr double kBelowClosed = -0.06;  // noise may make closed jaws look crossed [rad]
constexpr std::size_t kTried = 4;       // starts that are fitted
constexpr double kUsual = 0.05;         // share of a frame in what is usual
constexpr double kLoudest = 10;         // one frame's residuals speak for no more than this much more noise
constexpr double kSlideFrom_mm = 2;     // at most
constexpr double kLeap_mm = 4;          // between frames; startled out of rest, 5 mm in 50 ms, a hand goes 3
constexpr double kSlide_mm = 0.25;      // a frame, from where the hand was thought to be to where it is seen
constexpr double kVague = 3;            // a mere prediction this much less certain than what can be followed is none
constexpr double kMoved_mm = 0.5;       // all markers by so much, and still a rigid body: none of them is a ball
constexpr int kStood = 12;              // whole frames that say so of a hand that rests
constexpr double kInTrue_px = 0.5;      // residual of a rig that is calibrated
constexpr int kScaleMemory = 100;       // frames over which residuals are compared with their variances

double tip_sigma(const Matrix7& covariance) {
  return std::sqrt(covariance.diagonal().segment<3>(3).sum());
}

TipCovariance tip_of(const Matrix7& covariance) {
  const auto S = covariance.block<3, 3>(3, 3);
  return {S(0, 0), S(0, 1), S(0, 2), S(1, 1), S(1, 2), S(2, 2)};
}

PoseVariance variance_of(const Matrix7& covariance) {
  PoseVariance v;
  for (int i = 0; i < 3; ++i)
    v.turn[static_cast<std::size_t>(i)] = covariance(i, i),
    v.tip[static_cast<std::size_t>(i)] = covariance(3 + i, 3 + i);
  v.opening = covariance(6, 6);
  return v;
}

/// By how many cameras each colour is seen, taken for the marker, and seen twice.
struct Shares {
  std::array<int, kMarkersEach> seen{}, used{}, twice{};
};
Shares shares(const Sight& all, const Sight& sight, const Choice& choice) noexcept {
  Shares n;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    for (std::size_t c = 0; c < kCameras; ++c) {
      const bool used = choice.of[m][c] >= 0;
      n.seen[m] += sight[m].count[c] > 0, n.used[m] += used, n.twice[m] += all[m].count[c] > 1;
    }
  return n;
}

/// Without the colours that most of the cameras that see them see elsewhere: what one of them shows near the pose is
/// another ball, whose ray happens to pass there.
Choice uncontradicted(const FitInput& in, Choice choice) noexcept {
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    int used = 0, seen = 0;
    for (std::size_t c = 0; c < kCameras; ++c)
      used += choice.of[m][c] >= 0, seen += (*in.sight)[m].count[c] + (*in.sight)[m].known[c] > 0;
    if (2 * used < seen) choice.of[m].fill(-1);
  }
  return choice;
}

}  // namespace

struct Tracker::State {
  struct Instrument {
    ForcepsShape shape;
    Sight all, sight;  // what is seen, and what of it is not known to be something else
    Clutter clutter;
    Motion motion;
    bool seen = false;  // has ever been tracked
    TrackStatus status = TrackStatus::lost;
    bool once_tracked = false;                        // has been tracked: there is something to carry on
    ForcepsEstimate last;                             // as answered
    std::int64_t last_ns = 0;                         // newest trigger whose images had a say
    std::int64_t motion_ns = 0;                       // what the motion has been advanced to
    double usual_sigma = 1e9;                         // of the tip while the images say it all [mm]
    double scale = 1;                                 // running ratio of squared residuals to their variance
    int scale_frames = 4;                             // ... taken as 1 for as many at first
    bool proven = false;                              // no ball can be one of its markers
    bool doubtful = false;                            // ... and one well may: not told yet
    int whole = 0;                                    // frames since it was found with all markers where they belong
    std::array<Eigen::Vector3d, kMarkersEach> found;  // markers when it was found, in R [mm]
    int pending = 0;                                  // weak fits in a row that agree
    bool leaned = false;                              // the answer before was the prediction's, wholly or in part
    Eigen::Vector3d slide = Eigen::Vector3d::Zero();  // of the answer's tip, off the fit's [mm]
    ForcepsEstimate pending_x;
    TipCovariance covariance{};
    PoseVariance variance;
    TrackSupport support;
    double confidence = 0;
  };
  /// A pose that the images allow.
  struct Candidate {
    bool ok = false;
    Fit fit;
    Matrix7 covariance = Matrix7::Zero();
    double sharp_sigma = 0;  // of the tip, by the views in themselves: their number, places and noise [mm]
    double cost = 0;
    bool ambiguous = false;  // another pose explains as much
    double surprise = 0;     // squared sigmas between it and the prediction
  };

  TrackerParams params;
  std::array<CameraSight, kCameras> cameras;
  std::array<Instrument, kInstruments> instruments;
  std::array<double, kCameras> camera_dt{};  // camera's mid-exposure minus the sample's [s]
  std::uint64_t next_sequence = 0;
  std::int64_t now_ns = 0, interval_ns = 16666667;
  bool started = false;

  Candidate try_from(const FitInput& in, const ForcepsEstimate& start, const Motion* motion,
                     bool proven) const noexcept;
  Candidate from_images(const FitInput& in, const Instrument& of, bool fresh) const noexcept;
  Candidate bridged(const FitInput& in, const Instrument& of) const noexcept;
  Candidate choose(const FitInput& in, Instrument& of, bool fresh, double since_s, bool& alone) const noexcept;
  bool within_reach(const Instrument& of, const Candidate& c, double since_s) const noexcept;
  bool speaks_for_itself(const Instrument& of, const Candidate& c) const noexcept;
  bool repeated(Instrument& of, const Candidate& c) const noexcept;
  bool stands(Instrument& of, const Candidate& c, bool fresh, bool alone) const noexcept;
  void follow(Instrument& of, InstrumentPose& out) noexcept;
};

/// Fitted from there to the views that lie near, and to those near the result.
Tracker::State::Candidate Tracker::State::try_from(const FitInput& in, const ForcepsEstimate& start,
                                                   const Motion* motion, bool proven) const noexcept {
  Candidate c;
  const Choice near = associate(in, start, 2 * params.gate_px);
  if (near.views() < 4 || std::popcount(near.camera_bits()) < 2) return c;
  c.fit = fit(in, start, near, nullptr);
  if (!c.fit.ok) return c;
  if (const Choice nearer = associate(in, c.fit.x, params.gate_px); nearer != near) {
    if (nearer.views() < 4 || std::popcount(nearer.camera_bits()) < 2) return c;
    c.fit = fit(in, c.fit.x, nearer, nullptr);
  }
  const double open = c.fit.x.opening;
  if (!c.fit.ok || c.fit.rows < 8 || std::popcount(c.fit.choice.camera_bits()) < 2 ||
      c.fit.residual_px > params.max_residual_px || uncontradicted(in, c.fit.choice) != c.fit.choice ||
      open < kBelowClosed || open > (params.max_opening_deg + 3) * units::rad_per_deg)
    return c;
  c.covariance = c.fit.information.inverse();
  if (!c.covariance.allFinite() || !(c.covariance.diagonal().minCoeff() > 0)) return c;
  c.sharp_sigma = tip_sigma(c.fit.sharp.inverse());
  if (!(c.sharp_sigma <= params.max_sigma_tracked_mm)) return c;
  c.cost = misfit(in, c.fit.x, kMisfitCap);
  if (motion) {
    const Vector7 off = between(motion->pose(), c.fit.x);
    c.surprise = off.dot((motion->pose_covariance() + c.covariance).partialPivLu().solve(off));
    if (proven) c.cost += std::min(kSurprise, c.surprise);
  }
  c.ok = true;
  return c;
}

/// The pose that explains most of what is seen; none when two explain it equally well.
Tracker::State::Candidate Tracker::State::from_images(const FitInput& in, const Instrument& of,
                                                      bool fresh) const noexcept {
  int seen = 0;
  for (const MarkerViews& views : of.sight)
    for (const std::uint8_t n : views.count) seen += n > 0;
  Candidate best;
  if (fresh) {
    best = try_from(in, of.motion.pose(), &of.motion, of.proven);
    if (best.ok && of.proven && best.surprise < kSurprise && best.fit.choice.views() == seen) return best;
  }
  PointsOfMarkers points;
  for (std::size_t m = 0; m < kMarkersEach; ++m)
    points[m] = agree(cameras, of.sight[m], of.shape.markers[m].radius, params.gate_px);
  const StartBounds bounds{params.distance_gate_mm, params.max_opening_deg * units::rad_per_deg, params.gate_px};
  Starts starts;
  starts_from_three(of.shape, points, bounds, starts);
  if (starts.count == 0 && !best.ok) starts_from_two(in, points, bounds, starts);
  double rival = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < std::min(starts.count, kTried); ++i) {
    Candidate c = try_from(in, starts.entry[i].x, fresh ? &of.motion : nullptr, of.proven);
    if (!c.ok) continue;
    if (!best.ok || c.cost < best.cost) std::swap(best, c);
    if (c.ok && (c.fit.x.p - best.fit.x.p).norm() > kDistinct_mm) rival = std::min(rival, c.cost);
  }
  if (best.ok && rival - best.cost < kRivalMargin) best.ok = false, best.ambiguous = true;
  return best;
}

/// Something is hidden: what lies where the hand was going to still counts, and the rest is as predicted.
Tracker::State::Candidate Tracker::State::bridged(const FitInput& in, const Instrument& of) const noexcept {
  Candidate c;
  Prior prior{of.motion.pose(), of.motion.pose_covariance().inverse()};
  if (!prior.information.allFinite()) return c;
  const Choice near = uncontradicted(in, associate_expected(in, prior.x, of.motion.pose_covariance()));
  if (near.views() == 0) return c;
  c.fit = fit(in, prior.x, near, &prior);
  if (!c.fit.ok || c.fit.choice.views() == 0 || c.fit.residual_px > params.max_residual_px) return c;
  c.covariance = (c.fit.information + prior.information).inverse();
  const Vector7 off = between(prior.x, c.fit.x);
  c.surprise = off.dot(prior.information * off);
  c.ok = c.covariance.allFinite() && tip_sigma(c.covariance) < params.max_sigma_tip_mm &&
         c.fit.x.opening > 2 * kBelowClosed && c.surprise < kSurprise;
  return c;
}

/// Whether a hand can have got there, however suddenly.
bool Tracker::State::within_reach(const Instrument& of, const Candidate& c, double since_s) const noexcept {
  const Vector7 off = between(of.motion.pose(), c.fit.x);
  return off.segment<3>(3).norm() < 5 + params.jump_speed_mm_per_s * since_s &&
         off.head<3>().norm() < kTurnReach + kTurnSpeed * since_s &&
         std::abs(off[6]) < kOpeningReach + kOpeningSpeed * since_s;
}

/// Three colours at the right distances in three cameras, and the other views do not speak against them.
bool Tracker::State::speaks_for_itself(const Instrument& of, const Candidate& c) const noexcept {
  int full = 0, seen = 0;
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    full += std::count_if(c.fit.choice.of[m].begin(), c.fit.choice.of[m].end(), [](auto k) { return k >= 0; }) >= 2;
    for (const std::uint8_t n : of.sight[m].count) seen += n > 0;
  }
  return 2 * c.fit.choice.views() > seen && full == static_cast<int>(kMarkersEach) &&
         std::popcount(c.fit.choice.camera_bits()) >= 3 && c.fit.residual_px < 1.0;
}

/// Whether about the same has been said several times running. One camera's view of an arm proves nothing: turn and
/// opening bring that arm to any ray.
bool Tracker::State::repeated(Instrument& of, const Candidate& c) const noexcept {
  int seen = 0;
  for (const MarkerViews& views : of.sight)
    for (const std::uint8_t n : views.count) seen += n > 0;
  bool proven = 2 * c.fit.choice.views() > seen;
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    const auto& views = c.fit.choice.of[m];
    proven &=
        of.shape.markers[m].sign == 0 || std::count_if(views.begin(), views.end(), [](auto k) { return k >= 0; }) != 1;
  }
  if (!proven) {
    of.pending = 0;
    return false;
  }
  const Vector7 off = between(of.pending_x, c.fit.x);
  const bool agrees = of.pending > 0 && off.segment<3>(3).norm() < 10 && off.head<3>().norm() < kTurnReach;
  of.pending = agrees ? of.pending + 1 : 1;
  of.pending_x = c.fit.x;
  return of.pending >= params.confirm_frames;
}

/// @param alone set to whether the images say it all
Tracker::State::Candidate Tracker::State::choose(const FitInput& in, Instrument& of, bool fresh, double since_s,
                                                 bool& alone) const noexcept {
  Candidate seen = from_images(in, of, fresh);
  alone = true;
  if (fresh && !of.proven && seen.ambiguous) {
    of.status = TrackStatus::lost;
    return seen;
  }
  if (!fresh) {
    if (!seen.ok) of.pending = 0;
    seen.ok = seen.ok && (speaks_for_itself(of, seen) || repeated(of, seen));
    return seen;
  }
  const bool expected = seen.ok && seen.surprise < kSurprise;
  // By the views in themselves, not by its own sigma: cameras out of step say less of a hand whose speed is not known,
  // and a bad moment leaves the noise overrated; nothing but images that are believed ever ends either.
  if (expected && seen.sharp_sigma < kWeak * of.usual_sigma) return seen;
  // A startled hand is where nothing was expected of it: all views agree, and with the prediction hardly any do.
  // Further off than any start it is rather a ball that stands in for a hidden marker, as long as the others are as
  // expected.
  const bool startled = seen.ok && !expected && speaks_for_itself(of, seen) && within_reach(of, seen, since_s) &&
                        (of.motion.pose().p - seen.fit.x.p).norm() < kLeap_mm;
  // A start leaves some views where the prediction reaches them, and a pose between the two; these speak against the
  // prediction as well, which those of a hand with a ball for its third marker do not.
  const auto strained = [&](const Candidate& c) {
    return 3 * c.fit.choice.views() <= 2 * seen.fit.choice.views() || c.fit.chi2 > kStrained * in.scale * c.fit.rows ||
           (c.fit.chi2 - chi_squared(in, seen.fit.x, c.fit.choice)) / in.scale + c.surprise > kContradicted;
  };
  if (Candidate joint = bridged(in, of); joint.ok && !(startled && strained(joint))) {
    alone = false;
    return joint;
  }
  if (expected) return seen;
  if (!seen.ok) of.pending = 0;
  seen.ok = seen.ok && ((speaks_for_itself(of, seen) && within_reach(of, seen, since_s)) || repeated(of, seen));
  return seen;
}

/// Whether a hand that was found a short while ago can still be one, whose third marker may have been a ball while the
/// marker itself was hidden. A ball is found out when the others move. It gives itself away from the start where balls
/// are seen beside the other markers and beside this one none.
bool Tracker::State::stands(Instrument& of, const Candidate& c, bool fresh, bool alone) const noexcept {
  if (fresh && of.proven) return true;
  const Shares n = shares(of.all, of.sight, c.fit.choice);
  if (!fresh) {
    of.proven = false, of.whole = 0;
    for (std::size_t m = 0; m < kMarkersEach; ++m) of.found[m] = of.shape.marker_R(m, c.fit.x);
  }
  bool whole = alone, moved = true, without = false;
  std::size_t balls = 0;
  for (std::size_t m = 0; m < kMarkersEach; ++m) {
    if (n.seen[m] >= 2 && n.used[m] == 0) return false;
    whole &= n.used[m] >= 2;
    moved &= (of.shape.marker_R(m, c.fit.x) - of.found[m]).norm() > kMoved_mm;
    balls += 2 * n.twice[m] > n.seen[m], without |= n.twice[m] == 0;
  }
  const bool in_true = c.fit.residual_px < kInTrue_px;
  of.doubtful = (!fresh || of.doubtful) && without && balls + 1 == kMarkersEach;
  if (of.doubtful && !in_true) return false;
  of.whole += whole;
  of.proven = whole && (moved || of.whole >= kStood);
  if (of.proven) of.doubtful = false;
  return true;
}

void Tracker::State::follow(Instrument& of, InstrumentPose& out) noexcept {
  const double since_s = of.seen ? units::s_per_ns * static_cast<double>(now_ns - of.last_ns) : 0;
  const bool fresh = of.seen && of.status != TrackStatus::lost && 1e3 * since_s <= params.prediction_ms;
  if (fresh) {
    of.motion.advance(std::max(0.0, units::s_per_ns * static_cast<double>(now_ns - of.motion_ns)));
    of.motion_ns = now_ns;
  }
  FitInput in;
  in.cameras = &cameras, in.shape = &of.shape, in.sight = &of.sight;
  in.dt_s = camera_dt, in.scale = of.scale;
  if (fresh) in.speed = of.motion.speed(), in.speed_sigma = of.motion.speed_sigma();

  bool alone = false;
  Candidate c = choose(in, of, fresh, since_s, alone);
  if (c.ok && !stands(of, c, fresh, alone)) c.ok = false, of.status = TrackStatus::lost;
  // Where the hand was not where it was thought to be, the answer slides there; from too far off it is lost first.
  const bool answered = of.seen && of.status != TrackStatus::lost;
  if (!answered) of.slide.setZero();
  if (c.ok && answered && of.leaned) of.slide += (fresh ? of.motion.pose().p : of.last.p) - c.fit.x.p;
  const double off = of.slide.norm();
  of.slide *= off > kSlide_mm ? 1 - kSlide_mm / off : 0;
  const bool leaned = of.leaned;
  of.leaned = !c.ok || !alone;
  // So is one whose images say, against all that was expected, that it leapt.
  const bool leapt = c.ok && answered && fresh && alone && c.surprise > kSurprise &&
                     (of.motion.pose().p - c.fit.x.p).norm() > kLeap_mm;
  const bool found_elsewhere = off > kSlideFrom_mm || leapt;
  if (found_elsewhere) c.ok = false;
  for (std::size_t k = 0; k < kCameras; ++k) {
    of.support.seen[k] = of.support.used[k] = 0;
    for (std::size_t m = 0; m < kMarkersEach; ++m) {
      of.support.seen[k] = static_cast<std::uint8_t>(of.support.seen[k] + (of.all[m].count[k] > 0));
      if (c.ok) of.support.used[k] = static_cast<std::uint8_t>(of.support.used[k] + (c.fit.choice.of[m][k] >= 0));
    }
  }
  if (c.ok) {
    of.pending = 0;
    if (!fresh)
      of.motion.start(c.fit.x, c.covariance);
    else if (alone && leaned && c.surprise > kSurprise)
      of.motion.correct(c.fit.x, c.covariance);
    else if (alone)
      of.motion.update(c.fit.x, c.fit.information);
    else
      of.motion.update_joint(c.fit.x, c.fit.information);
    of.motion_ns = of.last_ns = now_ns;
    if (alone) {
      const double sharp = c.sharp_sigma;
      of.usual_sigma = fresh && of.usual_sigma < 1e8 ? of.usual_sigma + kUsual * (sharp - of.usual_sigma) : sharp;
    }
    if (alone && c.fit.rows >= 16) {
      const double ratio = std::clamp(c.fit.chi2 / (c.fit.rows - 7), 0.01, kLoudest * of.scale);
      of.scale = std::clamp(of.scale + (ratio - of.scale) / (of.scale_frames + 1), 0.05, 1e4);
      of.scale_frames = std::min(of.scale_frames + 1, kScaleMemory);
    }
    of.last = c.fit.x;
    of.seen = true;
    Matrix7 covariance = c.covariance;
    covariance.block<3, 3>(3, 3) += of.slide * of.slide.transpose();
    of.covariance = tip_of(covariance);
    of.variance = variance_of(covariance);
    const double sigma = tip_sigma(covariance);
    if (alone && !of.doubtful && sigma <= params.max_sigma_tracked_mm)
      of.clutter.learn(in, of.all, c.fit.x, c.fit.choice, now_ns);
    of.status = sigma <= params.max_sigma_tracked_mm ? TrackStatus::tracked : TrackStatus::predicted;
    of.confidence =
        std::clamp(1.0 - sigma / params.max_sigma_tip_mm, 0.0, 1.0) * (0.5 + 0.5 * std::min(1.0, c.fit.rows / 24.0));
    out.cameras = static_cast<std::uint8_t>(std::popcount(c.fit.choice.camera_bits()));
    out.residual_px = c.fit.residual_px;
    out.confidence = of.confidence;
  } else if (fresh && !found_elsewhere && of.status != TrackStatus::lost &&
             tip_sigma(of.motion.pose_covariance()) < kVague * params.max_sigma_tip_mm) {
    of.status = TrackStatus::predicted;
    of.last = of.motion.pose();
    of.covariance = tip_of(of.motion.pose_covariance());
    of.variance = variance_of(of.motion.pose_covariance());
    out.confidence = of.confidence * std::max(0.0, 1 - 1e3 * since_s / params.prediction_ms);
  } else {
    of.status = TrackStatus::lost;
  }
  of.once_tracked = of.once_tracked || (!of.doubtful && of.status == TrackStatus::tracked);
  out.status = of.doubtful || !of.once_tracked ? TrackStatus::lost : of.status;
  out.X_RT = {from_eigen(of.last.q), from_eigen(Eigen::Vector3d(of.last.p + of.slide))};
  out.opening_rad = of.last.opening;
  if (out.status != TrackStatus::lost)
    out.sigma_tip_mm = std::sqrt(of.covariance[0] + of.covariance[3] + of.covariance[5]), out.variance = of.variance;
}

Tracker::Tracker(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tracker::~Tracker() = default;
Tracker::Tracker(Tracker&&) noexcept = default;
Tracker& Tracker::operator=(Tracker&&) noexcept = default;

Result<Tracker> Tracker::create(const Rig& rig, const TrackerParams& params) {
  if (rig.cameras.size() < 2 || rig.cameras.size() > kCameras)
    return usage_error("tracker: the rig has " + std::to_string(rig.cameras.size()) + " cameras, must be 2 to 4");
  if (rig.instruments.size() != kInstruments)
    return usage_error("tracker: the rig has " + std::to_string(rig.instruments.size()) + " instruments, must be 2");
  if (!(params.gate_px > 0 && params.max_residual_px > 0 && params.prediction_ms >= 0 && params.max_opening_deg > 0 &&
        params.max_sigma_tracked_mm > 0 && params.max_sigma_tip_mm >= params.max_sigma_tracked_mm &&
        params.max_skew_ms > 0))
    return usage_error("tracker: gates and bounds must be above 0");
  auto state = std::make_unique<State>();
  state->params = params;
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    state->cameras[c] = CameraSight(rig.cameras[c]);
    if (!(state->cameras[c].f > 0))
      return usage_error("tracker: camera " + rig.cameras[c].name + " has no focal length");
  }
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const InstrumentModel& model = rig.instruments[i];
    if (model.markers.size() != kMarkersEach)
      return usage_error("tracker: instrument " + model.name + " has " + std::to_string(model.markers.size()) +
                         " markers, must be 3");
    ForcepsShape& shape = state->instruments[i].shape;
    shape.hinge_T = to_eigen(model.hinge_p_T);
    for (std::size_t m = 0; m < kMarkersEach; ++m) {
      const Marker& k = model.markers[m];
      shape.markers[m] = {to_eigen(k.p_TM),
                          k.arm == MarkerArm::none   ? 0.0
                          : k.arm == MarkerArm::plus ? 1.0
                                                     : -1.0,
                          0.5 * k.diameter_mm};
    }
    const Eigen::Vector3d a = shape.markers[1].p_T - shape.markers[0].p_T,
                          b = shape.markers[2].p_T - shape.markers[0].p_T;
    if (a.cross(b).norm() < 1)
      return usage_error("tracker: the markers of instrument " + model.name +
                         " lie in one line: its roll cannot be seen");
  }
  return Tracker(std::move(state));
}

std::int64_t trigger_middle_ns(const std::array<const MarkerSet*, kCameras>& sets) noexcept {
  std::array<std::int64_t, kCameras> times;
  times.fill(std::numeric_limits<std::int64_t>::max());
  std::size_t alive = 0;
  for (const MarkerSet* set : sets)
    if (set && set->image) times[alive++] = set->mid_exposure_ns;
  std::sort(times.begin(), times.end());
  return alive > 0 ? times[(alive - 1) / 2] : 0;
}

InstrumentSample Tracker::track(const std::array<const MarkerSet*, kCameras>& sets) noexcept {
  std::uint64_t sequence = state_->next_sequence;
  std::int64_t sum = 0, base = 0, n = 0;
  for (const MarkerSet* set : sets)
    if (set && set->image) {
      if (n == 0) base = set->mid_exposure_ns, sequence = set->sequence;
      sum += set->mid_exposure_ns - base, ++n;
    }
  if (n == 0)
    for (const MarkerSet* set : sets)
      if (set) return track(sets, set->sequence, set->mid_exposure_ns);
  return track(sets, sequence, n > 0 ? base + sum / n : state_->now_ns + state_->interval_ns);
}

InstrumentSample Tracker::track(const std::array<const MarkerSet*, kCameras>& sets, std::uint64_t sequence,
                                std::int64_t mid_exposure_ns) noexcept {
  State& s = *state_;
  if (s.started && mid_exposure_ns > s.now_ns) s.interval_ns = mid_exposure_ns - s.now_ns;
  s.now_ns = mid_exposure_ns;
  s.started = true;
  s.next_sequence = sequence + 1;
  InstrumentSample sample;
  sample.sequence = sequence;
  sample.mid_exposure_ns = mid_exposure_ns;

  // Images of one trigger lie together; one that does not would bend the pose, so it counts as none.
  const std::int64_t middle = trigger_middle_ns(sets);
  std::array<const MarkerSet*, kCameras> used{};
  for (std::size_t c = 0; c < kCameras; ++c) {
    if (!sets[c] || !sets[c]->image) continue;
    sample.cameras_alive = static_cast<std::uint8_t>(sample.cameras_alive | 1u << c);
    const std::int64_t off = sets[c]->mid_exposure_ns - middle;
    if (std::abs(static_cast<double>(off)) > s.params.max_skew_ms * units::ns_per_ms) continue;
    used[c] = sets[c];
    s.camera_dt[c] = units::s_per_ns * static_cast<double>(sets[c]->mid_exposure_ns - mid_exposure_ns);
  }
  for (std::size_t i = 0; i < kInstruments; ++i) {
    State::Instrument& of = s.instruments[i];
    gather(s.cameras, used, i * kMarkersEach, of.all);
    of.sight = of.all;
    of.clutter.strip(of.sight, s.now_ns);
    s.follow(of, sample.instruments[i]);
  }
  return sample;
}

const TipCovariance& Tracker::tip_covariance(std::size_t instrument) const noexcept {
  return state_->instruments[instrument].covariance;
}

PoseVariance Tracker::pose_variance(std::size_t instrument) const noexcept {
  return state_->instruments[instrument].variance;
}

const TrackSupport& Tracker::support(std::size_t instrument) const noexcept {
  return state_->instruments[instrument].support;
}

void Tracker::set_prediction_ms(double ms) noexcept {
  state_->params.prediction_ms = ms > 0 ? ms : 0;
}

void Tracker::reset() noexcept {
  State& s = *state_;
  for (State::Instrument& of : s.instruments) {
    State::Instrument clean;
    clean.shape = of.shape;
    of = clean;
  }
  s.next_sequence = 0, s.now_ns = 0, s.started = false;
}

}  // namespace ligature::drivers
