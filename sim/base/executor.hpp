#pragma once
/// Who runs the independent parts of one step: by itself the caller, else a pool that the caller of World made. The
/// parts are cut by the problem alone, never by the width, so that a result has the same bits at any width.
#include <cstddef>

namespace ligature {

class Executor {
 public:
  using Task = void (*)(void* context, std::size_t part) noexcept;

  virtual ~Executor() = default;
  /// Calls task(context, part) once for every part in [0, parts), in any order and on any thread, and returns when all
  /// are done. @rt no allocation
  virtual void run(std::size_t parts, Task task, void* context) noexcept = 0;
};

/// One after the other, here.
class InlineExecutor final : public Executor {
 public:
  void run(std::size_t parts, Task task, void* context) noexcept override {
    for (std::size_t part = 0; part < parts; ++part) task(context, part);
  }
};

}  // namespace ligature
