#include "tests/bench/knot_rows.hpp"
#include "appliance/rt/clock.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "appliance/sim/quantiles.hpp"
#include "sim/world/world.hpp"
#include "tests/bench/bullet_chain.hpp"
#include "tests/bench/knot_curves.hpp"
#include "tests/bench/knot_scenes.hpp"

namespace ligature::bench {
namespace {

using nlohmann::json;
using simulate::Quantiles;

constexpr int kStepsPerFrame = 6;
constexpr double kBrief_s = 0.1;                     // of preparation
constexpr int kSwingSteps = 100;                     // of 5 ms, kWorkPeriod_s
constexpr std::size_t kWorked = 1, kWorkedOnce = 3;  // of our rows, those that are compared

double processor_ms() {
  return 1e-6 * static_cast<double>(rt::processor_now_ns());
}

/// Those who can be asked to simulate a scene.
struct Engine {
  std::function<void()> step;
  std::function<std::vector<Curve>()> curves;
  std::function<bool()> finite;
  bool smooth = true;  ///< its contact is between the splines of the vertices, not between their polylines
};

struct Timing {
  std::string name;
  double prepared_s = 0;  ///< simulated until it was tight
  bool settled = false;   ///< the ends had come to rest by then
  Quantiles frame_ms, step_ms;
  double penetration = 0;  ///< worst at the end of any frame, over the radius, of what the engine itself takes for
                           ///< the surface: ours the tube round the spline, Bullet's capsules
  double as_spline = 0, as_capsules = 0;  ///< the same of every engine's vertices, taken either way
  double slip = 0;                        ///< of a tail through the knot while timed, in diameters
  double travel = 0;                      ///< of the loaded ends along their loads while timed, in diameters
  bool finite = true;
  int contacts = 0, steps = 0, unconverged = 0;
  std::uint64_t hash = 0;
  // ours
  double residual = 0, contact_residual = 0;
  std::uint32_t crossings = 0, prevented = 0, flags = 0;
  std::array<Quantiles, kStepStages> stage_ms;
  // Bullet's
  double worst_joint = 0;
};

/// How far the ends went along the loads that last, all together, in diameters. (A stretchy thread's swing with them.)
double travel(const KnotScene& scene, const std::vector<Curve>& from, const std::vector<Curve>& to) {
  double sum = 0;
  for (std::size_t t = 0; t < scene.params.threads.size(); ++t)
    for (const auto& force : scene.params.threads[t].forces) {
      if (force.until_s < world::kForever) continue;
      const bool first = force.at.kind == world::Place::Kind::first;
      const Vec3 moved = first ? to[t].x.front() - from[t].x.front() : to[t].x.back() - from[t].x.back();
      sum += dot(moved, force.force) / norm(force.force) / (2 * to[t].radius);
    }
  return sum;
}

std::vector<double> tails(const KnotScene& scene, const std::vector<Curve>& curves) {
  std::vector<double> lengths;
  for (const Tail& tail : scene.tails) lengths.push_back(free_tail(curves, tail.thread, tail.last));
  return lengths;
}

/// `whole`: steps all the time and says whether the ends stood still at its end. Else steps until the loaded ends stand
/// still (three times running less than a fiftieth of a diameter in 0.3 s, so that the turning point of a swing is
/// none) or the time is over.
void prepare(const KnotScene& scene, double most_s, bool whole, Engine& engine, Timing& timing) {
  const double dt = scene.params.step_s;
  double loaded_s = 0.5;
  for (const auto& thread : scene.params.threads) {
    for (const auto& force : thread.forces) loaded_s = std::max(loaded_s, force.from_s + force.ramp_s + 0.5);
    for (const auto& clamp : thread.clamps)
      if (clamp.until_s < world::kForever) loaded_s = std::max(loaded_s, clamp.until_s + 0.3);
  }
  auto before = engine.curves();
  const int look_every = static_cast<int>(std::lround(0.3 / dt));
  int still = 0;
  for (int step = 1; step * dt <= most_s + 0.1 * dt && (whole || !timing.settled); ++step) {
    engine.step();
    timing.prepared_s = step * dt;
    if (step % look_every != 0) continue;
    auto now = engine.curves();
    still = timing.prepared_s >= loaded_s && std::abs(travel(scene, before, now)) < 0.02 ? still + 1 : 0;
    timing.settled = still >= 3;
    before = std::move(now);
    if (!engine.finite()) return;
  }
}

/// The timed frames. `after_step` sees every step, `after_frame` every frame, both outside the clock.
void time_frames(const KnotScene& scene, int frames, Engine& engine, Timing& timing,
                 const std::function<void()>& after_step, const std::function<void()>& after_frame) {
  const auto start = engine.curves();
  const auto tails_before = tails(scene, start);
  for (int frame = 0; frame < frames && timing.finite; ++frame) {
    double spent = 0;
    for (int k = 0; k < kStepsPerFrame; ++k) {
      const double from = processor_ms();
      engine.step();
      const double step = processor_ms() - from;
      spent += step;
      timing.step_ms.add(step);
      after_step();
    }
    timing.frame_ms.add(spent);
    after_frame();
    timing.finite = engine.finite();
    if (!timing.finite) continue;
    const auto curves = engine.curves();
    timing.as_spline = std::max(timing.as_spline, worst_penetration(curves, true));
    timing.as_capsules = std::max(timing.as_capsules, worst_penetration(curves, false));
  }
  timing.penetration = engine.smooth ? timing.as_spline : timing.as_capsules;
  if (!timing.finite) return;
  const auto end = engine.curves();
  timing.travel = travel(scene, start, end);
  const auto tails_after = tails(scene, end);
  for (std::size_t k = 0; k < tails_after.size(); ++k)
    timing.slip = std::max(timing.slip, (tails_before[k] - tails_after[k]) / (2 * end[scene.tails[k].thread].radius));
  if (scene.tails.empty()) timing.slip = std::abs(timing.travel);
}

void dump(const KnotOptions& options, const KnotScene& scene, const std::string& name,
          const std::vector<Curve>& curves) {
  if (options.dump.empty()) return;
  for (std::size_t t = 0; t < curves.size(); ++t) {
    std::string file = options.dump + "/" + scene.name + "_" + name + "_" + std::to_string(t) + ".csv";
    for (char& c : file) c = c == ' ' || c == ',' ? '-' : c;
    std::ofstream out(file);
    for (const Vec3 p : curves[t].x) out << p.x << ',' << p.y << ',' << p.z << '\n';
  }
}

std::vector<Curve> curves_of(const world::World& world, const KnotScene& scene) {
  std::vector<Curve> curves;
  for (std::size_t t = 0; t < world.thread_count(); ++t)
    curves.push_back({world.shape(t).x, scene.params.threads[t].diameter_mm / 2});
  return curves;
}

struct StageClock {
  std::array<double, kStepStages> spent{};
  double mark = 0;
  static void done(void* context, StepStage stage) noexcept {
    auto& self = *static_cast<StageClock*>(context);
    const double now = processor_ms();
    self.spent[static_cast<std::size_t>(stage)] += now - self.mark;
    self.mark = now;
  }
};

/// At rest under its loads, then worked.
Result<std::vector<Timing>> time_ours(const KnotOptions& options, const KnotScene& scene, const std::string& name,
                                      const world::SolverParams& solver) {
  world::WorldParams params = scene.params;
  params.solver = solver;
  const double timed_s = options.frames * kStepsPerFrame * params.step_s;
  work(params, scene.work_spin_rad_per_s, scene.prepare_s + timed_s, timed_s + kWorkPeriod_s);
  auto world = world::World::create(params, scene.capacity);
  if (!world) return unexpected(world.error());
  const InstrumentSample nobody;
  StageClock stages;
  StepReport report;
  world->observe_stages(&StageClock::done, &stages);
  Engine engine{[&] {
                  stages.mark = processor_ms();
                  report = world->step(nobody);
                },
                [&] { return curves_of(*world, scene); }, [] { return true; }};
  std::vector<Timing> phases(2);
  prepare(scene, scene.prepare_s, true, engine, phases[0]);
  phases[1].prepared_s = phases[0].prepared_s + timed_s;
  phases[1].settled = phases[0].settled;
  dump(options, scene, name + " tight", engine.curves());
  for (Timing& timing : phases) {
    timing.name = name + (&timing == &phases[0] ? ", rest" : ", worked");
    // The first swing pulls tighter than before: not timed.
    if (&timing == &phases[1])
      for (int k = 0; k < kSwingSteps; ++k) engine.step();
    stages.spent = {};
    time_frames(
        scene, options.frames, engine, timing,
        [&] {
          ++timing.steps;
          timing.contacts = std::max(timing.contacts, static_cast<int>(report.contacts));
          timing.residual = std::max(timing.residual, report.residual);
          timing.contact_residual = std::max(timing.contact_residual, report.contact_residual);
          timing.crossings += report.crossings_found;
          timing.prevented += report.crossings_prevented;
          timing.flags |= report.flags;
          timing.unconverged += (report.flags & step_not_converged) != 0;
          timing.finite = timing.finite && (report.flags & step_non_finite_restored) == 0;
        },
        [&] {
          for (std::size_t s = 0; s < stages.spent.size(); ++s) timing.stage_ms[s].add(stages.spent[s]);
          stages.spent = {};
        });
    timing.hash = world->state_hash();
  }
  dump(options, scene, name, engine.curves());
  return phases;
}

Engine engine_of(BulletChain& chain) {
  return {[&chain] { chain.step(); }, [&chain] { return chain.curves(); }, [&chain] { return chain.finite(); }, false};
}

/// Three settings of each solver at 10 and 50 iterations.
std::vector<BulletSettings> bullet_settings() {
  std::vector<BulletSettings> all;
  for (const auto solver : {BulletSettings::Solver::sequential_impulse, BulletSettings::Solver::nncg})
    for (const int iterations : {10, 50})
      for (int setting = 0; setting < 3; ++setting) {
        BulletSettings s;
        s.solver = solver;
        s.iterations = iterations;
        s.name = std::string("Bullet ") + (solver == BulletSettings::Solver::nncg ? "NNCG " : "SI ") +
                 std::to_string(iterations);
        if (setting == 0) {
          s.name += ", as it comes";
        } else if (setting == 1) {
          s.name += ", stiff";
          s.erp = 0.6;
          s.friction_anchors = true;
        } else {
          s.name += ", 4 substeps";
          s.erp = 0.4;
          s.substeps = 4;
          s.friction_anchors = true;
        }
        all.push_back(s);
      }
  return all;
}

void print_heading() {
  std::fprintf(stderr, "  %-26s %7s %7s %7s %7s %7s %5s %9s %9s %8s %8s %8s %8s %8s %8s  %-16s\n", "processor time, ms",
               "p50", "p99", "p99.9", "max", "1 step", "cont.", "residual", "contact", "penetr/r", "spline", "capsules",
               "slip/d", "ends/d", "joint/r", "state");
}

void print(const Timing& t) {
  std::fprintf(stderr, "  %-26s %7.2f %7.2f %7.2f %7.2f %7.2f %5d ", t.name.c_str(), t.frame_ms.at(0.5),
               t.frame_ms.at(0.99), t.frame_ms.at(0.999), t.frame_ms.max(), t.step_ms.max(), t.contacts);
  const bool peer = t.name.starts_with("Bullet");
  if (peer)
    std::fprintf(stderr, "%9s %9s ", "-", "-");
  else
    std::fprintf(stderr, "%9.1e %9.1e ", t.residual, t.contact_residual);
  std::fprintf(stderr, "%8.4f %8.4f %8.4f %8.3f %8.3f ", t.penetration, t.as_spline, t.as_capsules, t.slip, t.travel);
  if (peer)
    std::fprintf(stderr, "%8.3f  ", t.worst_joint);
  else
    std::fprintf(stderr, "%8s  ", "-");
  std::fprintf(stderr, "%016llx%s%s", static_cast<unsigned long long>(t.hash), t.finite ? "" : "  NOT FINITE",
               t.settled ? "" : "  (ends not at rest when timing began)");
  if (t.unconverged > 0) std::fprintf(stderr, "  %d of %d steps not converged", t.unconverged, t.steps);
  if (t.prevented > 0) std::fprintf(stderr, "  moves cut %u", t.prevented);
  if (t.crossings > 0) std::fprintf(stderr, "  CROSSINGS UNDONE %u", t.crossings);
  std::fprintf(stderr, "\n");
}

std::vector<Timing> time_bullet(const KnotOptions& options, const KnotScene& scene) {
  // From where ours has come after its preparation, so that all begin with the same tight knot, in the same segments
  // (those of an adaptive thread as they are then); Bullet then comes to rest under its load, and every setting has a
  // second of its own before it is worked and timed.
  world::WorldParams params = scene.params;
  params.solver.iterations = options.iterations;
  params.solver.contact_iterations = options.contact_iterations;
  auto ours = world::World::create(params, scene.capacity);
  if (!ours) {
    std::fprintf(stderr, "  no peer: %s\n", ours.error().message.c_str());
    return {};
  }
  for (int k = 0; k < static_cast<int>(std::lround(scene.prepare_s / params.step_s)); ++k) ours->step({});
  std::vector<std::vector<Vec3>> vertices;
  for (std::size_t t = 0; t < ours->thread_count(); ++t) vertices.push_back(ours->shape(t).x);

  BulletSettings careful;
  careful.iterations = 50;
  careful.erp = 0.4;
  careful.friction_anchors = true;
  BulletChain tight(scene.params, vertices, scene.prepare_s, careful);
  Timing preparation;
  Engine engine = engine_of(tight);
  const double most_s = options.brief ? kBrief_s : 5;
  prepare(scene, most_s, false, engine, preparation);
  preparation.prepared_s += scene.prepare_s;
  dump(options, scene, "Bullet tight", tight.curves());
  // Is it the same knot, as tight? Ends further along their loads: strands nearer, or joints open.
  std::vector<Curve> ours_tight;
  for (std::size_t t = 0; t < vertices.size(); ++t)
    ours_tight.push_back({vertices[t], scene.params.threads[t].diameter_mm / 2});
  std::fprintf(stderr,
               "  Bullet begins with ours, tight; in %.1f s its loaded ends go %.2f diameters along their loads\n",
               preparation.prepared_s - scene.prepare_s, travel(scene, ours_tight, tight.curves()));

  std::vector<Timing> timings;
  for (const BulletSettings& settings : bullet_settings()) {
    BulletChain chain(tight, settings);
    Timing timing;
    timing.name = settings.name;
    timing.prepared_s = preparation.prepared_s;
    timing.settled = preparation.settled;
    Engine with = engine_of(chain);
    const int settle = options.brief ? 2 : 200, swing = options.brief ? 2 : kSwingSteps;
    for (int k = 0; k < settle && chain.finite(); ++k) with.step();
    chain.work(kWorkShare, scene.work_spin_rad_per_s, kWorkPeriod_s);
    for (int k = 0; k < swing && chain.finite(); ++k) with.step();
    time_frames(
        scene, options.frames, with, timing,
        [&] {
          timing.contacts = std::max(timing.contacts, chain.contacts());
          timing.worst_joint = std::max(timing.worst_joint, chain.worst_joint());
        },
        [] {});
    timing.hash = chain.state_hash();
    dump(options, scene, settings.name, chain.curves());
    print(timing);
    timings.push_back(std::move(timing));
  }
  return timings;
}

json to_json(const Timing& t) {
  json stages;
  static constexpr std::array<const char*, kStepStages> kNames{"instruments", "detect",     "couple", "solve",
                                                               "integrate",   "continuous", "finish"};
  for (std::size_t s = 0; s < kNames.size(); ++s)
    if (t.stage_ms[s].count() > 0)
      stages[kNames[s]] = {
          {"p50", t.stage_ms[s].at(0.5)}, {"p99", t.stage_ms[s].at(0.99)}, {"max", t.stage_ms[s].max()}};
  char hash[17];
  std::snprintf(hash, sizeof hash, "%016llx", static_cast<unsigned long long>(t.hash));
  json out{{"name", t.name},
           {"prepared_s", t.prepared_s},
           {"at_rest", t.settled},
           {"finite", t.finite},
           {"frames", t.frame_ms.count()},
           {"frame_ms",
            {{"p50", t.frame_ms.at(0.5)},
             {"p99", t.frame_ms.at(0.99)},
             {"p999", t.frame_ms.at(0.999)},
             {"max", t.frame_ms.max()}}},
           {"step_ms_max", t.step_ms.max()},
           {"contacts_max", t.contacts},
           {"penetration_over_radius", t.penetration},
           {"penetration_as_spline", t.as_spline},
           {"penetration_as_capsules", t.as_capsules},
           {"slip_over_diameter", t.slip},
           {"ends_over_diameter", t.travel},
           {"state_hash", hash}};
  if (t.name.starts_with("Bullet")) {
    out["joint_over_radius"] = t.worst_joint;
  } else {
    out["stage_ms"] = stages;
    out["residual_max"] = t.residual;
    out["contact_residual_max"] = t.contact_residual;
    out["crossings_found"] = t.crossings;
    out["crossings_prevented"] = t.prevented;
    out["flags"] = t.flags;
    out["steps_not_converged"] = t.unconverged;
  }
  return out;
}

void print_stages(const Timing& t) {
  static constexpr std::array<const char*, kStepStages> kNames{"instruments", "detect",     "couple", "solve",
                                                               "integrate",   "continuous", "finish"};
  std::fprintf(stderr, "  %-26s", "  stages, p50 / p99:");
  for (std::size_t s = 0; s < kNames.size(); ++s)
    if (t.stage_ms[s].max() > 5e-4)
      std::fprintf(stderr, " %s %.2f / %.2f", kNames[s], t.stage_ms[s].at(0.5), t.stage_ms[s].at(0.99));
  std::fprintf(stderr, "\n");
}

/// The best of Bullet's three settings at so many iterations of one solver: the fastest at p99 of those whose knot held
/// as ours did (slip at most half a diameter more); where none did, the one that slipped least.
const Timing* best(const std::vector<Timing>& all, const std::string& prefix, double slip) {
  const Timing* found = nullptr;
  const auto holds = [&](const Timing& t) { return t.finite && t.slip <= slip + 0.5; };
  for (const Timing& t : all) {
    if (!t.name.starts_with(prefix) || !t.finite) continue;
    if (found == nullptr || (holds(t) != holds(*found) ? holds(t)
                             : holds(t)                ? t.frame_ms.at(0.99) < found->frame_ms.at(0.99)
                                                       : t.slip < found->slip))
      found = &t;
  }
  return found;
}

json compare(const Timing& ours, const std::vector<Timing>& peers) {
  json out = json::array();
  std::fprintf(stderr, "  %s\n", ours.name.c_str());
  if (ours.contacts == 0) {
    std::fprintf(stderr, "  not compared: it had no contact\n");
    return out;
  }
  for (const char* prefix : {"Bullet SI 10,", "Bullet SI 50,", "Bullet NNCG 10,", "Bullet NNCG 50,"}) {
    const Timing* peer = best(peers, prefix, ours.slip);
    if (peer == nullptr) {
      std::fprintf(stderr, "  against %s none of three settings stayed finite\n", prefix);
      out.push_back({{"peer", prefix}, {"finite", false}});
      continue;
    }
    const double faster = peer->frame_ms.at(0.99) / ours.frame_ms.at(0.99);
    // Less than a millionth of a radius is none.
    const auto ratio = [](double theirs, double own) { return std::max(theirs, 1e-6) / std::max(own, 1e-6); };
    const double deeper = ratio(peer->penetration, ours.penetration);
    const double as_spline = ratio(peer->as_spline, ours.as_spline);
    const double as_capsules = ratio(peer->as_capsules, ours.as_capsules);
    const bool equal = peer->slip <= ours.slip + 0.5;
    std::fprintf(
        stderr,
        "  against %-28s %6.2f times faster at p99, its penetration %.3g times ours (as splines %.3g, as capsules "
        "%.3g)%s\n",
        (peer->name + ":").c_str(), faster, deeper, as_spline, as_capsules, equal ? "" : ", and its knot slips more");
    out.push_back({{"peer", peer->name},
                   {"finite", true},
                   {"times_faster_p99", faster},
                   {"penetration_ratio", deeper},
                   {"penetration_ratio_as_spline", as_spline},
                   {"penetration_ratio_as_capsules", as_capsules},
                   {"equal_slip", equal}});
  }
  return out;
}

}  // namespace

bool measure_knots(Table& table, const KnotOptions& options) {
  const auto scenes = knot_scenes(LIGATURE_SOURCE_DIR "/config");
  if (!scenes) {
    std::fprintf(stderr, "%s\n", scenes.error().message.c_str());
    return false;
  }
  json report = json::array();
  for (KnotScene scene : *scenes) {
    if (options.brief) scene.prepare_s = kBrief_s;
    if (!options.scene.empty() && options.scene != scene.name) continue;
    std::fprintf(stderr, "\n%s: %s\n", scene.name.c_str(), scene.title.c_str());
    print_heading();
    json rows = json::array();
    std::vector<Timing> ours;
    if (options.ours) {
      world::SolverParams product = scene.params.solver, once, thesis;
      product.iterations = options.iterations;
      product.contact_iterations = options.contact_iterations;
      once = product;
      once.iterations = 1;
      thesis.contact = world::SolverParams::Contact::nncg;
      thesis.contact_iterations = 10;
      thesis.iterations = 1;
      for (const auto& [name, solver] : {std::pair<std::string, world::SolverParams>{"Ligature", product},
                                         std::pair<std::string, world::SolverParams>{"Ligature, one solve", once},
                                         std::pair<std::string, world::SolverParams>{"nncg 10", thesis}}) {
        auto phases = time_ours(options, scene, name, solver);
        if (!phases) {
          std::fprintf(stderr, "%s: %s\n", scene.name.c_str(), phases.error().message.c_str());
          return false;
        }
        for (Timing& timing : *phases) {
          print(timing);
          print_stages(timing);
          rows.push_back(to_json(timing));
          ours.push_back(std::move(timing));
        }
      }
    }
    std::vector<Timing> peers;
    if (options.peer) {
      peers = time_bullet(options, scene);
      for (const Timing& timing : peers) rows.push_back(to_json(timing));
    }
    json entry{{"scene", scene.name}, {"title", scene.title}, {"rows", rows}};
    if (!ours.empty() && scene.budget_ms > 0)
      std::fprintf(stderr, "  budget: %.0f ms at p99: %s\n", scene.budget_ms,
                   ours[kWorked].frame_ms.at(0.99) <= scene.budget_ms ? "kept" : "missed");
    if (!ours.empty() && !peers.empty()) {
      entry["comparison"] = compare(ours[kWorked], peers);
      entry["comparison_one_solve"] = compare(ours[kWorkedOnce], peers);
    }
    report.push_back(entry);
  }
  if (report.empty()) {
    std::fprintf(stderr, "no scene '%s': one of", options.scene.c_str());
    for (const KnotScene& scene : *scenes) std::fprintf(stderr, " %s", scene.name.c_str());
    std::fprintf(stderr, "\n");
    return false;
  }
  table.attach("knots", report.dump());
  return true;
}

}  // namespace ligature::bench
