/// `ligature-bench`: p50, p99, p99.9 and max of every stage and of the plumbing between them. Started by `ligature
/// bench`.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

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
  return nlohmann::json{{"rows", rows}, {"remarks", remarks_}}.dump(2);
}

}  // namespace ligature::bench

int main(int argc, char** argv) {
  bool json = false, all = true, rod = false;
  std::string profile = LIGATURE_SOURCE_DIR "/config/profiles/demo.toml";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--profile") == 0 && i + 1 < argc) {
      profile = argv[++i];
    } else if (std::strcmp(argv[i], "rod") == 0) {
      all = false, rod = true;
    } else {
      std::fprintf(stderr, "usage: ligature-bench [rod] [--json] [--profile FILE]   e.g. ligature bench rod --json\n");
      return 2;
    }
  }
  ligature::bench::Table table;
  if (all) {
    table.heading("Plumbing");
    ligature::bench::measure_plumbing(table);
    table.heading("Stages, demo recording");
    if (!ligature::bench::measure_stages(table, profile)) return 1;
  }
  if (all || rod) {
    table.heading("Rod");
    ligature::bench::measure_rod(table);
  }
  if (json) std::printf("%s\n", table.json().c_str());
  return 0;
}
