// The parts of appliance/rt and appliance/watchdog put together as the appliance does: threads joined by links, every
// one monitored, guarded against allocation and locks.
#include <gtest/gtest.h>

#include <atomic>
#include <cstdint>
#include <nlohmann/json.hpp>

#include "appliance/rt/clock.hpp"
#include "appliance/rt/rt_section.hpp"
#include "appliance/rt/signal.hpp"
#include "appliance/rt/thread.hpp"
#include "appliance/watchdog/watchdog.hpp"
#include "tests/support/rt_guard.hpp"

namespace ligature {
namespace {

using rt::kNsPerMs;
using rt::LinkMode;
using rt::monotonic_now_ns;
using rt::Take;

struct Sample {
  std::uint64_t sequence = 0;
  std::uint64_t payload[200] = {};
};

struct Outcome {
  std::uint64_t hash = 0, taken = 0, torn = 0;
  Take end = Take::value;
};

/// source -> worker -> sink over `count` samples; the sink hashes what it sees and may be slow.
class Chain {
 public:
  Chain(LinkMode mode, std::uint64_t count, std::int64_t source_period_ns, std::int64_t sink_ns)
      : samples_(mode), results_(mode), count_(count), source_period_ns_(source_period_ns), sink_ns_(sink_ns) {
    for (watchdog::ThreadMonitor* monitor : {&source_monitor_, &worker_monitor_, &sink_monitor_}) dog_.add(*monitor);
  }

  void start() {
    const auto launch = [](rt::RtThread& thread, watchdog::ThreadMonitor& monitor, auto body) {
      ASSERT_TRUE(thread.start({.name = monitor.settings().name, .policy = rt::Policy::fifo, .priority = 10}, body));
      monitor.set_grant(thread.grant());
    };
    launch(sink_, sink_monitor_, [this] { sink(); });
    launch(worker_, worker_monitor_, [this] { work(); });
    launch(source_, source_monitor_, [this] { produce(); });
  }
  void stop() {
    samples_.stop();
    results_.stop();
  }
  Outcome join() {
    source_.join();
    worker_.join();
    sink_.join();
    return outcome_;
  }
  watchdog::Watchdog& dog() { return dog_; }
  std::uint64_t published() const { return samples_.published(); }

 private:
  void produce() {
    const rt::RtSection section("source");
    const std::int64_t start = monotonic_now_ns();
    for (std::uint64_t i = 1; i <= count_; ++i) {
      const std::int64_t due = start + static_cast<std::int64_t>(i) * source_period_ns_;
      if (source_period_ns_ > 0) rt::sleep_until(due);
      source_monitor_.begin(due, monotonic_now_ns());
      Sample& sample = samples_.back();
      sample.sequence = i;
      for (std::size_t k = 0; k < std::size(sample.payload); ++k) sample.payload[k] = i * (k + 3);
      source_monitor_.stage("fill", monotonic_now_ns());
      const bool published = samples_.publish();
      source_monitor_.waited("worker", monotonic_now_ns());
      source_monitor_.end(monotonic_now_ns());
      if (!published) break;
    }
    samples_.close();
    source_monitor_.finish();
  }
  void work() {
    const rt::RtSection section("worker");
    for (;;) {
      const Take take = samples_.take(monotonic_now_ns() + 20 * kNsPerMs);
      const std::int64_t now = monotonic_now_ns();
      if (take == Take::timeout) worker_monitor_.beat(now);
      if (take == Take::closed || take == Take::stopped) break;
      if (take != Take::value) continue;
      worker_monitor_.begin(now, now);
      results_.back() = samples_.front();
      for (std::uint64_t& word : results_.back().payload) word ^= samples_.front().sequence;
      worker_monitor_.stage("work", monotonic_now_ns());
      const bool published = results_.publish();
      worker_monitor_.end(monotonic_now_ns());
      if (!published) break;
    }
    results_.close();
    worker_monitor_.finish();
  }
  void sink() {
    const rt::RtSection section("sink");
    std::uint64_t last = 0;
    while ((outcome_.end = results_.take()) == Take::value) {
      const std::int64_t now = monotonic_now_ns();
      sink_monitor_.begin(now, now);
      const Sample& sample = results_.front();
      bool whole = sample.sequence > last;
      for (std::size_t k = 0; k < std::size(sample.payload); ++k)
        whole = whole && sample.payload[k] == ((sample.sequence * (k + 3)) ^ sample.sequence);
      last = sample.sequence;
      outcome_.torn += !whole;
      outcome_.hash = outcome_.hash * 0x100000001B3ull + sample.sequence;
      ++outcome_.taken;
      if (sink_ns_ > 0) rt::sleep_until(now + sink_ns_);
      sink_monitor_.end(monotonic_now_ns());
    }
    sink_monitor_.finish();
  }

