/// Forceps turned about their tip, and the bar of the daily check: balls as the virtual rig's cameras see them.
#include <gtest/gtest.h>

#include "drivers/calibration/check.hpp"
#include "drivers/calibration/instrument.hpp"
#include "tests/calibration/synthetic.hpp"

namespace ligature::calibration::test {
namespace {

using drivers::InstrumentModel;
using drivers::Rig;

/// Balls at these places, as the cameras of `rig` have them in their images.
void see_ball(const Rig& rig, Vec3 p_R, double diameter_mm, double sigma_px, std::mt19937_64& random,
              std::vector<MarkerSight>& out) {
  std::normal_distribution<double> normal(0, sigma_px);
  for (std::size_t c = 0; c < rig.cameras.size(); ++c) {
    if (!image_of(rig.cameras[c], p_R)) continue;
    const auto uv = ball_image(rig.cameras[c], p_R, diameter_mm);
    out.push_back({static_cast<int>(c), uv[0] + normal(random), uv[1] + normal(random)});
  }
}

MarkerFrame see_forceps(const Rig& rig, const InstrumentModel& truth, const Pose& X_RT, double opening_rad,
                        double sigma_px, std::mt19937_64& random) {
  MarkerFrame frame;
  for (std::size_t m = 0; m < 3; ++m)
    see_ball(rig, X_RT * drivers::marker_p_T(truth, truth.markers[m], opening_rad), truth.markers[m].diameter_mm,
             sigma_px, random, frame.markers[m]);
  return frame;
}

/// As a hand holds it: coming from above and the user's side, then turned.
Quat held(double pitch_deg, double yaw_deg, double roll_deg) {
  const double d = M_PI / 180;
  return axis_angle({0, 0, 1}, yaw_deg * d) * axis_angle({0, 1, 0}, pitch_deg * d) *
         axis_angle({1, 0, 0}, roll_deg * d);
}

struct Recordings {
  std::vector<MarkerFrame> pivot, opening;
};
Recordings record(const Rig& rig, const InstrumentModel& truth, double sigma_px, double swing = 1,
                  double most_opening_deg = 14) {
  std::mt19937_64 random(5);
  Recordings out;
  for (int i = 0; i < 150; ++i) {
    const double t = 2 * M_PI * i / 150;
    const Quat q =
        held(35 + swing * 20 * std::sin(3 * t), 90 + swing * 35 * std::sin(5 * t), swing * 40 * std::sin(7 * t));
    out.pivot.push_back(see_forceps(rig, truth, {q, {5, -3, 41}}, 0, sigma_px, random));
  }
  for (int i = 0; i < 150; ++i) {
    const double t = 2 * M_PI * i / 150;
    const Quat q = held(35 + 4 * std::sin(t), 90 + 5 * std::cos(t), 6 * std::sin(2 * t));
    out.opening.push_back(see_forceps(rig, truth, {q, {5 + 4 * std::sin(t), -3, 55}},
                                      most_opening_deg * M_PI / 180 * 0.5 * (1 - std::cos(6 * t)), sigma_px, random));
  }
  return out;
}

/// Forceps whose markers were glued on a little elsewhere than the drawing says.
InstrumentModel glued(const InstrumentModel& drawn) {
  InstrumentModel m = drawn;
  m.hinge_p_T = {-116, 0, 0};
  m.markers[0].p_TM = {-108.4, 0.8, 9.1};
  m.markers[1].p_TM = {-26.2, 6.7, 0.6};
  m.markers[2].p_TM = {-24.1, -5.5, -0.4};
  return m;
}

TEST(InstrumentCalibration, FindsMarkersAndHingeFromTwoRecordings) {
  const Rig rig = drivers::standard_rig();
  const InstrumentModel truth = glued(rig.instruments[0]);
  const Recordings seen = record(rig, truth, 0.1);
  const auto result = fit_instrument(rig, 0, seen.pivot, seen.opening);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->good()) << result->failures[0];
  for (std::size_t m = 0; m < 3; ++m) {
    EXPECT_LT(norm(result->model.markers[m].p_TM - truth.markers[m].p_TM), 1.5) << m;
    const std::size_t n = (m + 1) % 3;
    EXPECT_NEAR(norm(result->model.markers[m].p_TM - result->model.markers[n].p_TM),
                norm(truth.markers[m].p_TM - truth.markers[n].p_TM), 0.04);
  }
  // The tip against the markers: the rigid motion that lays the found markers over the true ones, at the origin.
  std::vector<Vec3> found, real;
  for (std::size_t m = 0; m < 3; ++m)
    found.push_back(result->model.markers[m].p_TM), real.push_back(truth.markers[m].p_TM);
  const double tip_mm = norm(fit_pose(real, found).p);
  EXPECT_LT(tip_mm, 0.03);
  EXPECT_LT(tip_mm, 4 * result->tip_sigma_mm);
  EXPECT_NEAR(result->model.hinge_p_T.x, truth.hinge_p_T.x, 4 * result->hinge_sigma_mm);
  EXPECT_LT(result->hinge_sigma_mm, 3);
  EXPECT_LT(result->rms_px, 0.1 * std::sqrt(2.0));
  EXPECT_LT(norm(result->divot_p_R - Vec3{5, -3, 41}), 0.03);
  RecordProperty("tip_um", std::to_string(1000 * tip_mm));
  RecordProperty("tip_sigma_um", std::to_string(1000 * result->tip_sigma_mm));
  RecordProperty("direction_sigma_deg", std::to_string(result->direction_sigma_deg));
}

TEST(InstrumentCalibration, WithoutAnOpeningKeepsDirectionsAndHinge) {
  const Rig rig = drivers::standard_rig();
  InstrumentModel truth = rig.instruments[0];
  for (auto& m : truth.markers) m.p_TM = m.p_TM + Vec3{1.5, 0, 0};  // a longer tip
  const Recordings seen = record(rig, truth, 0.1);
  const auto result = fit_instrument(rig, 0, seen.pivot, {});
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_TRUE(result->good()) << result->failures[0];
  EXPECT_EQ(result->model.hinge_p_T, rig.instruments[0].hinge_p_T);
  for (std::size_t m = 0; m < 3; ++m) EXPECT_LT(norm(result->model.markers[m].p_TM - truth.markers[m].p_TM), 0.25) << m;
}

TEST(InstrumentCalibration, RefusesAMotionThatDoesNotTell) {
  const Rig rig = drivers::standard_rig();
  const InstrumentModel truth = glued(rig.instruments[0]);
  const Recordings still = record(rig, truth, 0.1, 0.1);
  const auto small = fit_instrument(rig, 0, still.pivot, still.opening);
  ASSERT_TRUE(small) << small.error().message;
  ASSERT_FALSE(small->good());
  EXPECT_NE(small->failures[0].find("turn it further"), std::string::npos) << small->failures[0];

  const Recordings shut = record(rig, truth, 0.1, 1, 1);
  const auto closed = fit_instrument(rig, 0, shut.pivot, shut.opening);
  ASSERT_TRUE(closed) << closed.error().message;
  EXPECT_FALSE(closed->good());

  Recordings sliding = record(rig, truth, 0.1);
  {  // the tip leaves the divot
    std::mt19937_64 random(9);
    for (int i = 0; i < 150; ++i)
      sliding.pivot[static_cast<std::size_t>(i)] =
          see_forceps(rig, truth,
                      {held(35 + 20 * std::sin(0.2 * i), 90 + 30 * std::sin(0.37 * i), 0),
                       {5 + 4 * std::sin(0.05 * i), -3, 41 + 3 * std::cos(0.11 * i)}},
                      0, 0.1, random);
  }
  const auto slid = fit_instrument(rig, 0, sliding.pivot, sliding.opening);
  ASSERT_TRUE(slid) << slid.error().message;
  EXPECT_FALSE(slid->good());

  EXPECT_FALSE(fit_instrument(rig, 0, {}, {}));
  EXPECT_FALSE(fit_instrument(rig, 1, still.pivot, {})) << "the right one's markers were never seen";
  EXPECT_FALSE(fit_instrument(rig, 2, still.pivot, {}));
}

std::vector<MarkerFrame> bar_frames(const Rig& rig, double bar_mm, double sigma_px, int n = 60) {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> any(-1, 1);
  std::vector<MarkerFrame> out;
  for (int i = 0; i < n; ++i) {
    const Pose X{axis_angle({0, 0, 1}, M_PI * any(random)) * axis_angle({0, 1, 0}, 0.4 * any(random)),
                 {20 * any(random), 15 * any(random), 60 + 20 * any(random)}};
    MarkerFrame frame;
    see_ball(rig, X * Vec3{0.5 * bar_mm, 0, 0}, 5, sigma_px, random, frame.markers[0]);
    see_ball(rig, X * Vec3{-0.5 * bar_mm, 0, 0}, 5, sigma_px, random, frame.markers[3]);
    out.push_back(frame);
  }
  return out;
}

TEST(DailyCheck, PassesAGoodRigAndNamesTheCameraThatMoved) {
  const Rig rig = drivers::standard_rig();
  const BarCheck good = check_bar(rig, bar_frames(rig, 80, 0.1), 0, 3, 80, 5);
  EXPECT_EQ(good.verdict, Verdict::pass) << (good.reasons.empty() ? "" : good.reasons[0]);
  EXPECT_LT(std::abs(good.error_mm), 4 * good.sigma_mm + 1e-3);
  EXPECT_LT(std::abs(good.error_mm), 0.03);

  Rig knocked = rig;  // what the file says of C2 is no longer so
  knocked.cameras[2].X_RC.q = knocked.cameras[2].X_RC.q * axis_angle({0, 1, 0}, 0.4 * M_PI / 180);
  const BarCheck moved = check_bar(knocked, bar_frames(rig, 80, 0.1), 0, 3, 80, 5);
  EXPECT_EQ(moved.verdict, Verdict::fail);
  ASSERT_FALSE(moved.reasons.empty());
  EXPECT_NE(moved.reasons[0].find("C2"), std::string::npos) << moved.reasons[0];

  Rig larger = rig;  // calibrated with a board whose squares are 0.3 % smaller than was said
  for (auto& c : larger.cameras) c.X_RC.p = 1.003 * c.X_RC.p;
  const BarCheck scaled = check_bar(larger, bar_frames(rig, 80, 0.1), 0, 3, 80, 5);
  EXPECT_EQ(scaled.verdict, Verdict::alert) << scaled.error_mm;
  EXPECT_NEAR(scaled.error_mm, 0.24, 0.03);
}

TEST(DailyCheck, FailsWithoutTheBarAndIgnoresAWrongBlob) {
  const Rig rig = drivers::standard_rig();
  EXPECT_EQ(check_bar(rig, {}, 0, 3, 80, 5).verdict, Verdict::fail);
  EXPECT_EQ(check_bar(rig, std::vector<MarkerFrame>(50), 0, 3, 80, 5).verdict, Verdict::fail);
  EXPECT_EQ(check_bar(rig, bar_frames(rig, 80, 0.1, 10), 0, 3, 80, 5).verdict, Verdict::fail);
  auto frames = bar_frames(rig, 80, 0.1);
  for (std::size_t i = 0; i < 6; ++i)
    for (auto& s : frames[10 * i].markers[0]) s.u_px += 40;
  const BarCheck check = check_bar(rig, frames, 0, 3, 80, 5);
  EXPECT_EQ(check.verdict, Verdict::pass) << (check.reasons.empty() ? "" : check.reasons[0]);
  EXPECT_LT(check.placed, 60U);
}

}  // namespace
}  // namespace ligature::calibration::test
