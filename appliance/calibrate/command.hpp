#pragma once
/// The words of `ligature calibrate ...` on the command line.
#include <CLI/CLI.hpp>
#include <atomic>
#include <memory>

namespace ligature::calibrate {

struct Arguments;

class Command {
 public:
  /// Adds the verb and what stands below it.
  explicit Command(CLI::App& app);
  ~Command();
  bool asked_for() const;
  /// @param stop set by a signal: the calibration ends, nothing is written
  /// @return the exit code; prints table or JSON on standard output, the rest on standard error
  int run(const std::atomic<bool>& stop) const;

 private:
  std::unique_ptr<Arguments> arguments_;
};

}  // namespace ligature::calibrate
