#include "config/rig_file.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

using drivers::Rig;
using test::kSourceDir;
using test::slurp;
using test::TempDir;
using test::with;

void expect_same(const Rig& a, const Rig& b) {
  EXPECT_EQ(a.created, b.created);
  EXPECT_EQ(a.box_mm, b.box_mm);
  EXPECT_EQ(a.X_RW.q, b.X_RW.q);
  EXPECT_EQ(a.X_RW.p, b.X_RW.p);
  EXPECT_EQ(a.motion_scale, b.motion_scale);
  ASSERT_EQ(a.cameras.size(), b.cameras.size());
  for (std::size_t i = 0; i < a.cameras.size(); ++i) {
    const auto &c = a.cameras[i], &d = b.cameras[i];
    EXPECT_EQ(c.name, d.name);
    EXPECT_EQ(c.serial, d.serial);
    EXPECT_EQ(c.width_px, d.width_px);
    EXPECT_EQ(c.height_px, d.height_px);
    EXPECT_EQ(c.fx_px, d.fx_px);
    EXPECT_EQ(c.fy_px, d.fy_px);
    EXPECT_EQ(c.cx_px, d.cx_px);
    EXPECT_EQ(c.cy_px, d.cy_px);
    EXPECT_EQ(c.distortion, d.distortion);
    EXPECT_EQ(c.X_RC.q, d.X_RC.q);
    EXPECT_EQ(c.X_RC.p, d.X_RC.p);
    EXPECT_EQ(c.reprojection_rms_px, d.reprojection_rms_px);
  }
  ASSERT_EQ(a.instruments.size(), b.instruments.size());
  for (std::size_t i = 0; i < a.instruments.size(); ++i) {
    const auto &m = a.instruments[i], &n = b.instruments[i];
    EXPECT_EQ(m.name, n.name);
    EXPECT_EQ(m.hinge_p_T, n.hinge_p_T);
    ASSERT_EQ(m.markers.size(), n.markers.size());
    for (std::size_t k = 0; k < m.markers.size(); ++k) {
      EXPECT_EQ(m.markers[k].name, n.markers[k].name);
      EXPECT_EQ(m.markers[k].colour_hue_deg, n.markers[k].colour_hue_deg);
      EXPECT_EQ(m.markers[k].diameter_mm, n.markers[k].diameter_mm);
      EXPECT_EQ(m.markers[k].p_TM, n.markers[k].p_TM);
      EXPECT_EQ(m.markers[k].arm, n.markers[k].arm);
    }
  }
}

TEST(RigFile, TheShippedStandardRigIsTheOneInTheCode) {
  const auto rig = load_rig(kSourceDir / "config/rigs/standard.toml");
  ASSERT_TRUE(rig) << rig.error().message;
  expect_same(*rig, drivers::standard_rig());
}

TEST(RigFile, TheDemoRigDiffersFromTheStandardOneInItsLensesOnly) {
  auto rig = load_rig(kSourceDir / "config/rigs/demo.toml");
  ASSERT_TRUE(rig) << rig.error().message;
  const Rig standard = drivers::standard_rig();
  for (std::size_t i = 0; i < kCameras; ++i) {
    auto& c = rig->cameras[i];
    const auto& s = standard.cameras[i];
    EXPECT_EQ(c.distortion, (std::array<double, 5>{-0.12, 0.03, 0.0005, -0.0003, 0.0}));
    c.fx_px = s.fx_px, c.fy_px = s.fy_px, c.cx_px = s.cx_px, c.cy_px = s.cy_px, c.distortion = s.distortion;
  }
  expect_same(*rig, standard);
}

