/// Tissue: windows of 30 ms of simulated time, six steps, in processor time of this thread. Alone while a pull comes
/// and goes; stitched, each thread pulled and at rest, with elements and stitches growing; one linearisation as contact
/// asks for.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <numbers>
#include <utility>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "appliance/sim/chart.hpp"
#include "sim/tissue/tissue.hpp"
#include "sim/world/world.hpp"
#include "tests/bench/picture.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {
namespace {

constexpr int kSteps = 6;        // of 5 ms, a window
constexpr int kSettle = 20;      // windows before those that are measured
constexpr double kPull = 1000;   // on each stitch's thread [uN]
constexpr int kIterations = 12;  // and kResidual: the settings of the exercise
constexpr double kResidual = 1e-4;
constexpr double kAskedAlone = 3, kAskedScene = 15;  // of a window, drawn [ms]

using Size = std::pair<int, int>;  // elements around, along

struct Point {
  double elements = 0, stitches = 0;
  double p50_ms = 0, p99_ms = 0;           // of a window
  double iterations = 0, unconverged = 0;  // of a step, mean
};

template <class Step>
Point windows(Table& table, const std::string& name, int count, const Step& step) {
  watchdog::Histogram histogram;
  for (int w = 0; w < count; ++w) {
    const std::int64_t start = rt::processor_now_ns();
    for (int k = 0; k < kSteps; ++k) step();
    histogram.record(rt::processor_now_ns() - start);
  }
  table.add(name, histogram);
  Point out;
  out.p50_ms = 1e-6 * static_cast<double>(histogram.percentile_ns(0.5));
  out.p99_ms = 1e-6 * static_cast<double>(histogram.percentile_ns(0.99));
  return out;
}

Result<Point> alone(Table& table, const Size& size, int count) {
  tissue::Vessel v;
  v.around = size.first, v.along = size.second;
  auto model = tissue::vessel_model(v);
  if (!model) return unexpected(model.error());
  auto made = tissue::Tissue::create(std::move(*model));
  if (!made) return unexpected(made.error());
  tissue::Tissue& t = *made;
  const std::uint32_t pulled = tissue::vessel_node(v, v.along, 0, 1);
  const std::string elements = std::to_string(t.elements()) + " hexahedra";
  int step = 0;
  Point out = windows(table, elements + ", 0.3 mN on and off", count, [&] {
    if (step % 40 == 0) t.clear_loads();
    if (step % 40 == 10) t.load(pulled, {0, 300, 0});
    t.step_alone(0.005);
    ++step;
  });
  out.elements = static_cast<double>(t.elements());
  t.begin(0.005);
  table.measure(elements + ", linearise, solve, push, solve", 2 * count, [&] {
    t.linearise();
    t.push(pulled, {0, 200, 0});
    t.solve();
    t.push(pulled, {0, 50.0 * (step++ % 3), 0});
    t.solve();
    t.advance(t.reach());
  });
  t.finish();
  StateHash hash;
  t.add_to(hash);
  char text[80];
  std::snprintf(text, sizeof text, "state %016llx, %d inside out", static_cast<unsigned long long>(hash.value()),
                t.report().inverted);
  table.remark(text);
  return out;
}

/// A vessel end whose free rim is drawn outwards by stitches of 10-0, evenly round it, each held within the lumen.
/// @param works the pull comes and goes, else it stays
world::WorldParams stitched(const Size& size, int stitches, bool works, double until_s) {
  world::WorldParams p;
  p.step_s = 0.005;
  p.forceps_present = false;
  p.solver.iterations = kIterations;
  p.solver.residual_target = kResidual;
  p.friction.thread_tissue = 0.1;
  world::TissueParams vessel;
  vessel.name = "vessel";
  vessel.around = size.first, vessel.along = size.second;
  p.tissues = {vessel};
  for (int k = 0; k < stitches; ++k) {
    const double turn = 2 * std::numbers::pi * k / stitches;
    const Vec3 out{0, std::cos(turn), std::sin(turn)};
    const auto at = [&](double along, double aside) { return Vec3{along, aside * out.y, aside * out.z}; };
    world::ThreadParams t;
    t.points = {at(3.5, 2.5), at(3.5, 0.35), at(3.6, 0.25), at(3.8, 0.2), at(7, 0.2)};
    t.segment_mm = 0.1;
    t.diameter_mm = 0.025;
    t.material = world::round_thread(2.5e9, 0.4, 1.14e-3, t.diameter_mm, 4e-5);
    world::ForceParams force;
    force.at.kind = world::Place::Kind::first;
    force.force = {0, kPull * out.y, kPull * out.z};
    force.ramp_s = 0.1;
    if (works) force.until_s = 0.2;
    for (; t.forces.empty() || (works && force.from_s < until_s); force.from_s += 0.4, force.until_s += 0.4)
      t.forces.push_back(force);
    world::ClampParams held;
    held.at.kind = world::Place::Kind::last;
    t.clamps = {held};
    p.threads.push_back(t);
    p.sutures.push_back({static_cast<std::size_t>(k), 0, at(3.5, 0.5), at(3.5, 0.4), 0.06});
  }
  return p;
}

Result<Point> drawn_by(Table& table, const Size& size, int stitches, bool works, int count) {
  auto world = world::World::create(stitched(size, stitches, works, 0.03 * (kSettle + count)), {});
  if (!world) return unexpected(world.error());
  for (int k = 0; k < kSettle * kSteps; ++k) world->step({});
  double iterations = 0, unconverged = 0;
  const int elements = size.first * size.second;
  Point out = windows(table,
                      std::to_string(elements) + " hexahedra, " + std::to_string(stitches) + " stitches" +
                          (works ? ", 1 mN on and off" : " at rest"),
                      count, [&] {
                        const StepReport r = world->step({});
                        iterations += r.iterations;
                        unconverged += r.flags & step_not_converged ? 1 : 0;
                      });
  const double steps = kSteps * count;
  out.elements = elements, out.stitches = stitches;
  out.iterations = iterations / steps, out.unconverged = unconverged / steps;
  char text[96];
  std::snprintf(text, sizeof text, "%.1f linear solves a step, %.0f %% of steps not converged, edge drawn by %.3f mm",
                out.iterations, 100 * out.unconverged, world->measure_tissue(0).displacement_mm);
  table.remark(text);
  return out;
}

nlohmann::json as_json(const std::vector<Point>& points) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Point& p : points)
    rows.push_back({{"hexahedra", p.elements},
                    {"stitches", p.stitches},
                    {"window_p50_ms", p.p50_ms},
                    {"window_p99_ms", p.p99_ms},
                    {"solves_a_step", p.iterations},
                    {"steps_not_converged", p.unconverged}});
  return rows;
}

