/// ligature-knot-bench: how long naming takes. A program of its own, because it links libhomfly's collector.
/// Processor time, so that a busy machine does not show.
/// - tight: two threads of 0.2 mm nylon in a reef that was loaded with 4 N (tests/knot/data), as `ligature knot` names
///   them
/// - loose: the reef as it is drawn in config/scenarios/knot, every edge halved
/// - slip: a reef that was capsized to a slip knot
/// - loop: the loose reef's vertices as one loop
/// - unknot: a circle pulled through and round itself, without crossing, until a view of it shows 1000 crossings
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
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

/// The first strand out and the second one back.
Curves as_loop(const Curves& threads) {
  Curve loop = threads[0];
  loop.insert(loop.end(), threads[1].rbegin(), threads[1].rend());
  return {loop};
}

}  // namespace

int main() {
  const auto source = homfly_library();
  const auto threads = [](const std::string& name) {
    Curves out;
    for (const char* side : {"_left.csv", "_right.csv"}) {
      auto points = config::load_points(LIGATURE_SOURCE_DIR "/" + name + side);
      if (!points) {
        fmt::print(stderr, "{}\n", points.error().message);
        std::exit(2);
      }
      out.push_back(std::move(*points));
    }
    return out;
  };
  const Curves tight = threads("tests/knot/data/reef_late");
  Curves loose = threads("config/scenarios/knot/points/reef_02mm");
  for (Curve& c : loose) c = finer(c);
  measure("tight", {tight, false, ""}, *source, 200);
  measure("loose", {loose, false, ""}, *source, 200);
  measure("slip", {threads("tests/knot/data/reef_capsized"), false, ""}, *source, 200);
  measure("loop", {as_loop(loose), true, ""}, *source, 200);
  measure("unknot", {tangled_unknot(1000), true, ""}, *source, 100);
  return 0;
}
