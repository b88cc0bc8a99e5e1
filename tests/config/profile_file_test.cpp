#include "config/profile_file.hpp"

#include <gtest/gtest.h>

#include <cstdlib>

#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "tests/config/temp_dir.hpp"

namespace ligature::config {
namespace {

namespace fs = std::filesystem;
using test::kSourceDir;
using test::slurp;
using test::TempDir;
using test::with;

/// The shipped files in a folder of their own, with a place for the demo recording.
struct Shipped {
  TempDir dir;
  Shipped() {
    fs::create_directories(dir / "config");
    for (const char* folder : {"profiles", "rigs", "scenarios"})
      fs::copy(kSourceDir / "config" / folder, dir / "config" / folder, fs::copy_options::recursive);
    fs::create_directories(dir / "deploy/demo");
    for (const char* hand : {"left.csv", "right.csv"})
      fs::copy(kSourceDir / "deploy/demo" / hand, dir / "deploy/demo" / hand);
  }
};

TEST(ProfileFile, AllShippedProfilesLoadWithTheirRigsAndScenes) {
  const Shipped shipped;
  int count = 0;
  for (const auto& entry : fs::directory_iterator(shipped.dir / "config/profiles")) {
    const auto profile = load_profile(entry.path());
    ASSERT_TRUE(profile) << profile.error().message;
    const auto rig = load_rig(profile->rig);
    EXPECT_TRUE(rig) << rig.error().message;
    const auto scenario = load_scenario(profile->scenario);
    EXPECT_TRUE(scenario) << scenario.error().message;
    ++count;
  }
  EXPECT_GE(count, 3);
}

TEST(ProfileFile, TheDemoProfileSaysWhatItSays) {
  const Shipped shipped;
  const auto p = load_profile(shipped.dir / "config/profiles/demo.toml");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->pace, Pace::lockstep);
  EXPECT_EQ(p->cameras.source, CameraSettings::Source::recorded);
  EXPECT_TRUE(fs::equivalent(p->cameras.directory, shipped.dir / "deploy/demo"));
  EXPECT_TRUE(fs::equivalent(p->rig, shipped.dir / "config/rigs/demo.toml"));
  EXPECT_EQ(p->render.presenter, RenderSettings::Presenter::offscreen);
  EXPECT_EQ(p->render.params.eye_width_px, 640);
  EXPECT_TRUE(p->output.video);
  EXPECT_FALSE(p->memory.lock);
  EXPECT_EQ(p->physics_thread.core, -1);
  EXPECT_EQ(p->physics.step_ms.value_or(0), 5.0);
}

TEST(ProfileFile, TheApplianceProfileAsksForRealTime) {
  const Shipped shipped;
  const auto p = load_profile(shipped.dir / "config/profiles/appliance.toml");
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->pace, Pace::realtime);
  EXPECT_EQ(p->render.presenter, RenderSettings::Presenter::window);
  EXPECT_TRUE(p->memory.lock);
  for (const auto& t : p->camera_threads) EXPECT_EQ(t.policy, ThreadSettings::Policy::fifo);
  EXPECT_EQ(p->physics_thread.core, 1);
  EXPECT_GT(p->physics_thread.priority, p->tracking_thread.priority);
  EXPECT_GT(p->tracking_thread.priority, p->render_thread.priority);
  EXPECT_EQ(p->service_thread.policy, ThreadSettings::Policy::other);
}

TEST(ProfileFile, HandsThatLookNeedCamerasThatAreFastEnough) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/anastomosis.toml";
  const std::string good = slurp(file);
  const auto p = parse_profile(good, file);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_FALSE(p->virtual_rig.aims_left.empty());
  EXPECT_FALSE(p->virtual_rig.aims_right.empty());
  EXPECT_EQ(p->virtual_rig.blend, drivers::PathBlend::linear);
  const auto at = [&](const char* rate) {
    std::string text = good;
    return parse_profile(text.replace(text.find("rate_hz = 60.0"), 14, rate), file);
  };
  EXPECT_TRUE(at("rate_hz = 40"));
  const auto slow = at("rate_hz = 39");
  ASSERT_FALSE(slow);
  EXPECT_NE(slow.error().message.find("key 'virtual.aims_left'"), std::string::npos) << slow.error().message;
}

