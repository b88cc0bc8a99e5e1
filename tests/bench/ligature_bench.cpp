/// `ligature-bench`: p50, p99, p99.9 and max of every stage and of the plumbing between them. Started by `ligature
/// bench`.
#include <charconv>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/bench/cone_rows.hpp"
#include "tests/bench/knot_rows.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {

void Table::heading(const std::string& text) {
  section_ = text;
  std::fprintf(stderr, "\n%s\n%-44s %8s %11s %11s %11s %11s\n", text.c_str(), "", "count", "p50 us", "p99 us",
               "p99.9 us", "max us");
}

void Table::add(const std::string& name, const watchdog::Histogram& histogram) {
  const auto us = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-3; };
  rows_.push_back({section_, name, histogram.count(), us(histogram.percentile_ns(0.5)),
                   us(histogram.percentile_ns(0.99)), us(histogram.percentile_ns(0.999)), us(histogram.max_ns())});
  const Row& r = rows_.back();
  std::fprintf(stderr, "%-44s %8llu %11.2f %11.2f %11.2f %11.2f\n", name.c_str(),
               static_cast<unsigned long long>(r.count), r.p50_us, r.p99_us, r.p999_us, r.max_us);
}

void Table::remark(const std::string& text) {
  remarks_.push_back(text);
  std::fprintf(stderr, "  %s\n", text.c_str());
}

std::string Table::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& r : rows_)
    rows.push_back({{"section", r.section},
                    {"name", r.name},
                    {"count", r.count},
                    {"p50_us", r.p50_us},
                    {"p99_us", r.p99_us},
                    {"p999_us", r.p999_us},
                    {"max_us", r.max_us}});
  nlohmann::json all{{"rows", rows}, {"remarks", remarks_}};
  for (const auto& [key, text] : attached_) all[key] = nlohmann::json::parse(text);
  return all.dump(2);
}

}  // namespace ligature::bench

namespace {

constexpr const char* kUsage =
    "usage: ligature-bench [capture | markers | rod | tissue | coupling | cones | knots] [--json] [--profile FILE]\n"
    "       e.g. ligature bench markers --json\n"
    "       cones: [--plot FILE.svg|FILE.png]\n"
    "       tissue: [--plot FILE.svg|FILE.png] [--brief]\n"
    "       knots: [--scene NAME] [--frames N] [--no-peer | --peer-only] [--dump FOLDER]\n"
    "              [--iterations N] [--contact-iterations N] [--brief]\n";

/// Reads a whole number above 0, and nothing behind it.
bool read_count(const char* text, int& count) {
  const char* const end = text + std::strlen(text);
  int value = 0;
  const auto [rest, wrong] = std::from_chars(text, end, value);
  if (wrong != std::errc() || rest != end || value <= 0) return false;
  count = value;
  return true;
}

}  // namespace

int main(int argc, char** argv) {
  bool json = false, all = true, rod = false, tissue = false, coupling = false, cones = false, knots = false,
       capture = false, markers = false, brief = false;
  std::string plot;
  std::string profile = LIGATURE_SOURCE_DIR "/config/profiles/demo.toml";
  ligature::bench::KnotOptions knot_options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const bool more = i + 1 < argc;
    if (word == "--help" || word == "-h") {
      std::printf("%s", kUsage);
      return 0;
    } else if (word == "--json") {
      json = true;
    } else if (word == "--profile" && more) {
      profile = argv[++i];
    } else if (word == "rod") {
      all = false, rod = true;
    } else if (word == "tissue") {
      all = false, tissue = true;
    } else if (word == "capture") {
      all = false, capture = true;
    } else if (word == "markers") {
      all = false, markers = true;
    } else if (word == "coupling") {
      all = false, coupling = true;
    } else if (word == "cones") {
      all = false, cones = true;
    } else if (tissue && word == "--brief") {
      brief = true;
    } else if ((cones || tissue) && word == "--plot" && more) {
      plot = argv[++i];
    } else if (word == "knots") {
      all = false, knots = true;
    } else if (knots && word == "--scene" && more) {
      knot_options.scene = argv[++i];
    } else if (knots && word == "--frames" && more && read_count(argv[i + 1], knot_options.frames)) {
      ++i;
    } else if (knots && word == "--iterations" && more && read_count(argv[i + 1], knot_options.iterations)) {
      ++i;
    } else if (knots && word == "--contact-iterations" && more &&
               read_count(argv[i + 1], knot_options.contact_iterations)) {
      ++i;
    } else if (knots && word == "--brief") {
      knot_options.brief = true;
    } else if (knots && word == "--no-peer") {
      knot_options.peer = false;
    } else if (knots && word == "--peer-only") {
      knot_options.ours = false;
    } else if (knots && word == "--dump" && more) {
      knot_options.dump = argv[++i];
    } else {
      std::fprintf(stderr, "%s", kUsage);
      return 2;
    }
  }
  ligature::bench::Table table;
  if (all) {
    table.heading("Plumbing");
    ligature::bench::measure_plumbing(table);
  }
  if (all || capture) {
    table.heading("Capture");
    ligature::bench::measure_capture(table);
  }
  if (all || markers) {
    table.heading("Markers, four 640x480 images, one core");
    if (!ligature::bench::measure_markers(table, profile)) return 1;
  }
  if (all) {
    table.heading("Stages, demo recording");
    if (!ligature::bench::measure_stages(table, profile)) return 1;
  }
  if (all || rod) {
    table.heading("Rod");
    ligature::bench::measure_rod(table);
  }
  if (all || tissue) {
    table.heading("Tissue");
    if (!ligature::bench::measure_tissue(table, tissue ? plot : "", brief)) return tissue ? 2 : 1;
  }
  if (all || coupling) {
    table.heading("Coupling matrix");
    ligature::bench::measure_coupling(table);
  }
  if (all || cones) {
    if (!ligature::bench::measure_cones(table, cones ? plot : "")) return cones ? 2 : 1;
  }
  if (all || knots) {
    if (!ligature::bench::measure_knots(table, knot_options)) return knots ? 2 : 1;
  }
  if (json) std::printf("%s\n", table.json().c_str());
  return 0;
}