TEST(RigFile, SavingAndLoadingBringsBackTheSameBits) {
  const TempDir dir;
  Rig rig = drivers::standard_rig();
  rig.created = "2027-01-02T03:04:05Z";
  rig.motion_scale = 1.0 / 3.0;
  rig.X_RW = {normalized({0.1, -0.2, 0.3, 0.9}), {0.1, 1e-17, -1.0 / 7.0}};
  rig.cameras[2].serial = "a \"quoted\\ serial\"";
  rig.cameras[1].fx_px = std::nextafter(601.7, 1000.0);
  rig.cameras[1].distortion = {-0.1234567890123456, 0.03, 1e-9, -3e-4, 0.1 + 0.2};
  rig.cameras[3].X_RC.q = normalized({0.3, 0.1, 0.2, 0.9});
  rig.cameras[0].reprojection_rms_px = 0.08;
  const auto saved = save_rig(dir / "rig.toml", rig);
  ASSERT_TRUE(saved) << saved.error().message;
  const auto back = load_rig(dir / "rig.toml");
  ASSERT_TRUE(back) << back.error().message;
  expect_same(*back, rig);
}

TEST(RigFile, ARigThatWouldNotLoadIsNotWritten) {
  const TempDir dir;
  dir.write("rig.toml", "old");
  Rig rig = drivers::standard_rig();
  rig.cameras[1].fx_px = std::nan("");
  EXPECT_FALSE(save_rig(dir / "rig.toml", rig));
  rig = drivers::standard_rig();
  rig.cameras.pop_back();
  EXPECT_FALSE(save_rig(dir / "rig.toml", rig));
  rig = drivers::standard_rig();
  rig.cameras[0].serial = "two\nlines";
  EXPECT_FALSE(save_rig(dir / "rig.toml", rig));
  EXPECT_EQ(slurp(dir / "rig.toml"), "old");
}

TEST(RigFile, TheOrderOfTablesDoesNotMatter) {
  std::string text = slurp(kSourceDir / "config/rigs/standard.toml");
  text = with(text, "name = \"C0\"", "name = \"C9\"");
  text = with(text, "name = \"C3\"", "name = \"C0\"");
  text = with(text, "name = \"C9\"", "name = \"C3\"");
  const auto rig = parse_rig(text, "f.toml");
  ASSERT_TRUE(rig) << rig.error().message;
  EXPECT_EQ(rig->cameras[0].name, "C0");
  EXPECT_EQ(rig->cameras[0].X_RC.p, drivers::standard_rig().cameras[3].X_RC.p);
}