TEST(ProfileFile, FaultsAreRead) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/virtual.toml";
  const auto p = parse_profile(slurp(file) +
                                   "\n[[fault]]\nkind = \"camera_dead\"\ncamera = 3\nfrom_s = 1.0\nuntil_s = 2.0\n"
                                   "[[fault]]\nkind = \"frame_late\"\ncamera = 0\nprobability = 0.1\ndelay_ms = 20\n"
                                   "[[fault]]\nkind = \"non_finite\"\nfrom_s = 3\n",
                               file);
  ASSERT_TRUE(p) << p.error().message;
  ASSERT_EQ(p->faults.size(), 3u);
  EXPECT_EQ(p->faults[0].kind, FaultSettings::Kind::camera_dead);
  EXPECT_EQ(p->faults[0].camera, 3);
  EXPECT_EQ(p->faults[0].until_s, 2.0);
  EXPECT_EQ(p->faults[1].probability, 0.1);
  EXPECT_EQ(p->faults[1].delay_ms, 20);
  EXPECT_GT(p->faults[2].until_s, 1e9);
  EXPECT_EQ(p->faults[2].camera, -1);
}

TEST(ProfileFile, EveryMistakeIsNamedWithItsKey) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/virtual.toml";
  const std::string good = slurp(file);
  struct Case {
    const char *from, *to, *says;
  };
  const std::vector<Case> cases{
      {"pace            = \"realtime\"", "pace = \"fast\"", "key 'pace' is 'fast', must be lockstep | realtime"},
      {"pace ", "pase ", "key 'pase' is unknown, must be a key of this file: did you mean 'pace'?"},
      {"sample_delay_ms = 8.0", "sample_delay_ms = 201", "key 'sample_delay_ms' is 201, must be 0..200"},
      {"duration_s      = 20.0", "duration_s = nan", "key 'duration_s' is nan"},
      {"duration_s      = 20.0", "duration_s = \"20\"", "key 'duration_s' is '20', must be a number"},
      {"\"../rigs/demo.toml\"", "\"../rigs/none.toml\"", "key 'rig' is '../rigs/none.toml', must be an existing file"},
      {"\"../rigs/demo.toml\"", "\"../rigs\"", "key 'rig' is '../rigs', must be an existing file"},
      {"rig             = \"../rigs/demo.toml\"", "", "key 'rig' is missing"},
      {"scenario        = \"../scenarios/bench_grasp.toml\"", "scenario = 5",
       "key 'scenario' is 5, must be an existing"},
      {"source  = \"virtual\"", "source = \"recorded\"", "key 'cameras.directory' is missing"},
      {"source  = \"virtual\"", "source = \"recorded\"\ndirectory = \"none\"",
       "key 'cameras.directory' is 'none', must be an existing directory"},
      {"source  = \"virtual\"", "source = \"virtual\"\ndirectory = \".\"",
       "key 'cameras.directory' is '.', must be left out"},
      {"source  = \"virtual\"", "source = \"v4l\"", "key 'cameras.source' is 'v4l', must be recorded | virtual | v4l2"},
      {"rate_hz = 60.0", "rate_hz = 60.0\nexposure_ms = 4",
       "key 'cameras.exposure_ms' is 4, must be left out: only source"},
      {"rate_hz = 60.0", "rate_hz = 60.0\n[[cameras.device]]\nname = \"C0\"",
       "key 'cameras.device.name' is 'C0', must be left out"},
      {"[cameras]", "[camera]", "key 'cameras' is missing"},
      {"rate_hz = 60.0", "rate_hz = 0", "key 'cameras.rate_hz' is 0, must be 1..1000"},
      {"noise       = 0.02", "noise = 2", "key 'virtual.noise' is 2, must be 0..0.5"},
      {"exposure_ms = 4.0", "exposure_ms = 50.0", "key 'virtual.exposure_ms' is 50, must be at most the frame period"},
      {"seed        = 1", "seed = -1", "key 'virtual.seed' is -1"},
      {"seed        = 1", "path_lef = \"l.csv\"", "key 'virtual.path_lef' is unknown"},
      {"prediction_ms = 150.0", "prediction_ms = -1", "key 'tracking.prediction_ms' is -1"},
      {"prediction_ms = 150.0", "max_lead_ms = 21", "key 'tracking.max_lead_ms' is 21, must be 0..20"},
      {"prediction_ms = 150.0", "filter = 1", "key 'tracking.filter'"},
      {"../../deploy/demo/left.csv", "l.csv", "key 'virtual.path_left' is 'l.csv', must be an existing file"},
      {"../../deploy/demo/left.csv", "virtual.toml", "key 'virtual.path_left' is not a path"},
      {"seed        = 1", "aims_left = \"virtual.toml\"", "key 'virtual.aims_left' is not aims"},
      {"seed        = 1", "blend = \"straight\"", "key 'virtual.blend' is 'straight', must be minimum_jerk | linear"},
      {"path_right  = \"../../deploy/demo/right.csv\"\n", "", "key 'virtual.path_right' is missing"},
      {"step_ms = 5.0", "step_ms = 0", "key 'physics.step_ms' is 0, must be 0.01..100"},
      {"presenter     = \"offscreen\"", "presenter = \"screen\"", "key 'render.presenter' is 'screen'"},
      {"samples       = 1", "samples = 3", "key 'render.samples' is 3, must be 1 | 2 | 4 | 8 | 16"},
      {"samples       = 1", "samples = 4.0", "key 'render.samples' is 4.0, must be a whole number"},
      {"eye_width_px  = 640", "eye_width_px = 8193",
       "key 'render.eye_width_px' is 8193, must be a whole number 16..8192"},
      {"device        = \"auto\"", "device = \"cuda\"", "key 'render.device' is 'cuda', must be auto | cpu | gpu"},
      {"elevation_deg     = 50.0", "elevation_deg = 0", "key 'microscope.elevation_deg' is 0, must be 1..90"},
      {"lock = true", "lock = \"yes\"", "key 'memory.lock' is 'yes', must be true or false"},
      {"[2.0, 4.2, 5.8, 7.2, 11.5]", "[2.0, 1.0]", "key 'output.picture_times_s' is an array of 2, must be in growing"},
      {"[2.0, 4.2, 5.8, 7.2, 11.5]", "[-2.0]", "key 'output.picture_times_s[0]' is -2, must be 0..1e+06"},
      {"name     = \"tracking\"", "name = \"physics\"", "key 'thread.name' is 'physics', must be another thread"},
      {"name     = \"tracking\"", "name = \"trackign\"", "did you mean 'tracking'?"},
      {"[output]", "[output]\nkeep_sessions = 0", "key 'output.keep_sessions' is 0, must be a whole number 1..100000"},
      {"[output]", "[output]\nkeep_gb = -1", "key 'output.keep_gb' is -1, must be 0..1e+06"},
      {"policy   = \"fifo\"", "policy = \"rr\"", "key 'thread.policy' is 'rr', must be other | fifo"},
      {"priority = 80", "priority = 99", "key 'thread.priority' is 99, must be a whole number 1..98"},
      {"priority = 80\n", "", "key 'thread.priority' is missing, must be a whole number 1..98"},
      {"core     = 1", "core = 256", "key 'thread.core' is 256, must be a whole number -1..255"},
      {"[memory]", "[[thread]]\nname = \"service\"\npolicy = \"other\"\npriority = 5\n[memory]",
       "key 'thread.priority' is 5, must be left out"},
      {"[memory]", "[[fault]]\nkind = \"camera_dead\"\n[memory]", "key 'fault.camera' is missing"},
      {"[memory]", "[[fault]]\nkind = \"camera_dead\"\ncamera = 4\n[memory]",
       "key 'fault.camera' is 4, must be a whole number 0..3"},
      {"[memory]", "[[fault]]\nkind = \"blob\"\nfrom_s = 2\nuntil_s = 2\n[memory]",
       "key 'fault.until_s' is 2, must be above 2"},
      {"[memory]", "[[fault]]\nkind = \"non_finite\"\ncamera = 1\n[memory]",
       "key 'fault.camera' is 1, must be left out"},
      {"[memory]", "[[fault]]\nkind = \"frame_late\"\ncamera = 1\n[memory]", "key 'fault.delay_ms' is missing"},
      {"[memory]", "[[fault]]\nkind = \"frame_drop\"\ncamera = 1\nprobability = 1.1\n[memory]",
       "key 'fault.probability' is 1.1, must be 0..1"},
      {"[memory]", "[[fault]]\nkind = \"non_finite\"\nhue_deg = 1\n[memory]",
       "key 'fault.hue_deg' is 1, must be left out"},
      {"[memory]", "[[fault]]\nkind = \"blob\"\nhue_deg = 360\n[memory]", "key 'fault.hue_deg' is 360"},
      {"[memory]", "[vessel]\ngap_mm = 100\n[memory]", "key 'vessel.gap_mm' is 100, must be shorter than the vessel"},
  };
  for (const Case& c : cases) {
    const auto p = parse_profile(with(good, c.from, c.to), file);
    ASSERT_FALSE(p) << c.to;
    const std::string& line = p.error().message;
    EXPECT_EQ(p.error().kind, Error::Kind::usage);
    EXPECT_NE(line.find(c.says), std::string::npos) << line << "\nfor " << c.to;
    EXPECT_EQ(line.substr(0, file.string().size() + 1), file.string() + ":");
  }
}

