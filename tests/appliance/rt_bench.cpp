// Prints what the real-time plumbing costs: p50, p99, p99.9 and max of single operations, the clock's own cost included
// (its row says how much that is).
#include <cstdio>
#include <thread>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/signal.hpp"
#include "appliance/rt/spsc_ring.hpp"
#include "appliance/watchdog/thread_monitor.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace {

using namespace ligature;

void print(const char* name, const watchdog::Histogram& histogram) {
  std::printf("%-44s %8lld %8lld %8lld %10lld ns\n", name, static_cast<long long>(histogram.percentile_ns(0.5)),
              static_cast<long long>(histogram.percentile_ns(0.99)),
              static_cast<long long>(histogram.percentile_ns(0.999)), static_cast<long long>(histogram.max_ns()));
}

template <class Function>
void measure(const char* name, int rounds, Function&& function) {
  static watchdog::Histogram histogram[16];
  static int row = 0;
  watchdog::Histogram& mine = histogram[row++ % 16];
  for (int i = 0; i < rounds / 10; ++i) function();
  for (int i = 0; i < rounds; ++i) {
    const std::int64_t start = rt::monotonic_now_ns();
    function();
    mine.record(rt::monotonic_now_ns() - start);
  }
  print(name, mine);
}

}  // namespace

int main() {
  constexpr int kRounds = 200'000;
  std::printf("%-44s %8s %8s %8s %10s\n", "operation", "p50", "p99", "p99.9", "max");
  measure("clock (in every row)", kRounds, [] {});
  static rt::TripleBuffer<SceneSnapshot> buffer;
  measure("triple buffer publish", kRounds, [] { buffer.publish(); });
  measure("triple buffer publish + fetch", kRounds, [] {
    buffer.publish();
    buffer.fetch();
  });
  measure("triple buffer fetch, nothing new", kRounds, [] { buffer.fetch(); });
  static rt::Link<SceneSnapshot> link(rt::LinkMode::newest);
  measure("link publish, nobody waits", kRounds, [] { link.publish(); });
  static rt::SpscRing<watchdog::MissRecord, 64> ring;
  measure("ring push + pop", kRounds, [] {
    watchdog::MissRecord record;
    ring.push(record);
    ring.pop(record);
  });
  static watchdog::ThreadMonitor monitor({"bench", 0, 5'000'000});
  measure("monitor: begin, 3 stages, end", kRounds, [] {
    const std::int64_t now = 1'000'000;
    monitor.begin(now, now + 10);
    monitor.stage("detect", now + 20);
    monitor.stage("solve", now + 30);
    monitor.stage("snapshot", now + 40);
    monitor.end(now + 50);
  });

  static watchdog::Histogram wake, late;
  static rt::Link<std::int64_t> there(rt::LinkMode::newest);
  std::thread reader([] {
    while (there.take() == rt::Take::value) wake.record(rt::monotonic_now_ns() - there.front());
  });
  for (int i = 0; i < 2000; ++i) {
    const std::int64_t due = rt::monotonic_now_ns() + 200'000;
    rt::sleep_until(due);
    late.record(rt::monotonic_now_ns() - due);
    there.back() = rt::monotonic_now_ns();
    there.publish();
  }
  there.close();
  reader.join();
  print("sleep_until: woken late by", late);
  print("link: publish to the waiting reader", wake);
  return 0;
}