void add_series(std::vector<simulate::Series>& to, const std::string& name, const simulate::Colour& colour,
                const std::vector<Point>& points, double Point::*over) {
  simulate::Series p50{name + ", p50", colour, {}, {}, false, 2}, p99{"p99", colour, {}, {}, true, 2};
  for (const Point& p : points) {
    p50.t.push_back(p.*over), p50.v.push_back(p.p50_ms);
    p99.t.push_back(p.*over), p99.v.push_back(p.p99_ms);
  }
  to.push_back(std::move(p50));
  to.push_back(std::move(p99));
}

}  // namespace

bool measure_tissue(Table& table, const std::string& plot, bool brief) {
  if (!is_picture(plot)) return false;
  const std::vector<Size> sizes = brief ? std::vector<Size>{{12, 10}, {16, 16}}
                                        : std::vector<Size>{{12, 10}, {16, 16}, {20, 20}, {28, 28}, {40, 40}};
  const std::vector<int> counts = brief ? std::vector<int>{1, 2} : std::vector<int>{1, 2, 4, 8};
  const Size sewn = brief ? Size{16, 16} : Size{20, 20};
  const int rounds = brief ? 4 : 150;
  std::vector<Point> free, resting, working, many_resting, many_working;
  const auto add = [](std::vector<Point>& to, const Result<Point>& point) {
    if (!point) return std::fprintf(stderr, "%s\n", point.error().message.c_str()), false;
    to.push_back(*point);
    return true;
  };
  for (const Size& s : sizes)
    if (!add(free, alone(table, s, rounds))) return false;
  for (const bool works : {false, true}) {
    for (const Size& s : sizes)
      if (!add(works ? working : resting, drawn_by(table, s, 1, works, rounds))) return false;
    for (const int count : counts)
      if (!add(works ? many_working : many_resting, drawn_by(table, sewn, count, works, rounds))) return false;
  }
  const nlohmann::json growth{{"alone", as_json(free)},
                              {"one_stitch_at_rest", as_json(resting)},
                              {"one_stitch_at_work", as_json(working)},
                              {"stitches_at_rest", as_json(many_resting)},
                              {"stitches_at_work", as_json(many_working)}};
  table.attach("growth", growth.dump());
  if (plot.empty()) return true;

  simulate::Drawing drawing(900, 760);
  simulate::ChartSettings settings;
  settings.title = "processor time of 30 ms of simulated time, ms; asked: 3 for tissue alone, 15 for the whole scene";
  settings.t_title = "hexahedra (about five tetrahedra fill the same space)";
  settings.log_v = true;
  settings.levels = {kAskedAlone, kAskedScene};
  constexpr simulate::Colour kAlone{76, 114, 176}, kRest{85, 168, 104}, kWork{221, 132, 82};
  std::vector<simulate::Series> curves;
  add_series(curves, "tissue alone", kAlone, free, &Point::elements);
  add_series(curves, "one stitch at rest", kRest, resting, &Point::elements);
  add_series(curves, "at work", kWork, working, &Point::elements);
  simulate::draw_chart(drawing, {20, 15, 860, 350}, settings, curves);
  settings.title = "the same over the number of stitches, " + std::to_string(sewn.first * sewn.second) + " hexahedra";
  settings.t_title = "stitches, each a thread of its own";
  curves.clear();
  add_series(curves, "at rest", kRest, many_resting, &Point::stitches);
  add_series(curves, "at work", kWork, many_working, &Point::stitches);
  simulate::draw_chart(drawing, {20, 385, 860, 350}, settings, curves);
  return write_picture(drawing, plot, "Time of tissue", "Processor time of 30 ms windows over elements and stitches");
}

}  // namespace ligature::bench