TEST(ProfileFile, TheRigProfileNamesADeviceForEachCamera) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/rig.toml";
  const auto p = load_profile(file);
  ASSERT_TRUE(p) << p.error().message;
  EXPECT_EQ(p->cameras.source, CameraSettings::Source::v4l2);
  EXPECT_EQ(p->cameras.max_skew_ms, 4.0);
  for (const DeviceSettings& d : p->cameras.devices) {
    EXPECT_FALSE(d.path.empty());
    EXPECT_EQ(d.format, drivers::PixelFormat::mjpeg);
    EXPECT_EQ(d.exposure_ms, 4.0);
    EXPECT_EQ(d.gain, 32);
    EXPECT_EQ(d.white_balance_k, 4600);
    EXPECT_FALSE(d.red_balance);
    EXPECT_EQ(d.stamp, drivers::StampAt::device);
  }
}

TEST(ProfileFile, ADevicesOwnKeysWinOverThoseForAll) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/rig.toml";
  const auto p = parse_profile(
      with(slurp(file), "path = \"2-1\"",
           "serial = \"S2\"\nformat = \"bayer_gbrg\"\nexposure_ms = 2.5\ngain = 7\nred_balance = -20\nreadout_ms = 8\n"
           "stamp = \"exposure_end\"\nshutter = \"rolling\"\nbuffers = 3"),
      file);
  ASSERT_TRUE(p) << p.error().message;
  const DeviceSettings& d = p->cameras.devices[2];
  EXPECT_EQ(d.serial, "S2");
  EXPECT_EQ(d.path, "");
  EXPECT_EQ(d.format, drivers::PixelFormat::bayer_gbrg);
  EXPECT_EQ(d.exposure_ms, 2.5);
  EXPECT_EQ(d.gain, 7);
  EXPECT_EQ(d.white_balance_k, 4600);
  EXPECT_EQ(d.red_balance, -20);
  EXPECT_EQ(d.readout_ms, 8);
  EXPECT_EQ(d.stamp, drivers::StampAt::exposure_end);
  EXPECT_EQ(d.shutter, drivers::Shutter::rolling);
  EXPECT_EQ(d.buffers, 3);
  EXPECT_EQ(p->cameras.devices[1].exposure_ms, 4.0);
}

