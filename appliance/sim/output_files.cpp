#include "appliance/sim/output_files.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>

#include "config/atomic_file.hpp"
#include "sim/base/units.hpp"

namespace ligature::simulate {

namespace fs = std::filesystem;

namespace {

/// From sim's uN and uN mm to the files' mN and mN mm.
double mn(double value) {
  return value / units::un_per_mn;
}

const char* remedy(int code) {
  return code == ENOSPC || code == EDQUOT || code == EFBIG  ? "free some space"
         : code == EACCES || code == EPERM || code == EROFS ? "check the permissions of its folder"
         : code == EWOULDBLOCK                              ? "another run writes there: name another folder"
                                                            : "look at the disk";
}

}  // namespace

StreamedFile& StreamedFile::operator=(StreamedFile&& other) noexcept {
  discard();
  path_ = std::move(other.path_);
  fresh_ = std::move(other.fresh_);
  fd_ = std::exchange(other.fd_, -1);
  wrong_ = other.wrong_;
  buffer_ = std::move(other.buffer_);
  return *this;
}

Unexpected StreamedFile::disk_error(int code) const {
  return failure(fmt::format("{}: cannot be written ({}), it is as it was: {}", path_.string(), std::strerror(code),
                             remedy(code)));
}

Result<StreamedFile> StreamedFile::open(const fs::path& path) {
  StreamedFile file;
  file.path_ = path;
  file.fresh_ = path.parent_path() / ("." + path.filename().string() + ".new");
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return file.disk_error(EISDIR);
  file.fd_ = ::open(file.fresh_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (file.fd_ < 0) return file.disk_error(errno);
  if (::flock(file.fd_, LOCK_EX | LOCK_NB) != 0 || ::ftruncate(file.fd_, 0) != 0) {
    const int code = errno;
    ::close(std::exchange(file.fd_, -1));  // not ours to unlink
    return file.disk_error(code);
  }
  return file;
}

void StreamedFile::flush() noexcept {
  const char* next = buffer_.data();
  std::size_t left = wrong_ ? 0 : buffer_.size();
  while (left > 0) {
    const ssize_t n = ::write(fd_, next, left);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) {
      wrong_ = errno;
      break;
    }
    next += n;
    left -= static_cast<std::size_t>(n);
  }
  buffer_.clear();
}

Result<void> StreamedFile::finish() {
  flush();
  if (wrong_ == 0 && ::fsync(fd_) != 0) wrong_ = errno;
  if (wrong_ != 0) return disk_error(wrong_);
  return {};
}

Result<void> StreamedFile::commit() {
  if (::rename(fresh_.c_str(), path_.c_str()) != 0) return disk_error(errno);
  ::close(std::exchange(fd_, -1));
  return {};
}

void StreamedFile::discard() noexcept {
  if (fd_ < 0) return;
  ::unlink(fresh_.c_str());
  ::close(std::exchange(fd_, -1));
}

std::string place_name(const world::Place& place) {
  switch (place.kind) {
    case world::Place::Kind::first:
      return "first";
    case world::Place::Kind::last:
      return "last";
    case world::Place::Kind::vertex:
      return std::to_string(place.vertex);
    case world::Place::Kind::arc:
      return fmt::format("s_mm={}", place.s_mm);
  }
  return "";
}

std::vector<const world::ClampParams*> clamps_of(const world::WorldParams& params) {
  std::vector<const world::ClampParams*> all;
  for (const world::ThreadParams& t : params.threads)
    for (const world::ClampParams& c : t.clamps) all.push_back(&c);
  return all;
}

std::vector<std::string> thread_names(const world::World& world) {
  std::vector<std::string> given, out;
  for (std::size_t k = 0; k < world.thread_count(); ++k) given.push_back(world.measure(k, false).name);
  const auto taken = [](const std::vector<std::string>& names, std::size_t count, const std::string& name) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(count);
    return std::find(names.begin(), end, name) != end;
  };
  for (std::size_t k = 0; k < given.size(); ++k) {
    std::string name = given[k];
    for (int number = 2; taken(out, k, name) || (name != given[k] && taken(given, given.size(), name)); ++number)
      name = fmt::format("{}#{}", given[k], number);
    out.push_back(std::move(name));
  }
  return out;
}

std::string csv_field(std::string_view text) {
  if (text.find_first_of(",\"\r\n") == std::string_view::npos) return std::string(text);
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"') quoted += '"';
    quoted += c;
  }
  return quoted + '"';
}

