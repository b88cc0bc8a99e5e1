#pragma once
/// The files of `ligature sim --out`. Each grows beside its place and takes it, whole, at the end.
#include <fmt/format.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/sim/stage_times.hpp"
#include "sim/base/result.hpp"
#include "sim/contract/step_report.hpp"
#include "sim/world/world.hpp"

namespace ligature::simulate {

/// Text that streams into `.NAME.new` and becomes NAME by commit(): a run that is killed, or a disk that fills, leaves
/// the old file or none, never half a one. One writer at a time (flock).
class StreamedFile {
 public:
  StreamedFile() = default;
  StreamedFile(StreamedFile&& other) noexcept { *this = std::move(other); }
  StreamedFile& operator=(StreamedFile&& other) noexcept;
  ~StreamedFile() { discard(); }

  static Result<StreamedFile> open(const std::filesystem::path& path);
  template <class... Values>
  void print(fmt::format_string<Values...> format, Values&&... values) {
    fmt::format_to(std::back_inserter(buffer_), format, std::forward<Values>(values)...);
    if (buffer_.size() >= kBuffer) flush();
  }
  /// errno of the first write that failed, or 0.
  int wrong() const { return wrong_; }
  const std::filesystem::path& path() const { return path_; }
  /// Flushes to the disk. @return what the disk refused
  Result<void> finish();
  /// Takes the place of the old file. @pre finish() succeeded
  Result<void> commit();
  void discard() noexcept;

 private:
  static constexpr std::size_t kBuffer = 1 << 16;
  void flush() noexcept;
  Unexpected disk_error(int code) const;

  std::filesystem::path path_, fresh_;
  int fd_ = -1;
  int wrong_ = 0;
  fmt::memory_buffer buffer_;
};

/// "first", "last", "17" (a vertex) or "s_mm=12.5", as in the scenario.
std::string place_name(const world::Place& place);
/// Every clamp in the order of World::clamps().
std::vector<const world::ClampParams*> clamps_of(const world::WorldParams& params);
/// The pieces of a thread that was cut share its name; the later ones become NAME#2, NAME#3, ..., as far as no thread
/// has that name.
std::vector<std::string> thread_names(const world::World& world);
/// Quoted where a comma, a quote or a line break asks for it.
std::string csv_field(std::string_view text);

class OutputFiles {
 public:
  /// The folder is made when missing. Errors are the user's: nothing has started yet.
  static Result<OutputFiles> open(const std::filesystem::path& directory);

  /// Curves, energies, clamps, contacts and sutures as they are now. @param stepped: all but the first two mean
  /// something
  void write_state(const world::World& world, const world::WorldParams& params, bool stepped);
  void write_timing(std::uint64_t step, double t_s, const StageTimes& times, const StepReport& report);
  /// False once the disk refuses.
  bool good() const;
  /// All or, when the disk refuses, none of the tables; then summary.json.
  Result<void> commit(std::string_view summary);

 private:
  enum File { threads, energies, clamps, contacts, sutures, timing, kFiles };
  std::filesystem::path directory_;
  std::array<StreamedFile, kFiles> files_;
};

}  // namespace ligature::simulate
