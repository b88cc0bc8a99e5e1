/// ligature-knot-bench: how long naming takes. A program of its own, because it links libhomfly's collector.
/// Processor time, so that a busy machine does not show.
///   tie       the two threads of the tight reef of config/scenarios/knot at 600 vertices, as `ligature knot` names
///   them loop      the same vertices as one loop unknot    a circle pulled through and round itself, without crossing,
///   until a view of it shows 1000 crossings
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <ctime>
#include <string>
#include <vector>

#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/identify.hpp"
#include "config/csv_file.hpp"
#include "sim/knot/project.hpp"
#include "tests/knot/space_curves.hpp"

namespace {

using namespace ligature;
using namespace ligature::knot;

double processor_ms() {
  return 1e3 * static_cast<double>(std::clock()) / CLOCKS_PER_SEC;
}

/// Every edge halved.
std::vector<Vec3> finer(const std::vector<Vec3>& points) {
  std::vector<Vec3> out{points.front()};
  for (std::size_t i = 1; i < points.size(); ++i) {
    out.push_back(0.5 * (points[i - 1] + points[i]));
    out.push_back(points[i]);
  }
  return out;
}

void measure(const char* what, const Question& question, HomflySource& source, int times) {
  std::size_t points = 0;
  for (const auto& curve : question.curves) points += curve.size();
  std::vector<double> ms;
  std::string name;
  for (int i = 0; i < times; ++i) {
    const double begun = processor_ms();
    const auto found = identify(question, source);
    ms.push_back(processor_ms() - begun);
    name = found ? found->answer.name : found.error().message;
  }
  std::sort(ms.begin(), ms.end());
  const auto at = [&](double q) { return ms[static_cast<std::size_t>(q * static_cast<double>(ms.size() - 1))]; };
  fmt::print("{:<8} {:>6} vertices  {:<12} p50 {:8.3f} ms  p99 {:8.3f} ms  max {:8.3f} ms  ({} times)\n", what, points,
             name, at(0.5), at(0.99), ms.back(), times);
}

/// Always the same one.
Curves tangled_unknot(std::size_t crossings) {
  Random random(11);
  Curves curves{{}};
  for (int i = 0; i < 60; ++i)
    curves[0].push_back({3 * std::cos(0.1 * 1.0471975511966 * i), 3 * std::sin(0.1 * 1.0471975511966 * i), 0});
  for (int round = 0; round < 400; ++round) {
    subdivide(curves, 0.7);
    poke(curves, random, 10, 4.0);
    const auto diagram = project(curves, direction(0));
    if (diagram && diagram->sign.size() >= crossings) {
      fmt::print("unknot: {} crossings in the first view\n", diagram->sign.size());
      break;
    }
  }
  return curves;
}

}  // namespace

int main() {
  const auto source = homfly_library();
  const std::string points = LIGATURE_SOURCE_DIR "/config/scenarios/knot/points/reef_02mm_";
  const auto left = config::load_points(points + "left.csv"), right = config::load_points(points + "right.csv");
  if (!left || !right) {
    fmt::print(stderr, "{}\n", (left ? right : left).error().message);
    return 2;
  }
  const auto first = finer(*left), second = finer(*right);
  measure("tie", {{first, second}, false, ""}, *source, 200);
  std::vector<Vec3> loop = first;
  loop.insert(loop.end(), second.rbegin(), second.rend());
  measure("loop", {{loop}, true, ""}, *source, 200);
  measure("unknot", {tangled_unknot(1000), true, ""}, *source, 100);
  return 0;
}
