#include "tests/bench/cone_rows.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "appliance/sim/chart.hpp"
#include "config/scenario_file.hpp"
#include "sim/contact/cone_problem.hpp"
#include "sim/world/world.hpp"
#include "tests/bench/picture.hpp"

namespace ligature::bench {
namespace {

using contact::ConeMethod;
using contact::ConeSolver;
using contact::StoredConeProblem;

constexpr int kEvery = 10;  // steps between two problems that are looked at
constexpr int kMostIterations = 60;
constexpr int kReference = 5000;  // iterations of what counts as the solution
constexpr double kLeast = 1e-12;  // drawn for what is smaller

struct Method {
  const char* name;
  ConeMethod method;
  simulate::Colour colour;
};
constexpr std::array<Method, 3> kMethods{{{"pgs", ConeMethod::pgs, {196, 78, 82}},
                                          {"nncg", ConeMethod::nncg, {221, 132, 82}},
                                          {"default", ConeMethod::standard, {76, 114, 176}}}};

/// Of every problem, at one number of iterations.
struct Errors {
  std::vector<double> force, residual;
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Result<std::vector<StoredConeProblem>> problems_of_the_reef() {
  auto scenario =
      config::load_scenario(std::filesystem::path(LIGATURE_SOURCE_DIR) / "config/scenarios/knot/reef_vriphys.toml");
  if (!scenario) return unexpected(scenario.error());
  world::WorldParams params = scenario->params;
  params.solver.iterations = 1;
  params.forceps_present = false;
  auto world = world::World::create(params, scenario->capacity);
  if (!world) return unexpected(world.error());
  std::vector<StoredConeProblem> problems;
  const int steps = static_cast<int>(std::lround(scenario->duration_s / params.step_s));
  for (int step = 1; step <= steps; ++step) {
    const StepReport report = world->step({});
    if (step % kEvery != 0 || report.contact_iterations == 0) continue;
    auto problem = contact::parse_cone_problem(world->contact_problem());
    if (!problem) return unexpected(problem.error());
    problems.push_back(std::move(*problem));
  }
  return problems;
}

/// |r - r*| / |r*| with r* the forces after kReference iterations, and the natural map residual.
void measure(const StoredConeProblem& problem, const Method& method, bool warm, std::vector<Errors>& by_iterations) {
  const std::size_t n = problem.q.size();
  ConeSolver solver(problem.mu.size());
  std::vector<double> exact = problem.warm;
  solver.solve(problem.view(), {ConeMethod::standard, kReference, 1e-13}, exact.data());
  double length = 0;
  for (const double f : exact) length += f * f;
  if (!(length > 0)) return;
  for (int iterations = 0; iterations <= kMostIterations; ++iterations) {
    std::vector<double> r = warm ? problem.warm : std::vector<double>(n, 0.0);
    const auto outcome = solver.solve(problem.view(), {method.method, iterations, 0}, r.data());
    double off = 0;
    for (std::size_t j = 0; j < n; ++j) off += (r[j] - exact[j]) * (r[j] - exact[j]);
    Errors& errors = by_iterations[static_cast<std::size_t>(iterations)];
    errors.force.push_back(std::sqrt(off / length));
    errors.residual.push_back(outcome.residual);
  }
}

}  // namespace

bool measure_cones(Table& table, const std::string& plot) {
  if (!is_picture(plot)) return false;
  const auto problems = problems_of_the_reef();
  if (!problems) {
    std::fprintf(stderr, "%s\n", problems.error().message.c_str());
    return false;
  }
  std::size_t contacts = 0;
  for (const StoredConeProblem& p : *problems) contacts = std::max(contacts, p.mu.size());
  std::fprintf(stderr,
               "\nContact forces of the VRIPHYS reef: %zu problems of up to %zu contacts, median of |r - r*| / |r*| "
               "(natural map residual)\n  %-10s",
               problems->size(), contacts, "iterations");
  constexpr std::array<int, 7> kShown{0, 2, 5, 10, 20, 40, 60};
  for (const int k : kShown) std::fprintf(stderr, " %19d", k);
  std::fprintf(stderr, "\n");

  nlohmann::json rows = nlohmann::json::array();
  std::array<std::vector<simulate::Series>, 2> curves;  // of the force error, of the residual
  for (const Method& method : kMethods)
    for (const bool warm : {false, true}) {
      std::vector<Errors> by_iterations(kMostIterations + 1);
      for (const StoredConeProblem& p : *problems) measure(p, method, warm, by_iterations);
      const std::string name = std::string(method.name) + (warm ? ", warm" : ", cold");
      std::array<simulate::Series, 2> series;
      for (auto& s : series) s = {name, method.colour, {}, {}, !warm, 2};
      for (int k = 0; k <= kMostIterations; ++k) {
        const Errors& errors = by_iterations[static_cast<std::size_t>(k)];
        const std::array<double, 2> values{median(errors.force), median(errors.residual)};
        for (std::size_t which = 0; which < 2; ++which) {
          series[which].t.push_back(k);
          series[which].v.push_back(std::max(values[which], kLeast));
        }
      }
      std::fprintf(stderr, "  %-13s", name.c_str());
      for (const int k : kShown)
        std::fprintf(stderr, " %8.1e (%8.1e)", series[0].v[static_cast<std::size_t>(k)],
                     series[1].v[static_cast<std::size_t>(k)]);
      std::fprintf(stderr, "\n");
      rows.push_back({{"name", name}, {"force_error", series[0].v}, {"residual", series[1].v}});
      for (std::size_t which = 0; which < 2; ++which) curves[which].push_back(std::move(series[which]));
    }
  table.attach("cones", rows.dump());
  if (plot.empty()) return true;

  simulate::Drawing drawing(900, 760);
  const std::array<const char*, 2> titles{"error of contact forces |r - r*| / |r*|, median",
                                          "natural map residual, median"};
  for (std::size_t which = 0; which < 2; ++which) {
    simulate::ChartSettings settings;
    settings.title = titles[which];
    settings.t_title = "iterations";
    settings.log_v = true;
    settings.most_decades = 10;
    simulate::draw_chart(drawing, {20, 15 + 370 * static_cast<double>(which), 860, 350}, settings, curves[which]);
  }
  return write_picture(drawing, plot, "Contact forces against iterations, with and without warm start",
                       "VRIPHYS reef knot, problems of one linearisation a step");
}

}  // namespace ligature::bench
