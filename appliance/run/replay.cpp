#include "appliance/run/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "appliance/run/hands.hpp"
#include "appliance/run/sample_log.hpp"
#include "appliance/run/scene.hpp"
#include "appliance/run/session_files.hpp"
#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "sim/world/world.hpp"

namespace ligature::appliance {
namespace {

constexpr double kLongestSilence_s = 3600;  // of a session's cameras, at its end

}  // namespace

Result<ReplayResult> replay_session(const std::string& directory, const ReplayWatch& watch) {
  const std::filesystem::path dir = directory;
  const std::filesystem::path file = dir / "session.json";
  std::ifstream in(file);
  if (!in)
    return usage_error(fmt::format("{}: cannot be read: name the --out folder of a `ligature run`", file.string()));
  ReplayResult result;
  std::vector<std::string> scenario_files;
  std::string rig_file, samples_file;
  double step_s = 0;
  HandsParams followed;
  try {
    const nlohmann::json session = nlohmann::json::parse(in);
    scenario_files.push_back(session.at("scenario").get<std::string>());
    if (session.contains("next"))
      for (const auto& next : session["next"]) scenario_files.push_back(next.get<std::string>());
    rig_file = dir / session.at("rig").get<std::string>();
    samples_file = dir / session.at("samples").get<std::string>();
    if (!session.at("steps").is_number_unsigned()) throw std::invalid_argument("steps is not a count");
    result.steps = session.at("steps").get<std::uint64_t>();
    step_s = session.at("step_s").get<double>();
    if (!(step_s >= 1e-5 && step_s <= 0.1)) throw std::invalid_argument("step_s is not within 1e-5..0.1");
    const std::string hash = session.at("state_hash").get<std::string>();
    const auto [end, wrong] = std::from_chars(hash.data(), hash.data() + hash.size(), result.recorded_hash, 16);
    if (wrong != std::errc{} || end != hash.data() + hash.size())
      throw std::invalid_argument("state_hash is not a hexadecimal number of 64 bits");
    result.complete = session.at("complete").get<bool>();
    if (session.contains("records")) {  // sessions of before that do not say
      if (!session["records"].is_number_unsigned()) throw std::invalid_argument("records is not a count");
      result.missing = session["records"].get<std::uint64_t>();
    }
    followed.filter = session.contains("hands");  // sessions of before there was a filter do not say
    if (followed.filter) {
      followed.filter = session["hands"].at("filter").get<bool>();
      followed.max_lead_ms = session["hands"].at("max_lead_ms").get<double>();
      if (!(followed.max_lead_ms >= 0 && followed.max_lead_ms <= 20))
        throw std::invalid_argument("max_lead_ms is not within 0..20");
    }
  } catch (const std::exception& wrong) {
    return usage_error(fmt::format("{}: not a session file: {}: name the --out folder of a `ligature run`",
                                   file.string(), wrong.what()));
  }
  const auto rig = config::load_rig(rig_file);
  if (!rig) return unexpected(rig.error());
  std::vector<config::Scenario> scenarios;
  for (const std::string& scenario_file : scenario_files) {
    auto scenario = config::load_scenario(scenario_file, kMaxSnapshotVertices);
    if (!scenario) return unexpected(scenario.error());
    place_scene(*rig, scenario->params);
    scenario->params.step_s = step_s;
    scenarios.push_back(std::move(*scenario));
  }
  std::size_t current = 0;
  const auto begin = [&]() -> Result<world::World> {
    auto world = world::World::create(scenarios[current].params, scenarios[current].capacity);
    if (!world) return unexpected(config::placed(scenarios[current], scenario_files[current], world.error()));
    return world;
  };
  const auto records = read_sample_log(samples_file);
  if (!records) return unexpected(records.error());
  result.missing -= std::min<std::uint64_t>(result.missing, records->size());
  const std::uint64_t last_record = records->empty() ? 0 : records->back().step;
  if (!result.complete || result.missing > 0) result.steps = last_record;
  if (step_s * static_cast<double>(result.steps - std::min(result.steps, last_record)) > kLongestSilence_s)
    return usage_error(fmt::format("{}: steps is {}, the last record of {} is of step {}: not of this session",
                                   file.string(), result.steps, samples_file, last_record));
  auto world = begin();
  if (!world) return unexpected(world.error());

  std::size_t next = 0;
  Scene scene(std::move(*world));
  Hands hands(followed);
  const auto step_ns = std::llround(step_s * 1e9);
  const auto told = [&](std::uint64_t step, bool fresh) -> Result<void> {
    if (!watch) return {};
    const double until_s = step_s * static_cast<double>(result.steps);
    return watch({scenarios[current], scene.world(), step_s * static_cast<double>(step), until_s, fresh});
  };
  if (auto seen = told(0, true); !seen) return unexpected(seen.error());
  for (std::uint64_t step = 1; step <= result.steps; ++step) {
    bool fresh = false;
    for (; next < records->size() && (*records)[next].step == step; ++next) {
      const SampleRecord& record = (*records)[next];
      if (record.inject_non_finite) {
        scene.world().inject_non_finite();
      } else if (record.control == Control::reset || record.control == Control::next) {
        if (record.control == Control::next) current = (current + 1) % scenarios.size(), fresh = true;
        auto anew = begin();
        if (!anew) return unexpected(anew.error());
        scene.reset(*anew);
      } else if (record.control != Control::none) {
        scene.control(record.control);
      } else {
        hands.take(record.sample);
      }
    }
    if (!scene.halted()) scene.world().step(hands.at(static_cast<std::int64_t>(step) * step_ns));
    if (auto seen = told(step, fresh); !seen) return unexpected(seen.error());
  }
  auto snapshot = std::make_unique<SceneSnapshot>();
  scene.world().snapshot(*snapshot);
  result.grasps = snapshot->grasps;
  result.state_hash = scene.state_hash();
  return result;
}

}  // namespace ligature::appliance