TEST(ProfileFile, EveryMistakeAboutDevicesIsNamedWithItsKey) {
  const Shipped shipped;
  const auto file = shipped.dir / "config/profiles/rig.toml";
  const std::string good = slurp(file);
  struct Case {
    const char *from, *to, *says;
  };
  for (const Case& c : std::vector<Case>{
           {"pace            = \"realtime\"", "pace = \"lockstep\"", "key 'pace' is 'lockstep', must be realtime with"},
           {"format          = \"mjpeg\"", "format = \"h264\"",
            "key 'cameras.format' is 'h264', must be mjpeg | yuyv | grey"},
           {"exposure_ms     = 4.0", "exposure_ms = 20.0",
            "key 'cameras.exposure_ms' is 20, must be at most the frame period"},
           {"exposure_ms     = 4.0", "exposure_ms = 0.0", "key 'cameras.exposure_ms' is 0, must be 0.1..1000"},
           {"gain            = 32", "gain = -1", "key 'cameras.gain' is -1, must be a whole number 0..1000000"},
           {"gain            = 32", "gain = 1.5", "key 'cameras.gain' is 1.5, must be a whole number"},
           {"white_balance_k = 4600", "white_balance_k = 50", "key 'cameras.white_balance_k' is 50"},
           {"max_skew_ms     = 4.0", "max_skew_ms = -1", "key 'cameras.max_skew_ms' is -1, must be 0..1000"},
           {"max_skew_ms     = 4.0", "buffers = 9", "key 'cameras.buffers' is 9, must be a whole number 2..8"},
           {"max_skew_ms     = 4.0", "stamp = \"middle\"",
            "key 'cameras.stamp' is 'middle', must be device | exposure_start"},
           {"max_skew_ms     = 4.0", "serial = \"A\"", "key 'cameras.serial' is unknown"},
           {"name = \"C1\"", "name = \"C4\"", "key 'cameras.device.name' is 'C4', must be C0 | C1 | C2 | C3"},
           {"name = \"C1\"", "name = \"C0\"", "key 'cameras.device.name' is 'C0', must be another camera"},
           {"path = \"1-2\"", "path = \"1-1\"", "key 'cameras.device.path' is '1-1', must be another device than C0's"},
           {"path = \"1-2\"", "path = \"/dev/video2\"",
            "key 'cameras.device.path' is '/dev/video2', must be a USB port"},
           {"path = \"1-2\"", "", "key 'cameras.device.serial' is missing, must be given, or path"},
           {"path = \"1-2\"", "path = \"1-2\"\nformt = \"grey\"", "key 'cameras.device.formt' is unknown"}}) {
    const auto p = parse_profile(with(good, c.from, c.to), file);
    ASSERT_FALSE(p) << c.to;
    EXPECT_NE(p.error().message.find(c.says), std::string::npos) << p.error().message << "\nfor " << c.to;
  }
}

