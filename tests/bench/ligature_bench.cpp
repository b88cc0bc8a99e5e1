/// `ligature-bench`: p50, p99, p99.9 and max of every stage and of the plumbing between them. Started by `ligature bench`.
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "tests/bench/table.hpp"

namespace ligature::bench {

void Table::heading(const std::string& text) {
  section_ = text;
  std::fprintf(stderr, "\n%s\n%-44s %8s %9s %9s %9s %9s\n", text.c_str(), "", "count", "p50 ms", "p99 ms", "p99.9 ms",
               "max ms");
}

void Table::add(const std::string& name, const watchdog::Histogram& histogram) {
  const auto ms = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-6; };
  rows_.push_back({section_, name, histogram.count(), ms(histogram.percentile_ns(0.5)), ms(histogram.percentile_ns(0.99)),
                   ms(histogram.percentile_ns(0.999)), ms(histogram.max_ns())});
  const Row& r = rows_.back();
  std::fprintf(stderr, "%-44s %8llu %9.4f %9.4f %9.4f %9.4f\n", name.c_str(), static_cast<unsigned long long>(r.count),
               r.p50_ms, r.p99_ms, r.p999_ms, r.max_ms);
}

void Table::remark(const std::string& text) {
  remarks_.push_back(text);
  std::fprintf(stderr, "  %s\n", text.c_str());
}

std::string Table::json() const {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& r : rows_)
    rows.push_back({{"section", r.section}, {"name", r.name}, {"count", r.count}, {"p50_ms", r.p50_ms},
                    {"p99_ms", r.p99_ms}, {"p999_ms", r.p999_ms}, {"max_ms", r.max_ms}});
  return nlohmann::json{{"rows", rows}, {"remarks", remarks_}}.dump(2);
}

}  // namespace ligature::bench

int main(int argc, char** argv) {
  bool json = false;
  std::string profile = LIGATURE_SOURCE_DIR "/config/profiles/demo.toml";
  for (int i = 1; i < argc; ++i) {
    if (std::strcmp(argv[i], "--json") == 0) {
      json = true;
    } else if (std::strcmp(argv[i], "--profile") == 0 && i + 1 < argc) {
      profile = argv[++i];
    } else {
      std::fprintf(stderr, "usage: ligature-bench [--json] [--profile FILE]   e.g. ligature bench --json\n");
      return 2;
    }
  }
  ligature::bench::Table table;
  table.heading("Plumbing");
  ligature::bench::measure_plumbing(table);
  table.heading("Stages, demo recording");
  if (!ligature::bench::measure_stages(table, profile)) return 1;
  if (json) std::printf("%s\n", table.json().c_str());
  return 0;
}
