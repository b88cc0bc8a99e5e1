/// The pipeline's stages, each alone on one thread, on what the demo recording really holds: decode, detection of four
/// frames, fit, physics with bench contact and grasps, picture.
#include <array>
#include <cstdio>
#include <memory>
#include <vector>

#include "appliance/rt/thread.hpp"
#include "appliance/run/session_files.hpp"
#include "config/profile_file.hpp"
#include "config/rig_file.hpp"
#include "config/scenario_file.hpp"
#include "render/renderer.hpp"
#include "sim/world/world.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {
namespace {

using watchdog::Histogram;

template <class Function>
void time_into(Histogram& histogram, Function&& function) {
  const std::int64_t start = rt::monotonic_now_ns();
  function();
  histogram.record(rt::monotonic_now_ns() - start);
}

struct Stages {
  std::array<Histogram, kStepStages> histograms;
  std::int64_t mark_ns = 0;
  static void done(void* context, StepStage stage) noexcept {
    auto& self = *static_cast<Stages*>(context);
    const std::int64_t now = rt::monotonic_now_ns();
    self.histograms[static_cast<std::size_t>(stage)].record(now - self.mark_ns);
    self.mark_ns = now;
  }
};

}  // namespace

bool measure_stages(Table& table, const std::string& profile_file) {
  const auto fail = [](const Error& error) {
    std::fprintf(stderr, "%s\n", error.message.c_str());
    return false;
  };
  const auto profile = config::load_profile(profile_file);
  if (!profile) return fail(profile.error());
  const auto rig = config::load_rig(profile->rig);
  if (!rig) return fail(rig.error());
  auto scenario = config::load_scenario(profile->scenario);
  if (!scenario) return fail(scenario.error());
  appliance::place_scene(*rig, scenario->params);
  // As the appliance runs them: first in line for the processor, where the machine grants it.
  rt::ThreadSettings as_in_the_appliance{"bench", rt::Policy::fifo, 80, -1};
  const rt::GrantReport grant = rt::apply_to_this_thread(as_in_the_appliance);
  table.remark(grant.granted ? "this thread runs under SCHED_FIFO 80" : grant.why);
  const auto samples = track_recording(table, profile->cameras.directory, *rig);
  if (!samples) return fail(samples.error());

  // Three rounds of the whole session, so that p99.9 rests on thousands of steps.
  auto steps = std::make_unique<Histogram>(), held = std::make_unique<Histogram>(),
       snap = std::make_unique<Histogram>();
  auto stages = std::make_unique<Stages>();
  std::vector<SceneSnapshot> pictures;
  std::uint64_t hash = 0;
  for (int round = 0; round < 3; ++round) {
    auto world = world::World::create(scenario->params, scenario->capacity);
    if (!world) return fail(world.error());
    world->observe_stages(&Stages::done, stages.get());
    auto snapshot = std::make_unique<SceneSnapshot>();
    std::size_t next = 0;
    const double step_s = scenario->params.step_s;
    for (std::uint64_t k = 1; next + 1 < samples->size(); ++k) {
      const auto t = static_cast<std::int64_t>(static_cast<double>(k) * step_s * 1e9);
      while (next + 1 < samples->size() && (*samples)[next + 1].mid_exposure_ns <= t) ++next;
      StepReport report;
      const std::int64_t start = rt::monotonic_now_ns();
      stages->mark_ns = start;
      report = world->step((*samples)[next]);
      const std::int64_t spent = rt::monotonic_now_ns() - start;
      steps->record(spent);
      if (report.grasped_vertices > 0) held->record(spent);
      time_into(*snap, [&] { world->snapshot(*snapshot); });
      // A thread under SCHED_FIFO that never sleeps is stopped for 50 ms of every second (sched_rt_runtime_us).
      rt::sleep_until(rt::monotonic_now_ns() + spent / 8);
      if (round == 0 && k % 40 == 0) pictures.push_back(*snapshot);
    }
    hash = world->state_hash();
  }
  table.add("physics step, all", *steps);
  table.add("physics step, thread grasped", *held);
  static constexpr std::array<const char*, kStepStages> kNames{"  instruments", "  detect",     "  couple", "  solve",
                                                               "  integrate",   "  continuous", "  finish"};
  for (std::size_t i = 0; i < kNames.size(); ++i) table.add(kNames[i], stages->histograms[i]);
  table.add("snapshot", *snap);
  char text[64];
  std::snprintf(text, sizeof text, "state after the session: %016llx", static_cast<unsigned long long>(hash));
  table.remark(text);

  rt::apply_to_this_thread({"bench", rt::Policy::other, 0, -1});  // the driver's workers would inherit it
  for (const int samples_per_pixel : {1, 4}) {
    render::RenderParams params = profile->render.params;
    params.presenter = "offscreen";
    params.samples = samples_per_pixel;
    auto renderer = render::Renderer::create(params, "bench");
    if (!renderer) return fail(renderer.error());
    auto picture = std::make_unique<Histogram>();
    for (const SceneSnapshot& scene : pictures) time_into(*picture, [&] { (*renderer)->render(scene); });
    table.add("stereo picture, " + std::to_string(samples_per_pixel) + " sample(s)", *picture);
    table.remark((*renderer)->info().line());
  }
  return true;
}

}  // namespace ligature::bench