TEST(ProfileLookup, NamesPathsAndTheEnvironmentLeadToProfiles) {
  const Shipped a, b;
  ::unsetenv("LIGATURE_DATA");
  const std::vector<fs::path> dirs{a.dir / "nowhere", a.dir.path()};
  const auto by_name = resolve_profile("demo", dirs);
  ASSERT_TRUE(by_name) << by_name.error().message;
  EXPECT_EQ(*by_name, a.dir / "config/profiles/demo.toml");
  const auto by_path = resolve_profile((b.dir / "config/profiles/virtual.toml").string(), dirs);
  ASSERT_TRUE(by_path);
  EXPECT_EQ(*by_path, b.dir / "config/profiles/virtual.toml");
  ::setenv("LIGATURE_DATA", b.dir.path().c_str(), 1);
  const auto by_env = resolve_profile("demo", dirs);
  ::unsetenv("LIGATURE_DATA");
  ASSERT_TRUE(by_env);
  EXPECT_EQ(*by_env, b.dir / "config/profiles/demo.toml");
}

TEST(ProfileLookup, AWrongNameListsTheKnownOnes) {
  const Shipped a;
  ::unsetenv("LIGATURE_DATA");
  for (const std::string name : {"dmeo", "", "../profiles/demo", "none/x.toml", "demo/", "a\nb"}) {
    const auto wrong = resolve_profile(name, {a.dir.path()});
    ASSERT_FALSE(wrong) << name;
    EXPECT_EQ(wrong.error().kind, Error::Kind::usage);
    EXPECT_NE(wrong.error().message.find("appliance | demo | rig | virtual"), std::string::npos)
        << wrong.error().message;
    EXPECT_EQ(wrong.error().message.find('\n'), std::string::npos);
  }
  EXPECT_NE(resolve_profile("demo", {}).error().message.find("set LIGATURE_DATA"), std::string::npos);
}

}  // namespace
}  // namespace ligature::config
