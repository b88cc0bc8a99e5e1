#pragma once
/// Rows of a benchmark: warm up, measure, print percentiles. One unit for all rows, so that stages compare at a glance.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "appliance/rt/clock.hpp"
#include "appliance/watchdog/histogram.hpp"
#include "drivers/rig.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::bench {

class Table {
 public:
  /// Runs `function` rounds/10 times to warm up, then `rounds` times measured one by one.
  template <class Function>
  void measure(const std::string& name, int rounds, Function&& function) {
    auto histogram = std::make_unique<watchdog::Histogram>();
    for (int i = 0; i < rounds / 10; ++i) function();
    for (int i = 0; i < rounds; ++i) {
      const std::int64_t start = rt::monotonic_now_ns();
      function();
      histogram->record(rt::monotonic_now_ns() - start);
    }
    add(name, *histogram);
  }
  void heading(const std::string& text);
  void add(const std::string& name, const watchdog::Histogram& histogram);
  /// A line of its own under the row before, e.g. the state hash beside the time.
  void remark(const std::string& text);
  /// A report of its own under `key` of json(). @param text JSON
  void attach(const std::string& key, const std::string& text) { attached_.emplace_back(key, text); }
  /// {"rows": [{"section", "name", "count", "p50_us", "p99_us", "p999_us", "max_us"}], "remarks": [..]} and what was
  /// attached
  std::string json() const;

 private:
  struct Row {
    std::string section, name;
    std::uint64_t count;
    double p50_us, p99_us, p999_us, max_us;
  };
  std::string section_;
  std::vector<Row> rows_;
  std::vector<std::string> remarks_;
  std::vector<std::pair<std::string, std::string>> attached_;
};

void measure_plumbing(Table& table);
/// A camera's bytes to a picture, by format; an image to its trigger.
void measure_capture(Table& table);
/// The rod's step and its linear algebra over N, beside LAPACK and Eigen on the same matrix.
void measure_rod(Table& table);
/// The coupling matrix of contacts in a window of a thread, beside the thesis's recursion to the same matrix.
void measure_coupling(Table& table);
/// Detection and fit of four images: the recording's, and pictures that are hard on them. @return false: no recording
bool measure_markers(Table& table, const std::string& profile);
/// Plays a recording through decoding, detection and fit. @return every sample, in order
Result<std::vector<InstrumentSample>> track_recording(Table& table, const std::string& directory,
                                                      const drivers::Rig& rig);
/// Tissue alone, and stitched at rest, over the number of elements and of stitches: processor time of 30 ms windows.
/// Attaches "growth". @param plot FILE.svg or FILE.png; empty: none. @param brief few of each. @return false, with a
/// line on standard error, if a scene or the picture could not be made
bool measure_tissue(Table& table, const std::string& plot, bool brief);
/// Every stage of the pipeline on the shipped demo recording. @return false when it cannot be played
bool measure_stages(Table& table, const std::string& profile);

}  // namespace ligature::bench
