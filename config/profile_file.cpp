#include "config/profile_file.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>

#include "config/document.hpp"

namespace ligature::config {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxFaults = 64;
constexpr std::size_t kMostNext = 15;  // exercises after the first
constexpr std::size_t kMaxPictures = 256;
constexpr double kMaxTimeS = 1e6;
/// No camera runs ahead of physics by so many: what a hand does comes after what its eye has seen.
constexpr double kFramesOfReaction = 6;

/// Keys of one camera, on top of those for all.
DeviceSettings read_device(Table& t, DeviceSettings d, double period_ms) {
  using drivers::PixelFormat;
  using drivers::Shutter;
  using drivers::StampAt;
  d.format = t.get_choice("format", d.format,
                          {{"mjpeg", PixelFormat::mjpeg},
                           {"yuyv", PixelFormat::yuyv},
                           {"grey", PixelFormat::grey},
                           {"bayer_rggb", PixelFormat::bayer_rggb},
                           {"bayer_grbg", PixelFormat::bayer_grbg},
                           {"bayer_gbrg", PixelFormat::bayer_gbrg},
                           {"bayer_bggr", PixelFormat::bayer_bggr}});
  d.exposure_ms = t.get_number("exposure_ms", d.exposure_ms, between(0.1, 1000));
  if (d.exposure_ms > period_ms)
    t.reject("exposure_ms", "at most the frame period of " + std::to_string(period_ms) + " ms",
             "shorten it or lower cameras.rate_hz");
  const auto whole = [&t](std::string_view key, std::optional<int>& value, int low, int high, std::string_view remedy) {
    if (t.has(key)) value = static_cast<int>(t.need_integer(key, low, high, remedy));
  };
  constexpr int kMost = 1'000'000;
  whole("gain", d.gain, 0, kMost, "the device's own units: `ligature doctor --cameras` lists its range");
  whole("white_balance_k", d.white_balance_k, 1000, 20000, "a colour temperature");
  whole("red_balance", d.red_balance, -kMost, kMost, "the device's own units");
  whole("blue_balance", d.blue_balance, -kMost, kMost, "the device's own units");
  d.readout_ms = t.get_number("readout_ms", d.readout_ms, between(0, 1000));
  d.stamp = t.get_choice("stamp", d.stamp,
                         {{"device", StampAt::device},
                          {"exposure_start", StampAt::exposure_start},
                          {"exposure_end", StampAt::exposure_end},
                          {"frame_end", StampAt::frame_end}});
  d.shutter = t.get_choice("shutter", d.shutter, {{"global", Shutter::global}, {"rolling", Shutter::rolling}});
  d.buffers = static_cast<int>(t.get_integer("buffers", d.buffers, 2, 8));
  return d;
}

constexpr std::array<const char*, 11> kDeviceKeys{"format",      "exposure_ms",  "gain",       "white_balance_k",
                                                  "red_balance", "blue_balance", "readout_ms", "stamp",
                                                  "shutter",     "buffers",      "max_skew_ms"};

void read_devices(Table& t, CameraSettings& c) {
  const double period_ms = 1e3 / c.rate_hz;
  c.devices.fill(read_device(t, {}, period_ms));
  // Half a period apart, images of two triggers would be as near each other as those of one.
  c.max_skew_ms = t.get_number("max_skew_ms", c.max_skew_ms, between(0, 1000));
  std::vector<std::size_t> seen;
  for (Table& of : t.get_tables("device", 0, kCameras, "one table for each camera")) {
    const std::size_t camera =
        of.need_choice<std::size_t>("name", kCameras, {{"C0", 0}, {"C1", 1}, {"C2", 2}, {"C3", 3}});
    DeviceSettings d = read_device(of, c.devices[camera % kCameras], period_ms);
    d.serial = of.get_string("serial", "");
    d.path = of.get_string("path", "");
    if (d.serial.empty() && d.path.empty())
      of.reject("serial", "given, or path", "`ligature doctor` lists both of every camera that is plugged in");
    if (d.path.rfind("/dev/video", 0) == 0)
      of.reject("path", "a USB port such as 1-2.3, or the driver's name of the place",
                "/dev/videoN is whatever was plugged in first: `ligature doctor` lists what stays");
    if (camera == kCameras) continue;
    if (std::find(seen.begin(), seen.end(), camera) != seen.end())
      of.reject("name", "another camera than those above", "describe each camera once");
    for (const std::size_t other : seen)
      if (c.devices[other].serial == d.serial && c.devices[other].path == d.path)
        of.reject(d.serial.empty() ? "path" : "serial", "another device than C" + std::to_string(other) + "'s",
                  "one device is one camera");
    seen.push_back(camera);
    c.devices[camera] = d;
  }
}

CameraSettings read_cameras(Table t) {
  CameraSettings c;
  using Source = CameraSettings::Source;
  c.source = t.need_choice("source", c.source,
                           {{"recorded", Source::recorded}, {"virtual", Source::virtual_rig}, {"v4l2", Source::v4l2}});
  c.rate_hz = t.get_number("rate_hz", c.rate_hz, between(1, 1000));
  if (!t.clean()) return c;
  if (c.source == Source::v4l2) {
    read_devices(t, c);
  } else {
    for (const char* key : kDeviceKeys)
      if (t.has(key)) t.reject(key, "left out", "only source = \"v4l2\" has devices");
    for (Table& of : t.get_tables("device", 0, kCameras))
      of.reject("name", "left out", "only source = \"v4l2\" has devices");
  }
  if (c.source == Source::recorded)
    c.directory = t.need_path("directory", Table::PathKind::directory);
  else if (t.has("directory"))
    t.reject("directory", "left out", "only source = \"recorded\" reads a directory");
  return c;
}

VirtualSettings read_virtual(Table t, const CameraSettings& cameras) {
  const bool used = cameras.source == CameraSettings::Source::virtual_rig;
  VirtualSettings v;
  const auto path = [&](std::string_view key) {
    const fs::path file = used ? t.need_path(key, Table::PathKind::file) : t.get_path(key, Table::PathKind::file);
    if (!file.empty())
      if (const auto rows = drivers::load_path(file.string()); !rows)
        t.reject_as(key, "not a path", "rows of time, position, quaternion, opening", rows.error().message);
    return file;
  };
  v.path_left = path("path_left");
  v.path_right = path("path_right");
  const auto aims = [&](std::string_view key) {
    const fs::path file = t.get_path(key, Table::PathKind::file);
    if (file.empty()) return file;
    if (const auto rows = drivers::load_aims(file.string()); !rows)
      t.reject_as(key, "not aims", "rows of times, thread, end, place, following", rows.error().message);
    constexpr double kSlowest_hz = kFramesOfReaction / drivers::HandEye::kReaction_s;
    if (cameras.rate_hz < kSlowest_hz)
      t.reject(key, "left out",
               "hands that look need cameras.rate_hz of " + std::to_string(std::lround(kSlowest_hz)) + " or more");
    return file;
  };
  v.aims_left = aims("aims_left");
  v.aims_right = aims("aims_right");
  using drivers::PathBlend;
  v.blend = t.get_choice("blend", PathBlend::minimum_jerk,
                         {{"minimum_jerk", PathBlend::minimum_jerk}, {"linear", PathBlend::linear}});
  v.seed = static_cast<std::uint64_t>(t.get_integer("seed", 1, 0, std::numeric_limits<std::int64_t>::max()));
  v.noise = t.get_number("noise", v.noise, between(0, 0.5));
  v.exposure_ms = t.get_number("exposure_ms", v.exposure_ms, between(0.01, 1000));
  if (v.exposure_ms > 1e3 / cameras.rate_hz)
    t.reject("exposure_ms", "at most the frame period of " + std::to_string(1e3 / cameras.rate_hz) + " ms",
             "shorten it or lower cameras.rate_hz");
  v.brightness = t.get_number("brightness", v.brightness, between(0.01, 1));
  v.tremor_um = t.get_number("tremor_um", v.tremor_um, between(0, 5000));
  v.readout_ms = t.get_number("readout_ms", v.readout_ms, between(0, 1000));
  v.saturation = t.get_number("saturation", v.saturation, between(0, 1));
  v.velvet = t.get_number("velvet", v.velvet, between(0, 1));
  v.shot_noise = t.get_number("shot_noise", v.shot_noise, between(0, 0.5));
  v.defocus_px = t.get_number("defocus_px", v.defocus_px, between(0, 10));
  v.highlight = t.get_number("highlight", v.highlight, between(0, 10));
  v.bodies = t.get_bool("bodies", v.bodies);
  v.bayer = t.get_bool("bayer", v.bayer);
  v.jpeg_quality = static_cast<int>(t.get_integer("jpeg_quality", v.jpeg_quality, 0, 100));
  const double period_ms = 1e3 / cameras.rate_hz;
  const auto skew = t.get_numbers("skew_ms", kCameras, kCameras, between(0, period_ms));
  for (std::size_t c = 0; c < skew.size(); ++c) v.skew_ms[c] = skew[c];
  const auto gains = t.get_numbers("white_balance", 3, 3, between(0.1, 10));
  for (std::size_t k = 0; k < gains.size(); ++k) v.white_balance[k] = gains[k];
  return v;
}

RenderSettings read_render(Table t, Table microscope, Table vessel) {
  RenderSettings r;
  using Presenter = RenderSettings::Presenter;
  r.presenter =
      t.get_choice("presenter", r.presenter,
                   {{"offscreen", Presenter::offscreen}, {"window", Presenter::window}, {"none", Presenter::none}});
  r.rate_hz = t.get_number("rate_hz", r.rate_hz, between(1, 1000));
  auto& p = r.params;
  p.eye_width_px = static_cast<int>(t.get_integer("eye_width_px", p.eye_width_px, 16, 8192));
  p.eye_height_px = static_cast<int>(t.get_integer("eye_height_px", p.eye_height_px, 16, 8192));
  p.samples = static_cast<int>(t.get_integer("samples", p.samples, 1, 16));
  if (p.samples & (p.samples - 1)) t.reject("samples", "1 | 2 | 4 | 8 | 16", "choose one of them");
  p.device = t.get_choice<const char*>("device", "auto", {{"auto", "auto"}, {"cpu", "cpu"}, {"gpu", "gpu"}});
  p.validation = t.get_bool("validation", p.validation);

  auto& m = p.microscope;
  m.target_p_W = microscope.get_vec3("target_mm", m.target_p_W, between(-1e4, 1e4));
  m.distance_mm = microscope.get_number("distance_mm", m.distance_mm, between(10, 2000));
  m.elevation_deg = microscope.get_number("elevation_deg", m.elevation_deg, between(1, 90));
  m.azimuth_deg = microscope.get_number("azimuth_deg", m.azimuth_deg, between(-360, 360));
  m.field_of_view_mm = microscope.get_number("field_of_view_mm", m.field_of_view_mm, between(0.1, 1000));
  m.eye_separation_mm = microscope.get_number("eye_separation_mm", m.eye_separation_mm, between(0, 200));
  m.convergence_mm = microscope.get_number("convergence_mm", m.convergence_mm, between(10, 1e5));

  auto& v = p.vessel;
  v.present = vessel.get_bool("present", v.present);
  v.from_p_W = vessel.get_vec3("from_mm", v.from_p_W, between(-1e4, 1e4));
  v.to_p_W = vessel.get_vec3("to_mm", v.to_p_W, between(-1e4, 1e4));
  v.diameter_mm = vessel.get_number("diameter_mm", v.diameter_mm, between(0.01, 100));
  v.gap_mm = vessel.get_number("gap_mm", v.gap_mm, between(0, 1e4));
  if (vessel.present() && !(norm(v.to_p_W - v.from_p_W) > v.gap_mm))
    vessel.reject("gap_mm", "shorter than the vessel", "narrow the gap or lengthen the vessel");
  p.bench_point_W = t.get_vec3("bench_point_mm", p.bench_point_W, between(-1e4, 1e4));
  return r;
}

void read_threads(std::vector<Table> tables, Profile& p) {
  using Policy = ThreadSettings::Policy;
  std::vector<std::size_t> seen;
  const std::array<ThreadSettings*, 8> slots{&p.camera_threads[0], &p.camera_threads[1], &p.camera_threads[2],
                                             &p.camera_threads[3], &p.tracking_thread,   &p.physics_thread,
                                             &p.render_thread,     &p.service_thread};
  for (Table& t : tables) {
    const std::size_t slot = t.need_choice<std::size_t>("name", slots.size(),
                                                        {{"camera0", 0},
                                                         {"camera1", 1},
                                                         {"camera2", 2},
                                                         {"camera3", 3},
                                                         {"tracking", 4},
                                                         {"physics", 5},
                                                         {"render", 6},
                                                         {"service", 7}});
    ThreadSettings s;
    s.policy = t.get_choice("policy", s.policy, {{"other", Policy::other}, {"fifo", Policy::fifo}});
    if (s.policy == Policy::fifo)
      s.priority = static_cast<int>(t.need_integer("priority", 1, 98, "higher runs first; physics wants the highest"));
    else if (t.has("priority"))
      t.reject("priority", "left out", "only policy = \"fifo\" has a priority");
    s.core = static_cast<int>(t.get_integer("core", s.core, -1, 255, "-1 does not pin the thread"));
    if (slot == slots.size()) continue;
    if (std::find(seen.begin(), seen.end(), slot) != seen.end())
      t.reject("name", "another thread than those above", "describe each thread once");
    seen.push_back(slot);
    *slots[slot] = s;
  }
}

FaultSettings read_fault(Table& t) {
  FaultSettings f;
  using Kind = FaultSettings::Kind;
  f.kind = t.need_choice("kind", f.kind,
                         {{"camera_dead", Kind::camera_dead},
                          {"frame_drop", Kind::frame_drop},
                          {"frame_late", Kind::frame_late},
                          {"blob", Kind::blob},
                          {"physics_overrun", Kind::physics_overrun},
                          {"non_finite", Kind::non_finite},
                          {"presenter_lost", Kind::presenter_lost}});
  const bool of_camera = f.kind == Kind::camera_dead || f.kind == Kind::frame_drop || f.kind == Kind::frame_late;
  const bool delays = f.kind == Kind::frame_late || f.kind == Kind::physics_overrun;
  if (of_camera)
    f.camera = static_cast<int>(t.need_integer("camera", 0, kCameras - 1, "say which camera fails"));
  else if (t.has("camera"))
    t.reject("camera", "left out", "this kind of fault has no camera");
  f.from_s = t.get_number("from_s", f.from_s, between(0, kMaxTimeS));
  if (t.has("until_s"))
    f.until_s = t.need_number("until_s", {.low = f.from_s, .high = kMaxTimeS, .low_open = true},
                              "end the fault after it began, or leave the line out for ever");
  f.probability = t.get_number("probability", f.probability, between(0, 1));
  if (delays)
    f.delay_ms = t.need_number("delay_ms", {.low = 0, .high = kMostDelay_ms, .low_open = true}, "say how late");
  else if (t.has("delay_ms"))
    t.reject("delay_ms", "left out", "only frame_late and physics_overrun are late");
  if (f.kind == Kind::blob) {
    f.p_R = t.get_vec3("p_R_mm", f.p_R, between(-1e4, 1e4));
    f.diameter_mm = t.get_number("diameter_mm", f.diameter_mm, up_to(1000));
    f.hue_deg = t.get_number("hue_deg", f.hue_deg, {.low = 0, .high = 360, .high_open = true});
    if (t.has("saturation")) f.saturation = t.need_number("saturation", between(0, 1), "0 is grey");
    if (t.has("brightness")) f.brightness = t.need_number("brightness", between(0, 1), "of full scale, fully lit");
  } else {
    for (const char* key : {"p_R_mm", "diameter_mm", "hue_deg", "saturation", "brightness"})
      if (t.has(key)) t.reject(key, "left out", "only a blob has a place, a size and a colour");
  }
  return f;
}

Result<Profile> read(Document document, const fs::path& file) {
  Table root = document.root();
  Profile p;
  p.file = file;
  p.title = root.get_string("title", file.stem().string());
  p.pace = root.get_choice("pace", p.pace, {{"lockstep", Pace::lockstep}, {"realtime", Pace::realtime}});
  p.sample_delay_ms = root.get_number("sample_delay_ms", p.sample_delay_ms, between(0, 200));
  p.duration_s = root.get_number("duration_s", p.duration_s, up_to(kMaxTimeS));
  p.rig = root.need_path("rig", Table::PathKind::file);
  p.scenario = root.need_path("scenario", Table::PathKind::file);
  for (Table& t : root.get_tables("next", 0, kMostNext))
    p.next_scenarios.push_back(t.need_path("scenario", Table::PathKind::file));
  p.cameras = read_cameras(root.need_table("cameras", "say where the images come from"));
  if (p.cameras.source == CameraSettings::Source::v4l2 && p.pace == Pace::lockstep)
    root.reject("pace", "realtime with cameras.source = \"v4l2\"", "a device does not wait: pace = \"realtime\"");
  Table virtual_rig = p.cameras.source == CameraSettings::Source::virtual_rig
                          ? root.need_table("virtual", "say where the hands go")
                          : root.get_table("virtual");
  p.virtual_rig = read_virtual(virtual_rig, p.cameras);

  Table world = root.get_table("world");
  if (world.has("p_RW_mm")) p.place.p_RW = world.get_vec3("p_RW_mm", {}, between(-1e4, 1e4));
  if (world.has("motion_scale"))
    p.place.motion_scale = world.need_number("motion_scale", {.low = 0, .high = 100, .low_open = true});

  Table tracking = root.get_table("tracking");
  p.tracking.timeout_ms = tracking.get_number("timeout_ms", p.tracking.timeout_ms, between(1, 1000));
  p.tracking.prediction_ms = tracking.get_number("prediction_ms", p.tracking.prediction_ms, between(0, 2000));
  p.tracking.filter = tracking.get_bool("filter", p.tracking.filter);
  p.tracking.max_lead_ms = tracking.get_number("max_lead_ms", p.tracking.max_lead_ms, between(0, 20));
  Table physics = root.get_table("physics");
  if (physics.has("step_ms")) p.physics.step_ms = physics.need_number("step_ms", between(0.01, 100));
  p.render = read_render(root.get_table("render"), root.get_table("microscope"), root.get_table("vessel"));
  read_threads(root.get_tables("thread", 0, 8, "one table for each thread"), p);
  p.memory.lock = root.get_table("memory").get_bool("lock", p.memory.lock);

  Table output = root.get_table("output");
  p.output.directory = output.get_path("directory", Table::PathKind::any);
  p.output.video = output.get_bool("video", p.output.video);
  p.output.picture_times_s = output.get_numbers("picture_times_s", 0, kMaxPictures, between(0, kMaxTimeS));
  if (!std::is_sorted(p.output.picture_times_s.begin(), p.output.picture_times_s.end()))
    output.reject("picture_times_s", "in growing order", "sort the times");
  p.output.record_frames = output.get_bool("record_frames", p.output.record_frames);
  using Codec = OutputSettings::Codec;
  p.output.codec =
      output.get_choice("codec", p.output.codec,
                        {{"h264", Codec::h264}, {"mjpeg", Codec::mjpeg}, {"ffv1", Codec::ffv1}, {"png", Codec::png}});
  p.output.keep_sessions = output.get_integer("keep_sessions", p.output.keep_sessions, 1, 100'000);
  p.output.keep_gb = output.get_number("keep_gb", p.output.keep_gb, between(0, 1e6));
  if (p.output.video && p.render.presenter == RenderSettings::Presenter::none)
    output.reject("video", "false with render.presenter = \"none\"", "choose another presenter or leave the video out");

  for (Table& t : root.get_tables("fault", 0, kMaxFaults)) p.faults.push_back(read_fault(t));
  if (auto done = document.finish(); !done) return unexpected(done.error());
  return p;
}

std::vector<fs::path> profile_folders(const std::vector<fs::path>& data_dirs) {
  std::vector<fs::path> out;
  if (const char* data = std::getenv("LIGATURE_DATA"); data && *data)
    out.push_back(fs::path(data) / "config" / "profiles");
  for (const auto& dir : data_dirs) out.push_back(dir / "config" / "profiles");
  return out;
}

}  // namespace

Result<Profile> load_profile(const fs::path& path) {
  auto document = Document::read(path);
  if (!document) return unexpected(document.error());
  return read(std::move(*document), path);
}

Result<Profile> parse_profile(std::string_view text, const fs::path& file) {
  auto document = Document::parse(text, file);
  if (!document) return unexpected(document.error());
  return read(std::move(*document), file);
}

std::vector<std::string> known_profiles(const std::vector<fs::path>& data_dirs) {
  std::vector<std::string> names;
  for (const auto& folder : profile_folders(data_dirs)) {
    std::error_code error;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".toml") names.push_back(it->path().stem().string());
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

Result<fs::path> resolve_profile(std::string_view name_or_path, const std::vector<fs::path>& data_dirs) {
  const fs::path given(name_or_path);
  std::error_code error;
  const auto is_file = [&](const fs::path& p) { return fs::exists(p, error) && !fs::is_directory(p, error); };
  if (!given.empty() && is_file(given)) return given;
  const bool name = !given.empty() && given.filename() == given && given.extension() != ".toml";
  if (name)
    for (const auto& folder : profile_folders(data_dirs))
      if (const fs::path path = folder / (given.string() + ".toml"); is_file(path)) return path;
  std::string known;
  for (const auto& n : known_profiles(data_dirs)) known += (known.empty() ? "" : " | ") + n;
  std::string shown;
  for (const char c : name_or_path.substr(0, 200)) shown += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  return usage_error("key 'profile' is '" + shown + "', must be " + (known.empty() ? "" : known + " or ") +
                     "the path of a profile: " +
                     (known.empty() ? "no shipped profiles were found, set LIGATURE_DATA" : "choose one of them"));
}

}  // namespace ligature::config
