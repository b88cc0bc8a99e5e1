#include "appliance/run/session_files.hpp"

#include <fmt/format.h>

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <vector>

#include "appliance/version.hpp"
#include "config/atomic_file.hpp"
#include "config/rig_file.hpp"

namespace ligature::appliance {

std::string dump(const nlohmann::json& object) {
  return object.dump(2, ' ', false, nlohmann::json::error_handler_t::replace);
}

void place_scene(const drivers::Rig& rig, world::WorldParams& params) {
  params.X_RW = rig.X_RW;
  params.motion_scale = rig.motion_scale;
  for (std::size_t i = 0; i < kInstruments; ++i) params.forceps[i].hinge_p_T = rig.instruments[i].hinge_p_T;
}

Result<void> write_session_files(const std::filesystem::path& directory, const config::Profile& profile,
                                 const drivers::Rig& rig, const SessionSummary& summary) {
  nlohmann::json session;
  session["version"] = version_line();
  session["profile"] = std::filesystem::absolute(profile.file).lexically_normal().string();
  session["scenario"] = std::filesystem::absolute(profile.scenario).lexically_normal().string();
  if (!profile.next_scenarios.empty()) session["next"] = nlohmann::json::array();
  for (const std::filesystem::path& next : profile.next_scenarios)
    session["next"].push_back(std::filesystem::absolute(next).lexically_normal().string());
  session["rig"] = "rig.toml";
  session["samples"] = "samples.csv";
  session["complete"] = summary.complete;
  if (summary.complete) session["records"] = summary.samples;
  session["steps"] = summary.steps;
  session["step_s"] = summary.step_s;
  session["hands"] = {{"filter", profile.tracking.filter}, {"max_lead_ms", profile.tracking.max_lead_ms}};
  session["state_hash"] = fmt::format("{:016x}", summary.state_hash);
  if (auto saved = config::save_rig(directory / "rig.toml", rig); !saved) return saved;
  return config::write_file_atomically(directory / "session.json", dump(session) + "\n");
}

void forget_session_before(const std::filesystem::path& directory) {
  std::error_code wrong;
  if (!std::filesystem::exists(directory / "session.json", wrong)) return;
  std::vector<std::filesystem::path> old;
  for (std::filesystem::directory_iterator it(directory, wrong), end; !wrong && it != end; it.increment(wrong)) {
    const std::string name = it->path().filename();
    const bool still = name.starts_with("stereo_") && (name.ends_with("s.png") || name == "stereo_last.png");
    if (still || name == "stereo.mp4" || name == "exercise.png" || name == "report.json") old.push_back(it->path());
  }
  for (const std::filesystem::path& file : old) std::filesystem::remove(file, wrong);
}

Result<void> FrameLogWriter::open(const std::string& path) {
  file_ = std::fopen(path.c_str(), "w");
  if (!file_) return unavailable(fmt::format("{}: cannot be written: {}", path, std::strerror(errno)));
  fmt::print(file_,
             "picture,step,trigger,cameras_alive,mid_exposure_session_ns,mid_exposure_ns,captured_ns,detected_ns,"
             "tracked_ns,physics_start_ns,physics_end_ns,snapshot_ns,render_start_ns,presented_ns\n");
  return {};
}

bool FrameLogWriter::write(const watchdog::FrameRecord& r) {
  if (!file_) return false;
  fmt::print(file_, "{},{},{},{},{},{},{},{},{},{},{},{},{},{}\n", r.picture, r.step, r.trigger,
             unsigned{r.cameras_alive}, r.mid_exposure_session_ns, r.mid_exposure_ns, r.captured_ns, r.detected_ns,
             r.tracked_ns, r.physics_start_ns, r.physics_end_ns, r.snapshot_ns, r.render_start_ns, r.presented_ns);
  return std::ferror(file_) == 0;
}

bool FrameLogWriter::flush() {
  return file_ && std::fflush(file_) == 0 && fdatasync(fileno(file_)) == 0;
}

void FrameLogWriter::close() {
  if (file_) std::fclose(file_);
  file_ = nullptr;
}

}  // namespace ligature::appliance
