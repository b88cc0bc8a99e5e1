#pragma once
/// The log of what physics was given, step by step: enough to replay a session bit for bit.
///
/// samples.csv, one line per change: `step` is the first step that used the line's sample; the numbers are written
/// with 17 significant digits, which round-trips every double exactly. A line `step,inject,non_finite` marks a fault
/// that was injected before that step; `step,control,cut` what the trainee asked for and that step did first. Poses are
/// the tracker's own, raw, with their variances: what the hands of the world followed is made from them again
/// (hands.hpp). Lines are flushed once a second, so that a power cut loses at most that.
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::appliance {

/// What the trainee may do besides moving the forceps, by the window's keys, or by whoever owns the session
/// (SessionPort).
enum class Control : std::uint8_t {
  none,
  start,  ///< go on, or begin
  pause,  ///< the scene stands still
  cut,    ///< what jaws hold is cut between them
  reset,  ///< the scene as it was at the start
  next,   ///< the scene of the profile's next scenario, as it is at the start; after the last the first
};
std::string_view name_of(Control control);
/// Nothing for a name that no control has, and for that of none.
std::optional<Control> control_of(std::string_view name);

struct SampleRecord {
  std::uint64_t step = 0;           ///< first step that uses it
  bool inject_non_finite = false;   ///< then `sample` means nothing
  Control control = Control::none;  ///< any other: likewise
  InstrumentSample sample;
};

class SampleLogWriter {
 public:
  SampleLogWriter() = default;
  SampleLogWriter(const SampleLogWriter&) = delete;
  SampleLogWriter& operator=(const SampleLogWriter&) = delete;
  ~SampleLogWriter() { close(); }
  Result<void> open(const std::string& path);
  /// False once the disk refuses; the session goes on without its log.
  bool write(const SampleRecord& record);
  bool flush();
  void close();
  std::uint64_t written() const { return written_; }  ///< records, all of them

 private:
  bool put(std::string_view line);
  std::FILE* file_ = nullptr;
  std::uint64_t written_ = 0;
};

/// Reads a log whole. A last line cut short by a power failure is dropped, anything else malformed is an error.
Result<std::vector<SampleRecord>> read_sample_log(const std::string& path);

}  // namespace ligature::appliance
