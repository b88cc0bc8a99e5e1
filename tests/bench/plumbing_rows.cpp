/// What the real-time plumbing costs, the clock's own cost included (its row says how much that is).
#include <thread>

#include "appliance/rt/signal.hpp"
#include "appliance/rt/spsc_ring.hpp"
#include "appliance/watchdog/thread_monitor.hpp"
#include "sim/contract/scene_snapshot.hpp"
#include "tests/bench/table.hpp"

namespace ligature::bench {

void measure_plumbing(Table& table) {
  constexpr int kRounds = 200'000;
  table.measure("clock (in every row)", kRounds, [] {});
  static rt::TripleBuffer<SceneSnapshot> buffer;
  table.measure("triple buffer publish", kRounds, [] { buffer.publish(); });
  table.measure("triple buffer publish + fetch", kRounds, [] {
    buffer.publish();
    buffer.fetch();
  });
  table.measure("triple buffer fetch, nothing new", kRounds, [] { buffer.fetch(); });
  static rt::Link<SceneSnapshot> link(rt::LinkMode::newest);
  table.measure("link publish, nobody waits", kRounds, [] { link.publish(); });
  static rt::SpscRing<watchdog::MissRecord, 64> ring;
  table.measure("ring push + pop", kRounds, [] {
    watchdog::MissRecord record;
    ring.push(record);
    ring.pop(record);
  });
  static watchdog::ThreadMonitor monitor({"bench", 0, 5'000'000});
  table.measure("monitor: begin, 3 stages, end", kRounds, [] {
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
  table.add("sleep_until: woken late by", late);
  table.add("link: publish to the waiting reader", wake);
}

}  // namespace ligature::bench
