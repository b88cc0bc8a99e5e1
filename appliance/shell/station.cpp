#include "appliance/shell/station.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "appliance/run/session.hpp"
#include "appliance/version.hpp"
#include "config/shell/table.hpp"
#include "sim/base/units.hpp"

namespace ligature::appliance {

using nlohmann::json;
using shell::View;

namespace {

constexpr std::size_t kLines = 2000;
constexpr std::array<const char*, kInstruments> kNames{"left", "right"};

const char* name_of(TrackStatus status) {
  return status == TrackStatus::tracked ? "tracked" : status == TrackStatus::predicted ? "predicted" : "lost";
}
std::string text(const json& data) {
  return data.dump(-1, ' ', false, json::error_handler_t::replace);
}
using Rows = std::vector<std::vector<std::string>>;
using Device = SessionStatus::Device;

/// Times that it came back after it was first found.
std::uint64_t replugs(const Device& d) {
  return d.connections > 1 ? d.connections - 1 : 0;
}

json of_device(const Device& d) {
  return {{"streaming", d.streaming},
          {"rate_hz", d.rate_hz},
          {"rate_asked_hz", d.rate_asked_hz},
          {"exposure_ms", d.exposure_ms},
          {"exposure_asked_ms", d.exposure_asked_ms},
          {"skew_ms", d.skew_ms},
          {"not_used", d.not_used},
          {"sequence_gaps", d.lost},
          {"overrun", d.overrun},
          {"incomplete", d.corrupt},
          {"bad_stamps", d.bad_time},
          {"replugs", replugs(d)},
          {"restarts", d.restarts},
          {"controls_refused", d.controls_refused}};
}

/// Counters down, cameras across, so that it fits a terminal; empty without devices.
std::string devices_table(const SessionStatus& s) {
  Rows rows{{"devices"}};
  const auto add = [&](const std::string& what, auto value) {
    std::vector<std::string> row{what};
    for (const auto& camera : s.cameras) row.push_back(camera.device ? value(*camera.device) : "-");
    rows.push_back(row);
  };
  const Device* first = nullptr;
  for (std::size_t c = 0; c < kCameras; ++c) {
    rows[0].push_back(fmt::format("C{}", c));
    if (first == nullptr && s.cameras[c].device) first = &*s.cameras[c].device;
  }
  if (first == nullptr) return "";
  const auto whole = [](auto Device::*counter) {
    return [counter](const Device& d) { return std::to_string(d.*counter); };
  };
  add(fmt::format("rate Hz (asked {:g})", first->rate_asked_hz),
      [](const Device& d) { return fmt::format("{:.2f}", d.rate_hz); });
  add("exposure ms / asked",
      [](const Device& d) { return fmt::format("{:g} / {:g}", d.exposure_ms, d.exposure_asked_ms); });
  add("skew ms", [](const Device& d) { return fmt::format("{:+.2f}", d.skew_ms); });
  add("not used, skewed", whole(&Device::not_used));
  add("sequence gaps", whole(&Device::lost));
  add("fetched too late", whole(&Device::overrun));
  add("incomplete images", whole(&Device::corrupt));
  add("bad time stamps", whole(&Device::bad_time));
  add("replugs", [](const Device& d) { return std::to_string(replugs(d)); });
  add("stream restarts", whole(&Device::restarts));
  add("controls refused", whole(&Device::controls_refused));
  return "\n" + shell::aligned(rows);
}

}  // namespace

void Station::session_begins(int commit) {
  const std::lock_guard lock(mutex_);
  runs_ = true;
  commit_ = commit;
  status_.reset();
  live_.reset();
  controls_.clear();
}

void Station::session_ended(const std::string& why) {
  {
    const std::lock_guard lock(mutex_);
    runs_ = false;
    if (!status_) ++settled_;
    why_ = why;
    status_.reset();
  }
  log(0, why);
}

bool Station::wait_for_restart(const std::atomic<bool>& stop) {
  while (!stop.load()) {
    if (restart_.exchange(false)) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  return false;
}

void Station::publish(SessionStatus status) {
  const std::lock_guard lock(mutex_);
  if (!status_) ++settled_;
  status_ = std::move(status);
}

void Station::log(double time_s, const std::string& what) {
  const std::lock_guard lock(mutex_);
  lines_.push_back(fmt::format("{:9.3f} s  {}", time_s, what));
  if (lines_.size() > kLines) lines_.pop_front(), ++first_line_;
}

std::optional<LiveSettings> Station::take_live() {
  const std::lock_guard lock(mutex_);
  return std::exchange(live_, std::nullopt);
}

bool Station::session_runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

int Station::started_from() const {
  const std::lock_guard lock(mutex_);
  return runs_ ? commit_ : 0;
}

std::uint64_t Station::settled() const {
  const std::lock_guard lock(mutex_);
  return settled_;
}

std::string Station::state() const {
  const auto s = status();
  const std::lock_guard lock(mutex_);
  if (!runs_) return why_.starts_with("no session") ? why_ : "no session runs: " + why_;
  if (!s) return fmt::format("a session starts from commit {}", commit_);
  return fmt::format("a session runs for {:.0f} s, from commit {}", s->time_s, commit_);
}

std::optional<SessionStatus> Station::status() const {
  const std::lock_guard lock(mutex_);
  return status_;
}

View Station::nothing() {
  return {"no session runs", "null"};
}

View Station::cameras() const {
  const auto s = status();
  if (!s) return nothing();
  Rows rows{{"camera", "images", "missing", "markers", "state"}};
  json data = json::array();
  for (std::size_t c = 0; c < kCameras; ++c) {
    const auto& camera = s->cameras[c];
    const std::size_t found = s->markers[c].found();
    const double age_s = s->time_s - 1e-9 * static_cast<double>(s->markers[c].mid_exposure_ns);
    const char* state = camera.failed                                  ? "broken"
                        : camera.device && !camera.device->streaming   ? "unplugged"
                        : camera.captured == 0                         ? "no image yet"
                        : age_s > 1                                    ? "silent"
                        : s->markers[c].full() > drivers::kOverexposed ? "overexposed"
                                                                       : "images";
    rows.push_back({fmt::format("C{}", c), std::to_string(camera.captured), std::to_string(camera.dropped),
                    fmt::format("{} of {}", found, drivers::kMarkers), state});
    data.push_back({{"name", fmt::format("C{}", c)},
                    {"captured", camera.captured},
                    {"dropped", camera.dropped},
                    {"markers", found},
                    {"full_scale", s->markers[c].full()},
                    {"state", state},
                    {"device", camera.device ? of_device(*camera.device) : json(nullptr)}});
  }
  return {shell::aligned(rows) + devices_table(*s), text(data)};
}

View Station::markers() const {
  const auto s = status();
  if (!s) return nothing();
  Rows rows{{"marker", "C0", "C1", "C2", "C3"}};
  json data = json::array();
  for (std::size_t m = 0; m < drivers::kMarkers; ++m) {
    std::vector<std::string> row{s->marker_names[m]};
    json views = json::array();
    for (const auto& set : s->markers) {
      if (!set.image || !set.found(m)) {
        row.push_back("-");
        views.push_back(nullptr);
        continue;
      }
      const auto& b = set.blobs[m][0];
      row.push_back(fmt::format("{:.1f} {:.1f}{}", b.u_px, b.v_px,
                                set.count[m] > 1 ? fmt::format(" +{}", set.count[m] - 1) : ""));
      views.push_back({{"u_px", b.u_px},
                       {"v_px", b.v_px},
                       {"area_px", b.area_px},
                       {"quality", b.quality},
                       {"candidates", set.count[m]}});
    }
    rows.push_back(row);
    data.push_back({{"marker", s->marker_names[m]}, {"views", views}});
  }
  return {fmt::format("{:.2f} s; pixels, +n: further blobs of that colour\n", s->time_s) + shell::aligned(rows),
          text(data)};
}

View Station::tracking() const {
  const auto s = status();
  if (!s) return nothing();
  Rows rows{
      {"forceps", "state", "x mm", "y mm", "z mm", "opening deg", "cameras", "residual px", "sigma mm", "tracked"}};
  json data = json::array();
  for (std::size_t k = 0; k < kInstruments; ++k) {
    const InstrumentPose& p = s->sample.instruments[k];
    const double opening_deg = p.opening_rad / units::rad_per_deg;
    rows.push_back({kNames[k], name_of(p.status), fmt::format("{:.2f}", p.X_RT.p.x), fmt::format("{:.2f}", p.X_RT.p.y),
                    fmt::format("{:.2f}", p.X_RT.p.z), fmt::format("{:.2f}", opening_deg), std::to_string(p.cameras),
                    fmt::format("{:.3f}", p.residual_px), fmt::format("{:.4f}", p.sigma_tip_mm),
                    std::to_string(s->tracked[k])});
    data.push_back({{"name", kNames[k]},
                    {"status", name_of(p.status)},
                    {"p_RT_mm", {p.X_RT.p.x, p.X_RT.p.y, p.X_RT.p.z}},
                    {"opening_deg", opening_deg},
                    {"cameras", p.cameras},
                    {"residual_px", p.residual_px},
                    {"sigma_tip_mm", p.sigma_tip_mm},
                    {"tracked", s->tracked[k]}});
  }
  return {fmt::format("{:.2f} s; tips in the rig\n", s->time_s) + shell::aligned(rows), text(data)};
}

View Station::exercise() const {
  const auto s = status();
  if (!s) return nothing();
  if (s->exercise_text.empty()) return {"the scene has no exercise\n", "null"};
  return {s->exercise_text, s->exercise_json};
}

View Station::watchdog() const {
  const auto s = status();
  if (!s) return nothing();
  const json data{{"time_s", s->time_s},
                  {"misses", s->misses},
                  {"events", s->events},
                  {"presented", s->presented},
                  {"latency_ms", {{"p50", s->latency_ms_p50}, {"p99", s->latency_ms_p99}}},
                  {"threads", json::parse(s->threads_json, nullptr, false)}};
  return {s->watchdog_table +
              fmt::format("{:.2f} of {:.0f} s{}, {} events, {} pictures; mid-exposure to picture p50 {:.1f}, p99 "
                          "{:.1f} ms\n{}\n",
                          s->time_s, s->duration_s, s->realtime ? "" : " in lockstep: no deadlines", s->events,
                          s->presented, s->latency_ms_p50, s->latency_ms_p99, s->picture),
          text(data)};
}

View Station::threads() const {
  const auto s = status();
  if (!s) return nothing();
  const json all = json::parse(s->threads_json, nullptr, false);
  Rows rows{{"thread", "policy", "core", "granted", "period ms", "misses", "p99 us", "max us"}};
  if (all.is_array())
    for (const json& t : all) {
      const json run = t.value("execution_us", json::object());
      rows.push_back({t.value("name", ""), t.value("policy", ""), std::to_string(t.value("core", -1)),
                      t.value("granted", false) ? "yes" : "no", fmt::format("{:.2f}", t.value("period_ms", 0.0)),
                      std::to_string(t.value("deadline_misses", 0)), fmt::format("{:.0f}", run.value("p99", 0.0)),
                      fmt::format("{:.0f}", run.value("max", 0.0))});
    }
  return {shell::aligned(rows), text(all)};
}

View Station::version() const {
  return {version_line(), text(version_line())};
}

std::vector<std::string> Station::log(std::uint64_t from, std::size_t most, std::uint64_t& next) const {
  const std::lock_guard lock(mutex_);
  const std::uint64_t end = first_line_ + lines_.size();
  std::uint64_t begin = std::max(from, first_line_);
  if (begin < end && end - begin > most) begin = end - most;
  next = end;
  std::vector<std::string> out;
  for (std::uint64_t i = begin; i < end; ++i) out.push_back(lines_[static_cast<std::size_t>(i - first_line_)]);
  return out;
}

bool Station::apply(const config::Profile& profile, const drivers::Rig&) {
  const std::lock_guard lock(mutex_);
  if (!runs_) return false;
  live_ = LiveSettings{profile.tracking.prediction_ms, profile.tracking.timeout_ms, profile.render.params.microscope,
                       profile.title};
  return true;
}

Result<void> Station::accept(const config::Profile& profile, const drivers::Rig&) const {
  return check_session(profile);
}

Result<void> Station::restart() {
  if (idle_)
    return unavailable(
        "this is the idle service of `ligature shell --serve`: start the appliance with `ligature run --config`");
  restart_.store(true);
  return {};
}

Result<void> Station::control(const std::string& name) {
  constexpr std::size_t kMostWaiting = 16;
  const auto which = control_of(name);
  if (!which) return usage_error(name + ": no control of an exercise");
  const std::lock_guard lock(mutex_);
  if (!runs_) return unavailable("no session runs: " + why_);
  if (*which == Control::next && status_ && status_->scenarios < 2)
    return unavailable(kNoNextExercise);
  if (controls_.size() >= kMostWaiting) return unavailable("the session does not take controls: try again");
  controls_.push_back(*which);
  return {};
}

std::vector<Control> Station::take_controls() {
  const std::lock_guard lock(mutex_);
  return std::exchange(controls_, {});
}

std::vector<std::string> Station::sessions() const {
  std::vector<std::string> out;
  std::error_code gone;
  for (std::filesystem::directory_iterator it(root_, gone), end; !gone && it != end; it.increment(gone))
    if (it->is_directory(gone)) out.push_back(it->path().filename().string());
  std::sort(out.begin(), out.end());
  return out;
}

}  // namespace ligature::appliance