  rt::Link<Sample> samples_, results_;
  const std::uint64_t count_;
  const std::int64_t source_period_ns_, sink_ns_;
  Outcome outcome_;
  watchdog::ThreadMonitor source_monitor_{{"source", 0, 0}}, worker_monitor_{{"worker", 0, 0}},
      sink_monitor_{{"sink", 0, 0}};
  watchdog::Watchdog dog_;
  rt::RtThread source_, worker_, sink_;
};

TEST(JoinedThreads, LockstepGivesTheSameHashHoweverSlowTheReaderIs) {
  ASSERT_TRUE(guard::active());
  guard::reset();
  std::uint64_t expected = 0;
  for (std::uint64_t i = 1; i <= 300; ++i) expected = expected * 0x100000001B3ull + i;
  for (const std::int64_t sink_ns : {std::int64_t{0}, std::int64_t{100'000}}) {
    Chain pipeline(LinkMode::lossless, 300, 0, sink_ns);
    pipeline.start();
    const Outcome outcome = pipeline.join();
    EXPECT_EQ(outcome.taken, 300u);
    EXPECT_EQ(outcome.torn, 0u);
    EXPECT_EQ(outcome.hash, expected);
    EXPECT_EQ(outcome.end, Take::closed);
  }
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

TEST(JoinedThreads, RealtimeWriterIsNotHeldUpByASlowReader) {
  ASSERT_TRUE(guard::active());
  guard::reset();
  Chain pipeline(LinkMode::newest, 300, 500'000, 20 * kNsPerMs);
  pipeline.start();
  const Outcome outcome = pipeline.join();
  EXPECT_EQ(pipeline.published(), 300u) << "the writer published all, whatever became of them";
  EXPECT_LT(outcome.taken, 300u) << "the reader cannot have seen all";
  EXPECT_GT(outcome.taken, 0u);
  EXPECT_EQ(outcome.torn, 0u);
  EXPECT_EQ(guard::violations(), 0u) << guard::report();
}

TEST(JoinedThreads, StopInMidRunEndsEveryThread) {
  for (const LinkMode mode : {LinkMode::newest, LinkMode::lossless}) {
    Chain pipeline(mode, UINT64_MAX, 200'000, 0);
    pipeline.start();
    watchdog::Watchdog::Verdict verdict;
    while (!verdict.started) {
      verdict = pipeline.dog().poll(monotonic_now_ns());
      rt::sleep_until(monotonic_now_ns() + kNsPerMs);
    }
    pipeline.stop();
    const Take end = pipeline.join().end;
    // The worker may see the stop first and close the link behind it.
    EXPECT_TRUE(end == Take::stopped || end == Take::closed);
    EXPECT_TRUE(pipeline.dog().poll(monotonic_now_ns() + 60 * rt::kNsPerS).alive) << "ended is not stalled";
    EXPECT_EQ(pipeline.dog().report().size(), 3u);
  }
}

}  // namespace
}  // namespace ligature
