#include "config/rig_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

#include "config/atomic_file.hpp"
#include "config/document.hpp"

namespace ligature::config {

namespace {

using drivers::CameraModel;
using drivers::InstrumentModel;
using drivers::Marker;
using drivers::MarkerArm;
using drivers::Rig;

constexpr double kMinHueDistanceDeg = 20;   // nearer ones are one colour to the detector
constexpr double kMinCameraDistanceMm = 1;  // two cameras in one place see no depth
constexpr double kMinMarkerHeightMm = 1;    // of the markers' triangle: on a line they leave the roll open

double hue_distance(double a, double b) {
  const double d = std::fmod(std::abs(a - b), 360.0);
  return std::min(d, 360.0 - d);
}

/// The distorted radius must grow with the true one as far as the image's farthest corner, or two directions
/// share a pixel. Source: derivative of r (1 + k1 r^2 + k2 r^4 + k3 r^6).
bool lens_folds(const CameraModel& c) {
  const double x = std::max(c.cx_px, c.width_px - 1 - c.cx_px) / c.fx_px;
  const double y = std::max(c.cy_px, c.height_px - 1 - c.cy_px) / c.fy_px;
  const double corner = std::hypot(x, y);
  for (int i = 0; i <= 100; ++i) {
    const double r2 = std::pow(corner * i / 100.0, 2);
    if (1 + r2 * (3 * c.distortion[0] + r2 * (5 * c.distortion[1] + r2 * 7 * c.distortion[4])) <= 0) return true;
  }
  return false;
}

CameraModel read_camera(Table& t) {
  CameraModel c;
  c.name = t.need_string("name", "name the cameras C0, C1, C2 and C3");
  c.serial = t.get_string("serial", "");
  const auto size = t.need_numbers("size_px", 2, 2, between(16, 8192), "give width and height in whole pixels");
  if (size.size() == 2) {
    if (size[0] != std::floor(size[0]) || size[1] != std::floor(size[1]))
      t.reject_as("size_px", "not whole", "two whole numbers 16..8192", "give width and height in whole pixels");
    c.width_px = static_cast<int>(size[0]), c.height_px = static_cast<int>(size[1]);
  }
  const Range focal{.low = 0, .high = 1e5, .low_open = true};
  c.fx_px = t.need_number("fx_px", focal, "calibrate the camera");
  c.fy_px = t.need_number("fy_px", focal, "calibrate the camera");
  c.cx_px = t.need_number("cx_px", between(-0.5 * c.width_px, 1.5 * c.width_px), "calibrate the camera");
  c.cy_px = t.need_number("cy_px", between(-0.5 * c.height_px, 1.5 * c.height_px), "calibrate the camera");
  const auto distortion = t.get_numbers("distortion", 5, 5, between(-100, 100), "give k1, k2, p1, p2, k3");
  std::copy(distortion.begin(), distortion.end(), c.distortion.begin());
  if (c.fx_px > 0 && c.fy_px > 0 && lens_folds(c))
    t.reject_as("distortion", "folding the picture onto itself", "a lens whose image grows outwards to the corners",
                "calibrate the camera again");
  c.X_RC.q = t.need_quat("q_RC");
  c.X_RC.p = t.need_vec3("p_RC_mm", between(-1e4, 1e4), "give the camera's place in R in mm");
  c.reprojection_rms_px = t.get_number("reprojection_rms_px", 0, between(0, 1000));
  return c;
}

/// A marker's colour and whose it is, over all instruments.
struct Hue {
  std::string owner;
  double deg;
};

InstrumentModel read_instrument(Table& t, std::vector<Hue>& hues) {
  InstrumentModel m;
  m.name = t.need_string("name", "name the instruments left and right");
  m.hinge_p_T = t.need_vec3("hinge_p_T_mm", between(-1000, 1000), "give the hinge in T in mm, jaws closed");
  if (m.hinge_p_T.x >= 0)
    t.reject_as("hinge_p_T_mm", "at x = " + std::to_string(m.hinge_p_T.x), "behind the tips, x below 0",
                "+x of T points out of the hand along the jaws");
  auto markers = t.get_tables("marker", 3, 3, "each instrument carries three markers");
  for (Table& k : markers) {
    Marker marker;
    marker.name = k.need_string("name");
    marker.colour_hue_deg =
        k.need_number("colour_hue_deg", {.low = 0, .high = 360, .high_open = true}, "0 red, 120 green, 240 blue");
    marker.diameter_mm = k.need_number("diameter_mm", {.low = 0, .high = 50, .low_open = true});
    marker.p_TM = k.need_vec3("p_TM_mm", between(-1000, 1000), "give the marker's centre in T in mm, jaws closed");
    marker.arm = k.get_choice("arm", MarkerArm::none,
                              {{"none", MarkerArm::none}, {"plus", MarkerArm::plus}, {"minus", MarkerArm::minus}});
    for (const Hue& other : hues)
      if (hue_distance(other.deg, marker.colour_hue_deg) < kMinHueDistanceDeg && t.clean())
        k.reject(
            "colour_hue_deg",
            "at least " + std::to_string(static_cast<int>(kMinHueDistanceDeg)) + " degrees from that of " + other.owner,
            "the detector tells markers by their colour");
    hues.push_back({m.name + "." + marker.name, marker.colour_hue_deg});
    for (const Marker& other : m.markers) {
      if (other.name == marker.name) k.reject("name", "another name than the markers above", "name each marker once");
      if (norm(other.p_TM - marker.p_TM) < 0.5 * (other.diameter_mm + marker.diameter_mm))
        k.reject_as("p_TM_mm", "inside marker '" + other.name + "'", "clear of the other markers", "move the marker");
    }
    m.markers.push_back(marker);
  }
  if (m.markers.size() == 3 && t.clean()) {
    const auto count = [&](MarkerArm arm) {
      return std::count_if(m.markers.begin(), m.markers.end(), [&](const Marker& k) { return k.arm == arm; });
    };
    if (count(MarkerArm::plus) != 1 || count(MarkerArm::minus) != 1)
      t.reject_as("marker", "without one marker on each arm", "three with arm = none, plus and minus",
                  "the opening is read from the two arms");
    const Vec3 a = m.markers[1].p_TM - m.markers[0].p_TM, b = m.markers[2].p_TM - m.markers[0].p_TM;
    const double longest = std::max({norm(a), norm(b), norm(b - a)});
    if (longest > 0 && norm(cross(a, b)) / longest < kMinMarkerHeightMm)
      t.reject_as("marker", "three on one line", "three that span a triangle", "set the tail marker off the axis");
  }
  return m;
}

/// Puts the named parts into their places; notes the ones that are missing, strange or there twice.
template <class Part>
std::vector<Part> in_order(std::vector<Part> parts, std::vector<Table>& tables, const std::vector<std::string>& names,
                           const std::string& must) {
  std::vector<Part> out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (parts[i].name.empty()) continue;  // noted already
    const bool known = std::find(names.begin(), names.end(), parts[i].name) != names.end();
    const auto same = [&](const Part& p) { return p.name == parts[i].name; };
    if (!known) tables[i].reject("name", must, "each of them once");
    if (std::find_if(parts.begin(), parts.begin() + static_cast<std::ptrdiff_t>(i), same) !=
        parts.begin() + static_cast<std::ptrdiff_t>(i))
      tables[i].reject("name", must + ", each once", "name the missing one here");
  }
  for (const auto& name : names)
    for (const Part& part : parts)
      if (part.name == name) {
        out.push_back(part);
        break;
      }
  return out;
}

Result<Rig> read(Document document, std::size_t least_cameras = kCameras) {
  Table root = document.root();
  Rig rig;
  Table head = root.get_table("rig");
  rig.created = head.get_string("created", "");
  rig.box_mm = head.get_vec3("box_mm", rig.box_mm, {.low = 0, .high = 1e4, .low_open = true},
                             "give the inside of the box: width, depth, height in mm");
  Table world = root.get_table("world");
  rig.X_RW.q = world.get_quat("q_RW", rig.X_RW.q);
  rig.X_RW.p = world.get_vec3("p_RW_mm", rig.X_RW.p, between(-1e4, 1e4));
  rig.motion_scale = world.get_number("motion_scale", 1.0, {.low = 0, .high = 100, .low_open = true});

  auto cameras = root.get_tables("camera", least_cameras, kCameras, "a rig has the cameras C0, C1, C2 and C3");
  for (Table& t : cameras) rig.cameras.push_back(read_camera(t));
  for (std::size_t i = 0; i < rig.cameras.size(); ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (norm(rig.cameras[i].X_RC.p - rig.cameras[j].X_RC.p) < kMinCameraDistanceMm)
        cameras[i].reject_as("p_RC_mm", "the place of camera " + rig.cameras[j].name, "a place of its own",
                             "measure it again");
  rig.cameras = in_order(std::move(rig.cameras), cameras, {"C0", "C1", "C2", "C3"}, "C0 | C1 | C2 | C3");

  auto instruments =
      root.get_tables("instrument", kInstruments, kInstruments, "a rig has the instruments left and right");
  std::vector<Hue> hues;
  for (Table& t : instruments) rig.instruments.push_back(read_instrument(t, hues));
  rig.instruments = in_order(std::move(rig.instruments), instruments, {"left", "right"}, "left | right");
  if (auto done = document.finish(); !done) return unexpected(done.error());
  return rig;
}

std::string number(double v) {
  std::array<char, 40> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  std::string out(buffer.data(), end);
  if (std::isfinite(v) && out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}
std::string list(std::initializer_list<double> values) {
  std::string out = "[";
  for (const double v : values) out += (out.size() > 1 ? ", " : "") + number(v);
  return out + "]";
}
std::string list(Vec3 v) {
  return list({v.x, v.y, v.z});
}
std::string list(Quat q) {
  return list({q.x, q.y, q.z, q.w});
}
std::string quoted(const std::string& s) {
  std::string out = "\"";
  for (const char c : s) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}
const char* name_of(MarkerArm arm) {
  return arm == MarkerArm::plus ? "plus" : arm == MarkerArm::minus ? "minus" : "none";
}

}  // namespace

Result<Rig> load_rig(const std::filesystem::path& path) {
  auto document = Document::read(path);
  if (!document) return unexpected(document.error());
  return read(std::move(*document));
}

Result<Rig> load_partial_rig(const std::filesystem::path& path) {
  auto document = Document::read(path);
  if (!document) return unexpected(document.error());
  return read(std::move(*document), 1);
}

Result<Rig> parse_rig(std::string_view text, const std::filesystem::path& file) {
  auto document = Document::parse(text, file);
  if (!document) return unexpected(document.error());
  return read(std::move(*document));
}

std::string format_rig(const Rig& rig) {
  std::string s;
  s += "[rig]\n";
  s += "created = " + quoted(rig.created) + "\n";
  s += "box_mm = " + list(rig.box_mm) + "\n\n";
  s += "[world]                                 # where the virtual scene lies in the box\n";
  s += "q_RW = " + list(rig.X_RW.q) + "\n";
  s += "p_RW_mm = " + list(rig.X_RW.p) + "\n";
  s += "motion_scale = " + number(rig.motion_scale) + "\n";
  for (const CameraModel& c : rig.cameras) {
    s += "\n[[camera]]\n";
    s += "name = " + quoted(c.name) + "\n";
    s += "serial = " + quoted(c.serial) + "\n";
    s += "size_px = [" + std::to_string(c.width_px) + ", " + std::to_string(c.height_px) + "]\n";
    s += "fx_px = " + number(c.fx_px) + "\nfy_px = " + number(c.fy_px) + "\n";
    s += "cx_px = " + number(c.cx_px) + "\ncy_px = " + number(c.cy_px) + "\n";
    const auto& d = c.distortion;
    s += "distortion = " + list({d[0], d[1], d[2], d[3], d[4]}) + "  # k1 k2 p1 p2 k3\n";
    s += "q_RC = " + list(c.X_RC.q) + "\n";
    s += "p_RC_mm = " + list(c.X_RC.p) + "\n";
    s += "reprojection_rms_px = " + number(c.reprojection_rms_px) + "\n";
  }
  for (const InstrumentModel& m : rig.instruments) {
    s += "\n[[instrument]]\n";
    s += "name = " + quoted(m.name) + "\n";
    s += "hinge_p_T_mm = " + list(m.hinge_p_T) + "\n";
    for (const Marker& marker : m.markers) {
      s += "\n[[instrument.marker]]\n";
      s += "name = " + quoted(marker.name) + "\n";
      s += "colour_hue_deg = " + number(marker.colour_hue_deg) + "\n";
      s += "diameter_mm = " + number(marker.diameter_mm) + "\n";
      s += "p_TM_mm = " + list(marker.p_TM) + "\n";
      s += "arm = " + quoted(name_of(marker.arm)) + "\n";
    }
  }
  return s;
}

Result<void> save_rig(const std::filesystem::path& path, const Rig& rig) {
  const std::string text = format_rig(rig);
  if (auto good = parse_rig(text, path); !good) return failure("the rig is not written: " + good.error().message);
  return write_file_atomically(path, text);
}

Result<void> save_partial_rig(const std::filesystem::path& path, const Rig& rig) {
  const std::string text = format_rig(rig);
  auto document = Document::parse(text, path);
  if (!document) return unexpected(document.error());
  if (auto good = read(std::move(*document), 1); !good)
    return failure("the rig is not written: " + good.error().message);
  return write_file_atomically(path, text);
}

}  // namespace ligature::config