Result<OutputFiles> OutputFiles::open(const fs::path& directory) {
  const auto refuse = [&](const std::string& why) {
    return usage_error(fmt::format("--out {}: {}: name a folder that can be written", directory.string(), why));
  };
  std::error_code wrong;
  fs::create_directories(directory, wrong);
  if (wrong) return refuse("cannot be made: " + wrong.message());
  OutputFiles out;
  out.directory_ = directory;
  constexpr std::array<const char*, kFiles> kNames{"threads.csv",  "energies.csv", "clamps.csv",
                                                   "contacts.csv", "sutures.csv",  "timing.csv"};
  for (std::size_t f = 0; f < kFiles; ++f) {
    auto file = StreamedFile::open(directory / kNames[f]);
    if (!file) return usage_error(file.error().message);
    out.files_[f] = std::move(*file);
  }
  out.files_[threads].print("t_s,thread,vertex,s_mm,x_mm,y_mm,z_mm,twist_deg\n");
  out.files_[energies].print(
      "t_s,thread,stretch_mn_mm,bend_mn_mm,twist_mn_mm,kinetic_mn_mm,potential_mn_mm,total_mn_mm\n");
  out.files_[clamps].print("t_s,thread,at,fx_mn,fy_mn,fz_mn,tx_mn_mm,ty_mn_mm,tz_mn_mm\n");
  out.files_[contacts].print("t_s,thread_a,s_a_mm,kind_b,name_b,s_b_mm,gap_mm,normal_mn,friction_mn,state\n");
  out.files_[sutures].print("t_s,suture,hole,thread,tissue,s_mm,x_mm,y_mm,z_mm,fx_mn,fy_mn,fz_mn,sliding,left\n");
  StreamedFile& t = out.files_[timing];
  t.print("step,t_s,total_ms");
  for (const StageColumn& column : kStageColumns) t.print(",{}_ms", column.name);
  t.print(
      ",iterations,residual,contacts,contact_iterations,contact_residual,crossings_prevented,held_lag_mm,"
      "processor_ms\n");
  return out;
}

void OutputFiles::write_state(const world::World& world, const world::WorldParams& params, bool stepped) {
  const double t_s = world.time_s();
  std::vector<std::string> names = thread_names(world);
  for (std::string& name : names) name = csv_field(name);
  for (std::size_t k = 0; k < world.thread_count(); ++k) {
    const world::ThreadMeasure m = world.measure(k, false);
    const double elastic = m.stretch_energy + m.bend_energy + m.twist_energy;
    files_[energies].print("{},{},{},{},{},{},{},{}\n", t_s, names[k], mn(m.stretch_energy), mn(m.bend_energy),
                           mn(m.twist_energy), mn(m.kinetic_energy), mn(m.potential_energy),
                           mn(elastic + m.kinetic_energy + m.potential_energy));
    const world::ThreadShape shape = world.shape(k);
    for (std::size_t i = 0; i < shape.x.size(); ++i)
      files_[threads].print("{},{},{},{},{},{},{},{}\n", t_s, names[k], i, shape.s_mm[i], shape.x[i].x, shape.x[i].y,
                            shape.x[i].z, shape.twist_rad[i] * units::deg_per_rad);
  }
  if (!stepped) return;
  const auto given = clamps_of(params);
  std::size_t i = 0;
  for (const world::ClampMeasure& c : world.clamps()) {
    const world::Place& at = given[i++]->at;
    if (!c.active) continue;
    files_[clamps].print("{},{},{},{},{},{},{},{},{}\n", t_s, names[c.thread], place_name(at), mn(c.force.x),
                         mn(c.force.y), mn(c.force.z), mn(c.torque.x), mn(c.torque.y), mn(c.torque.z));
  }
  for (const world::ContactMeasure& c : world.contacts()) {
    using Other = world::ContactMeasure::Other;
    const bool strand = c.other == Other::thread, obstacle = c.other == Other::obstacle,
               tissue = c.other == Other::tissue;
    const std::string other = strand         ? names[c.index]
                              : obstacle     ? csv_field(params.obstacles[c.index].name)
                              : tissue       ? csv_field(params.tissues[c.index].name)
                              : c.index == 0 ? "left"
                                             : "right";
    files_[contacts].print("{},{},{},{},{},{},{},{},{},{}\n", t_s, names[c.thread], c.s_mm,
                           strand     ? "thread"
                           : obstacle ? "obstacle"
                           : tissue   ? "tissue"
                                      : "forceps",
                           other, strand ? c.other_s_mm : 0.0, c.gap_mm, mn(c.normal_force), mn(c.friction_force),
                           c.sliding ? "slip" : "stick");
  }
  for (const world::RingMeasure& r : world.rings())
    files_[sutures].print("{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", t_s, r.suture, r.exit ? "exit" : "entry",
                          names[r.thread], csv_field(params.tissues[r.tissue].name), r.s_mm, r.place.x, r.place.y,
                          r.place.z, mn(r.force.x), mn(r.force.y), mn(r.force.z), r.sliding ? 1 : 0, r.left ? 1 : 0);
}

void OutputFiles::write_timing(std::uint64_t step, double t_s, const StageTimes& times, const StepReport& report) {
  StreamedFile& out = files_[timing];
  out.print("{},{},{:.6f}", step, t_s, times.total_ms());
  for (std::size_t c = 0; c < kStageColumns.size(); ++c) out.print(",{:.6f}", times.column_ms(c));
  out.print(",{},{},{},{},{},{},{},{:.6f}\n", report.iterations, report.residual, report.contacts,
            report.contact_iterations, report.contact_residual, report.crossings_prevented, report.held_lag_mm,
            times.processor_ms());
}

bool OutputFiles::good() const {
  for (const StreamedFile& file : files_)
    if (file.wrong() != 0) return false;
  return true;
}

Result<void> OutputFiles::commit(std::string_view summary) {
  for (StreamedFile& file : files_)
    if (auto done = file.finish(); !done) return done;
  for (StreamedFile& file : files_)
    if (auto done = file.commit(); !done) return done;
  return config::write_file_atomically(directory_ / "summary.json", summary);
}

}  // namespace ligature::simulate
