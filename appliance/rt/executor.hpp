#pragma once
/// The Executor of a machine with several cores: the caller and width - 1 workers take parts from one counter. Parts
/// that a worker does not come to in time the caller does itself, so that a machine that grants nothing only costs
/// time.
///
/// A worker that ran looks for more for some 50 us, then sleeps on a futex: the runs of one step follow each other
/// closely. The caller waits for the last parts in the same way.
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "appliance/rt/signal.hpp"
#include "appliance/rt/thread.hpp"
#include "sim/base/executor.hpp"
#include "sim/base/result.hpp"

namespace ligature::rt {

class PooledExecutor final : public Executor {
 public:
  static constexpr std::size_t kMostParts = (1u << 24) - 1;

  /// Starts one thread for each of the settings; none: run() is the caller's alone.
  /// Errors: a thread could not be created (unavailable).
  static Result<std::unique_ptr<PooledExecutor>> create(const std::vector<ThreadSettings>& workers);
  ~PooledExecutor() override;

  /// One caller at a time; never from inside a task. @pre parts <= kMostParts
  /// @rt no allocation, no lock; system calls only to wake who sleeps and where parts take long
  void run(std::size_t parts, Task task, void* context) noexcept override;

  std::size_t width() const noexcept { return threads_.size() + 1; }
  /// What the machine gave each worker.
  std::vector<GrantReport> grants() const;

 private:
  PooledExecutor() = default;
  void work() noexcept;
  /// Takes and runs parts until there are none left. @return whether there was one
  bool take_parts() noexcept;

  // Parts in the upper half, the next one to take in the lower: whoever adds one to it has that part of the run that
  // is on, which cannot end before the part is done, so that task_ and context_ stand still.
  alignas(64) std::atomic<std::uint64_t> ticket_{0};
  Task task_ = nullptr;
  void* context_ = nullptr;
  alignas(64) std::atomic<std::size_t> left_{0};  ///< parts not done
  std::atomic<bool> stopping_{false};
  Signal posted_, finished_;
  std::vector<std::unique_ptr<RtThread>> threads_;
};

}  // namespace ligature::rt
