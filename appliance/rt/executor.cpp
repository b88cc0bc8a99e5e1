#include "appliance/rt/executor.hpp"

#include <cassert>

#include "appliance/rt/rt_section.hpp"

namespace ligature::rt {
namespace {

constexpr int kLooks = 500;  // before sleeping, each about 0.1 us

inline void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr std::uint64_t pack(std::uint64_t parts, std::uint64_t next) {
  return parts << 32 | next;
}

}  // namespace

Result<std::unique_ptr<PooledExecutor>> PooledExecutor::create(const std::vector<ThreadSettings>& workers) {
  std::unique_ptr<PooledExecutor> pool(new PooledExecutor);
  for (const ThreadSettings& settings : workers) {
    auto thread = std::make_unique<RtThread>();
    PooledExecutor* self = pool.get();
    const Result<void> started = thread->start(settings, [self] { self->work(); });
    if (!started) return unexpected(started.error());
    pool->threads_.push_back(std::move(thread));
  }
  return pool;
}

PooledExecutor::~PooledExecutor() {
  stopping_.store(true, std::memory_order_seq_cst);
  posted_.notify();
  for (const auto& thread : threads_) thread->join();
}

std::vector<GrantReport> PooledExecutor::grants() const {
  std::vector<GrantReport> all;
  for (const auto& thread : threads_) all.push_back(thread->grant());
  return all;
}

bool PooledExecutor::take_parts() noexcept {
  bool any = false;
  std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
  for (;;) {
    const std::uint64_t parts = ticket >> 32, next = ticket & 0xffffffffu;
    if (next >= parts) return any;
    if (!ticket_.compare_exchange_weak(ticket, pack(parts, next + 1), std::memory_order_acq_rel,
                                       std::memory_order_acquire))
      continue;
    any = true;
    task_(context_, static_cast<std::size_t>(next));
    if (left_.fetch_sub(1, std::memory_order_acq_rel) == 1) finished_.notify();
    ticket = ticket_.load(std::memory_order_acquire);
  }
}

void PooledExecutor::run(std::size_t parts, Task task, void* context) noexcept {
  assert(parts <= kMostParts);
  if (parts <= 1 || threads_.empty()) {
    for (std::size_t part = 0; part < parts; ++part) task(context, part);
    return;
  }
  task_ = task;
  context_ = context;
  left_.store(parts, std::memory_order_relaxed);
  ticket_.store(pack(parts, 0), std::memory_order_release);
  posted_.notify();
  take_parts();
  for (int look = 0; look < kLooks; ++look) {
    if (left_.load(std::memory_order_acquire) == 0) return;
    pause();
  }
  for (;;) {
    const std::uint32_t seen = finished_.prepare();
    if (left_.load(std::memory_order_acquire) == 0) return;
    finished_.wait(seen);
  }
}

void PooledExecutor::work() noexcept {
  const RtSection section("executor");
  const auto has_parts = [&] {
    const std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    return (ticket & 0xffffffffu) < ticket >> 32;
  };
  for (;;) {
    const std::uint32_t seen = posted_.prepare();
    if (stopping_.load(std::memory_order_seq_cst)) return;
    if (take_parts()) continue;
    bool found = false;
    for (int look = 0; look < kLooks && !found; ++look) {
      pause();
      found = has_parts();
    }
    if (!found) posted_.wait(seen);
  }
}

}  // namespace ligature::rt
