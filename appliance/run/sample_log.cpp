#include "appliance/run/sample_log.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <fstream>

namespace ligature::appliance {
namespace {

constexpr const char* kHeader =
    "step,sequence,mid_exposure_ns,cameras_alive,"
    "left_status,left_cameras,left_qx,left_qy,left_qz,left_qw,left_x_mm,left_y_mm,left_z_mm,left_opening_rad,"
    "left_residual_px,left_sigma_tip_mm,left_confidence,"
    "right_status,right_cameras,right_qx,right_qy,right_qz,right_qw,right_x_mm,right_y_mm,right_z_mm,"
    "right_opening_rad,right_residual_px,right_sigma_tip_mm,right_confidence";

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

bool read_pose(Fields& fields, InstrumentPose& pose) {
  unsigned status = 0, cameras = 0;
  if (!fields.read(status) || status > static_cast<unsigned>(TrackStatus::tracked) || !fields.read(cameras) ||
      cameras > kCameras)
    return false;
  pose.status = static_cast<TrackStatus>(status);
  pose.cameras = static_cast<std::uint8_t>(cameras);
  Pose& x = pose.X_RT;
  return fields.read(x.q.x) && fields.read(x.q.y) && fields.read(x.q.z) && fields.read(x.q.w) && fields.read(x.p.x) &&
         fields.read(x.p.y) && fields.read(x.p.z) && fields.read(pose.opening_rad) && fields.read(pose.residual_px) &&
         fields.read(pose.sigma_tip_mm) && fields.read(pose.confidence);
}

bool read_record(const std::string& line, SampleRecord& record) {
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
    if (!read_pose(fields, pose)) return false;
  return fields.done();
}

}  // namespace

Result<void> SampleLogWriter::open(const std::string& path) {
  file_ = std::fopen(path.c_str(), "w");
  if (!file_) return unavailable(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  fmt::print(file_, "{}\n", kHeader);
  return {};
}

bool SampleLogWriter::write(const SampleRecord& record) {
  if (!file_) return false;
  if (record.inject_non_finite) {
    fmt::print(file_, "{},inject,non_finite\n", record.step);
    return !std::ferror(file_);
  }
  const InstrumentSample& s = record.sample;
  std::string line =
      fmt::format("{},{},{},{}", record.step, s.sequence, s.mid_exposure_ns, static_cast<unsigned>(s.cameras_alive));
  for (const InstrumentPose& i : s.instruments) {
    const Pose& x = i.X_RT;
    line += fmt::format(",{},{}", static_cast<unsigned>(i.status), static_cast<unsigned>(i.cameras));
    for (const double v :
         {x.q.x, x.q.y, x.q.z, x.q.w, x.p.x, x.p.y, x.p.z, i.opening_rad, i.residual_px, i.sigma_tip_mm, i.confidence})
      line += fmt::format(",{:.17g}", v);
  }
  line += '\n';
  return std::fwrite(line.data(), 1, line.size(), file_) == line.size();
}

bool SampleLogWriter::flush() {
  return file_ && std::fflush(file_) == 0 && fdatasync(fileno(file_)) == 0;
}

void SampleLogWriter::close() {
  if (file_) std::fclose(file_);
  file_ = nullptr;
}

Result<std::vector<SampleRecord>> read_sample_log(const std::string& path) {
  std::ifstream in(path);
  if (!in) return usage_error(fmt::format("{}: cannot be read: {}", path, std::strerror(errno)));
  std::vector<SampleRecord> records;
  std::string line;
  bool header = false;
  for (int number = 1; std::getline(in, line); ++number) {
    const bool whole = !in.eof();  // getline met a newline
    if (number == 1) {
      if (line != kHeader) return usage_error(fmt::format("{}:1: not a sample log: its first line differs", path));
      header = true;
      continue;
    }
    SampleRecord record;
    if (!read_record(line, record)) {
      if (!whole) break;
      return usage_error(fmt::format("{}:{}: malformed line: the log was changed by hand?", path, number));
    }
    if (!records.empty() && record.step < records.back().step)
      return usage_error(fmt::format("{}:{}: step {} goes back, must be >= {}: the log was changed by hand?", path,
                                     number, record.step, records.back().step));
    if (whole) records.push_back(record);
  }
  if (!header) return usage_error(fmt::format("{}:1: not a sample log: it is empty", path));
  return records;
}

}  // namespace ligature::appliance
