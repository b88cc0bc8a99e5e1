#include "appliance/run/sample_log.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <numbers>

namespace ligature::appliance {
namespace {

/// @param variances false: as the logs of unfiltered sessions were before
std::string header(bool variances) {
  std::string line = "step,sequence,mid_exposure_ns,cameras_alive";
  for (const std::string side : {"left_", "right_"}) {
    for (const char* column : {"status", "cameras", "qx", "qy", "qz", "qw", "x_mm", "y_mm", "z_mm", "opening_rad",
                               "residual_px", "sigma_tip_mm", "confidence"})
      line += ',' + side + column;
    if (!variances) continue;
    for (const char* column : {"var_turn_x_rad2", "var_turn_y_rad2", "var_turn_z_rad2", "var_x_mm2", "var_y_mm2",
                               "var_z_mm2", "var_opening_rad2"})
      line += ',' + side + column;
  }
  return line;
}

/// Reads comma-separated numbers from one line, left to right.
class Fields {
 public:
  explicit Fields(const std::string& line) : at_(line.data()), end_(line.data() + line.size()) {}
  template <class T>
  bool read(T& out) {
    const auto [next, wrong] = std::from_chars(at_, end_, out);
    if (wrong != std::errc{} || (next != end_ && *next != ',')) return false;
    if constexpr (std::is_floating_point_v<T>)
      if (!std::isfinite(out)) return false;
    at_ = next == end_ ? next : next + 1;
    return true;
  }
  bool done() const { return at_ == end_; }

 private:
  const char* at_;
  const char* end_;
};

bool read_pose(Fields& fields, bool variances, InstrumentPose& pose) {
  unsigned status = 0, cameras = 0;
  if (!fields.read(status) || status > static_cast<unsigned>(TrackStatus::tracked) || !fields.read(cameras) ||
      cameras > kCameras)
    return false;
  pose.status = static_cast<TrackStatus>(status);
  pose.cameras = static_cast<std::uint8_t>(cameras);
  Pose& x = pose.X_RT;
  for (double* v : {&x.q.x, &x.q.y, &x.q.z, &x.q.w, &x.p.x, &x.p.y, &x.p.z, &pose.opening_rad, &pose.residual_px,
                    &pose.sigma_tip_mm, &pose.confidence})
    if (!fields.read(*v)) return false;
  const double norm = std::hypot(std::hypot(x.q.x, x.q.y), std::hypot(x.q.z, x.q.w));
  if (!(std::abs(norm - 1) < 1e-6) || !(std::abs(pose.opening_rad) <= std::numbers::pi)) return false;
  if (!variances) return true;
  for (double& v : pose.variance.turn)
    if (!fields.read(v)) return false;
  for (double& v : pose.variance.tip)
    if (!fields.read(v)) return false;
  return fields.read(pose.variance.opening);
}

constexpr std::array<std::string_view, 6> kControls{"none", "start", "pause", "cut", "reset", "next"};
constexpr std::string_view kControlMark = ",control,";

bool read_record(const std::string& line, bool variances, SampleRecord& record) {
  if (const auto mark = line.find(kControlMark); mark != std::string::npos) {
    const auto which = control_of(std::string_view(line).substr(mark + kControlMark.size()));
    if (!which) return false;
    record.control = *which;
    return Fields(line.substr(0, mark)).read(record.step);
  }
  if (const auto mark = line.find(",inject,non_finite"); mark != std::string::npos) {
    record.inject_non_finite = true;
    return Fields(line.substr(0, mark)).read(record.step);
  }
  Fields fields(line);
  unsigned alive = 0;
  if (!fields.read(record.step) || !fields.read(record.sample.sequence) ||
      !fields.read(record.sample.mid_exposure_ns) || !fields.read(alive))
    return false;
  record.sample.cameras_alive = static_cast<std::uint8_t>(alive);
  for (auto& pose : record.sample.instruments)
    if (!read_pose(fields, variances, pose)) return false;
  return fields.done();
}

}  // namespace

std::optional<Control> control_of(std::string_view name) {
  const auto* const which = std::find(kControls.begin() + 1, kControls.end(), name);
  if (which == kControls.end()) return std::nullopt;
  return static_cast<Control>(which - kControls.begin());
}

std::string_view name_of(Control control) {
  return kControls[static_cast<std::size_t>(control)];
}

Result<void> SampleLogWriter::open(const std::string& path) {
  file_ = std::fopen(path.c_str(), "w");
  if (!file_) return unavailable(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  fmt::print(file_, "{}\n", header(true));
  return {};
}

bool SampleLogWriter::write(const SampleRecord& record) {
  if (!file_) return false;
  if (record.inject_non_finite) return put(fmt::format("{},inject,non_finite\n", record.step));
  if (record.control != Control::none)
    return put(fmt::format("{}{}{}\n", record.step, kControlMark, name_of(record.control)));
  const InstrumentSample& s = record.sample;
  std::string line =
      fmt::format("{},{},{},{}", record.step, s.sequence, s.mid_exposure_ns, static_cast<unsigned>(s.cameras_alive));
  for (const InstrumentPose& i : s.instruments) {
    const Pose& x = i.X_RT;
    line += fmt::format(",{},{}", static_cast<unsigned>(i.status), static_cast<unsigned>(i.cameras));
    for (const double v :
         {x.q.x, x.q.y, x.q.z, x.q.w, x.p.x, x.p.y, x.p.z, i.opening_rad, i.residual_px, i.sigma_tip_mm, i.confidence})
      line += fmt::format(",{:.17g}", v);
    for (const double v : i.variance.turn) line += fmt::format(",{:.17g}", v);
    for (const double v : i.variance.tip) line += fmt::format(",{:.17g}", v);
    line += fmt::format(",{:.17g}", i.variance.opening);
  }
  line += '\n';
  return put(line);
}

bool SampleLogWriter::put(std::string_view line) {
  if (std::fwrite(line.data(), 1, line.size(), file_) != line.size()) return false;
  ++written_;
  return true;
}

bool SampleLogWriter::flush() {
  return file_ && std::fflush(file_) == 0 && fdatasync(fileno(file_)) == 0;
}

void SampleLogWriter::close() {
  if (file_) std::fclose(file_);
  file_ = nullptr;
}

Result<std::vector<SampleRecord>> read_sample_log(const std::string& path) {
  std::error_code none;
  if (std::filesystem::exists(path, none) && !std::filesystem::is_regular_file(path, none))
    return usage_error(path + ": not a sample log: it is no file");
  std::ifstream in(path);
  if (!in) return usage_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::vector<SampleRecord> records;
  std::string line;
  bool begun = false, variances = true;
  for (int number = 1; std::getline(in, line); ++number) {
    const bool whole = !in.eof();  // getline met a newline
    if (number == 1) {
      variances = line == header(true);
      if (!variances && line != header(false))
        return usage_error(fmt::format("{}:1: not a sample log: its first line differs", path));
      begun = true;
      continue;
    }
    SampleRecord record;
    if (!read_record(line, variances, record)) {
      if (!whole) break;
      return usage_error(fmt::format("{}:{}: malformed line: the log was changed by hand?", path, number));
    }
    if (!records.empty() && record.step < records.back().step)
      return usage_error(fmt::format("{}:{}: step {} goes back, must be >= {}: the log was changed by hand?", path,
                                     number, record.step, records.back().step));
    if (whole) records.push_back(record);
  }
  if (!begun) return usage_error(fmt::format("{}:1: not a sample log: it is empty", path));
  return records;
}

}  // namespace ligature::appliance