TEST(RigFile, EveryMistakeIsNamedWithItsKey) {
  const std::string good = slurp(kSourceDir / "config/rigs/standard.toml");
  struct Case {
    const char *from, *to, *says;
  };
  const std::vector<Case> cases{
      {"fx_px = 600.0", "fx_px = 0", "key 'camera.fx_px' is 0, must be above 0"},
      {"fy_px = 600.0", "fy_px = -600.0", "key 'camera.fy_px' is -600"},
      {"fx_px = 600.0", "fx_px = nan", "key 'camera.fx_px' is nan"},
      {"fx_px = 600.0\n", "", "key 'camera.fx_px' is missing"},
      {"fx_px = 600.0", "fx = 600.0", "key 'camera.fx_px' is missing"},
      {"size_px = [640, 480]", "size_px = [640, 15]", "key 'camera.size_px[1]' is 15, must be 16..8192"},
      {"size_px = [640, 480]", "size_px = [8193, 480]", "key 'camera.size_px[0]' is 8193, must be 16..8192"},
      {"size_px = [640, 480]", "size_px = [640.5, 480]", "key 'camera.size_px' is not whole"},
      {"size_px = [640, 480]", "size_px = 640", "key 'camera.size_px' is 640, must be an array of 2"},
      {"cx_px = 319.5", "cx_px = 9000.0", "key 'camera.cx_px' is 9000"},
      {"distortion = [0.0,", "distortion = [-3.0,", "key 'camera.distortion' is folding"},
      {"distortion = [0.0, 0.0,", "distortion = [0.0,", "key 'camera.distortion' is an array of 4"},
      {"q_RC = [0.8", "q_RC = [0.7", "key 'camera.q_RC' is of norm"},
      {"p_RC_mm = [200.0, -150.0, 300.0]", "p_RC_mm = [-200.0, -150.0, 300.0]",
       "key 'camera.p_RC_mm' is the place of camera C0"},
      {"name = \"C2\"", "name = \"C1\"", "key 'camera.name' is 'C1', must be C0 | C1 | C2 | C3, each once"},
      {"name = \"C2\"", "name = \"C4\"", "key 'camera.name' is 'C4', must be C0 | C1 | C2 | C3"},
      {"name = \"right\"", "name = \"left\"", "key 'instrument.name' is 'left', must be left | right, each once"},
      {"name = \"right\"", "name = \"middle\"", "key 'instrument.name' is 'middle'"},
      {"hinge_p_T_mm = [-120.0", "hinge_p_T_mm = [120.0", "key 'instrument.hinge_p_T_mm' is at x = 120"},
      {"colour_hue_deg = 60.0", "colour_hue_deg = 19.0",
       "key 'instrument.marker.colour_hue_deg' is 19, must be at least 20 degrees from that of left.tail"},
      {"colour_hue_deg = 180.0", "colour_hue_deg = 350.0",
       "key 'instrument.marker.colour_hue_deg' is 350, must be at least 20 degrees from that of left.tail"},
      {"colour_hue_deg = 60.0", "colour_hue_deg = 360.0", "key 'instrument.marker.colour_hue_deg' is 360"},
      {"diameter_mm = 5.0", "diameter_mm = 0", "key 'instrument.marker.diameter_mm' is 0"},
      {"p_TM_mm = [-25.0, 6.0, 0.0]", "p_TM_mm = [-25.0, -5.0, 0.0]",
       "key 'instrument.marker.p_TM_mm' is inside marker 'plus'"},
      {"p_TM_mm = [-110.0, 0.0, 8.0]", "p_TM_mm = [-25.0, 20.0, 0.0]", "key 'instrument.marker' is three on one line"},
      {"arm = \"plus\"", "arm = \"both\"", "key 'instrument.marker.arm' is 'both', must be none | plus | minus"},
      {"arm = \"plus\"", "arm = \"none\"", "key 'instrument.marker' is without one marker on each arm"},
      {"motion_scale = 1.0", "motion_scale = 0.0", "key 'world.motion_scale' is 0"},
      {"motion_scale", "motion_scal",
       "key 'world.motion_scal' is unknown, must be a key of [world]: did you mean "
       "'motion_scale'?"},
      {"box_mm = [400.0", "box_mm = [-400.0", "key 'rig.box_mm[0]' is -400"},
  };
  for (const Case& c : cases) {
    const auto rig = parse_rig(with(good, c.from, c.to), "f.toml");
    ASSERT_FALSE(rig) << c.to;
    const std::string& line = rig.error().message;
    EXPECT_EQ(rig.error().kind, Error::Kind::usage);
    EXPECT_NE(line.find(c.says), std::string::npos) << line << "\nfor " << c.to;
    EXPECT_EQ(line.substr(0, 7), "f.toml:") << line;
    EXPECT_EQ(line.find('\n'), std::string::npos);
  }
}

TEST(RigFile, ThreeOrFiveCamerasAreRefused) {
  const std::string good = slurp(kSourceDir / "config/rigs/standard.toml");
  const auto last = good.rfind("[[camera]]"), end = good.find("[[instrument]]");
  const std::string camera = good.substr(last, end - last);
  const auto three = parse_rig(good.substr(0, last) + good.substr(end), "f.toml");
  ASSERT_FALSE(three);
  EXPECT_NE(three.error().message.find("key 'camera' is an array of 3, must be 4 tables [[camera]]"), std::string::npos)
      << three.error().message;
  const auto five = parse_rig(good.substr(0, end) + camera + good.substr(end), "f.toml");
  ASSERT_FALSE(five);
  EXPECT_NE(five.error().message.find("key 'camera' is given 5 times"), std::string::npos) << five.error().message;
}

}  // namespace
}  // namespace ligature::config
