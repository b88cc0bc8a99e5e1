#include "appliance/watchdog/watchdog.hpp"

#include <algorithm>
#include <cstdarg>
#include <cstdio>
#include <nlohmann/json.hpp>

namespace ligature::watchdog {
namespace {

constexpr std::uint64_t kMissLinesPerThread = 3;  // between two regular lines; the rest is in the counts

std::string format(const char* pattern, ...) __attribute__((format(printf, 1, 2)));
std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return text;
}

double us(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}
double ms(std::int64_t ns) {
  return static_cast<double>(ns) / 1e6;
}

nlohmann::json percentiles_us(const Histogram& histogram) {
  return {{"p50", us(histogram.percentile_ns(0.5))},
          {"p99", us(histogram.percentile_ns(0.99))},
          {"p999", us(histogram.percentile_ns(0.999))},
          {"max", us(histogram.max_ns())}};
}

std::string miss_line(const ThreadMonitor& monitor, const MissRecord& miss) {
  std::string line = format(
      "thread %s missed its deadline in pass %llu: late %.2f ms + execution %.2f ms > %.2f ms, cause: %s (%.2f ms)",
      monitor.settings().name.c_str(), static_cast<unsigned long long>(miss.pass), ms(miss.lateness_ns),
      ms(miss.execution_ns), ms(monitor.settings().deadline_ns), cause_name(miss).c_str(), ms(miss.part_ns));
  if (miss.contacts != 0 || miss.iterations != 0)
    line += format(", %u contacts, %u iterations", miss.contacts, miss.iterations);
  return line;
}

}  // namespace

Watchdog::Verdict Watchdog::poll(std::int64_t now_ns) {
  Verdict verdict;
  verdict.started = verdict.alive = true;
  if (first_ns_ < 0) {
    first_ns_ = line_ns_ = now_ns;
    for (Watched& watched : watched_) watched.seen_ns = now_ns;
  }
  for (Watched& watched : watched_) {
    ThreadMonitor& monitor = *watched.monitor;
    const std::string& name = monitor.settings().name;
    const std::uint64_t progress = monitor.progress();
    if (progress != watched.seen_progress) {
      watched.seen_progress = progress;
      watched.seen_ns = std::max(monitor.last_beat_ns(), watched.seen_ns);
    }
    verdict.started = verdict.started && (progress > 0 || monitor.finished());
    const std::int64_t silent_ns = now_ns - watched.seen_ns;
    const bool stalled = !monitor.finished() && silent_ns > monitor.settings().stall_ns;
    if (stalled && !watched.stalled)
      verdict.lines.push_back(format("thread %s %s for %.1f s: stalled", name.c_str(),
                                     progress == 0 ? "has not begun" : "makes no progress",
                                     static_cast<double>(silent_ns) / 1e9));
    if (!stalled && watched.stalled)
      verdict.lines.push_back(format("thread %s %s", name.c_str(), monitor.finished() ? "has ended" : "moves again"));
    watched.stalled = stalled;
    if (stalled) {
      verdict.alive = false;
      verdict.stalled.push_back(name);
    }
    for (MissRecord miss; monitor.pop_miss(miss);)
      if (++watched.miss_lines <= kMissLinesPerThread) verdict.lines.push_back(miss_line(monitor, miss));
  }
  if (now_ns - line_ns_ >= line_period_ns_) verdict.lines.push_back(regular_line(now_ns));
  return verdict;
}

Watchdog::Verdict Watchdog::poll(std::int64_t now_ns, SdNotifier& notifier) {
  Verdict verdict = poll(now_ns);
  if (verdict.started) notifier.ready();
  if (verdict.started && verdict.alive) notifier.watchdog(now_ns);
  return verdict;
}

std::string Watchdog::regular_line(std::int64_t now_ns) {
  std::string line = format("watchdog %.0f s:", static_cast<double>(now_ns - first_ns_) / 1e9);
  const double seconds = static_cast<double>(now_ns - line_ns_) / 1e9;
  for (Watched& watched : watched_) {
    const ThreadMonitor& monitor = *watched.monitor;
    const std::uint64_t passes = monitor.passes(), misses = monitor.misses();
    const char* state = monitor.finished() ? " ended" : watched.stalled ? " STALLED" : "";
    line +=
        format(" %s%s %.1f Hz p99 %.2f ms missed %llu;", monitor.settings().name.c_str(), state,
               static_cast<double>(passes - watched.line_passes) / seconds, ms(monitor.execution().percentile_ns(0.99)),
               static_cast<unsigned long long>(misses - watched.line_misses));
    watched.line_passes = passes;
    watched.line_misses = misses;
    watched.miss_lines = 0;
  }
  if (!watched_.empty()) line.pop_back();
  line_ns_ = now_ns;
  return line;
}

std::string Watchdog::table() const {
  std::string text =
      format("%-10s %-7s %4s %7s %9s %8s %7s | %9s %9s | %9s %9s %9s %9s\n", "thread", "policy", "core", "granted",
             "period", "passes", "missed", "late p99", "late max", "exec p50", "exec p99", "exec p999", "exec max");
  for (const Watched& watched : watched_) {
    const ThreadMonitor& monitor = *watched.monitor;
    const rt::GrantReport& grant = monitor.grant();
    const std::string policy =
        grant.granted_policy == rt::Policy::fifo ? format("fifo %d", grant.granted_priority) : "other";
    const std::string core = grant.granted_core < 0 ? "any" : std::to_string(grant.granted_core);
    const std::string period =
        monitor.settings().period_ns > 0 ? format("%.2f ms", ms(monitor.settings().period_ns)) : "event";
    const Histogram &late = monitor.lateness(), &execution = monitor.execution();
    text += format("%-10s %-7s %4s %7s %9s %8llu %7llu | %6.3f ms %6.3f ms | %6.3f ms %6.3f ms %6.3f ms %6.3f ms\n",
                   monitor.settings().name.c_str(), policy.c_str(), core.c_str(), grant.granted ? "yes" : "NO",
                   period.c_str(), static_cast<unsigned long long>(monitor.passes()),
                   static_cast<unsigned long long>(monitor.misses()), ms(late.percentile_ns(0.99)), ms(late.max_ns()),
                   ms(execution.percentile_ns(0.5)), ms(execution.percentile_ns(0.99)),
                   ms(execution.percentile_ns(0.999)), ms(execution.max_ns()));
    for (std::size_t i = 0; i < monitor.cause_count(); ++i) {
      const ThreadMonitor::CauseCount cause = monitor.cause(i);
      text +=
          format("             missed %llu x: %s\n", static_cast<unsigned long long>(cause.count), cause.name.c_str());
    }
    if (!grant.granted && !grant.why.empty()) text += "             not granted: " + grant.why + "\n";
  }
  return text;
}

nlohmann::json Watchdog::report_of(const ThreadMonitor& monitor) {
  const rt::GrantReport& grant = monitor.grant();
  nlohmann::json causes = nlohmann::json::object(), stages = nlohmann::json::object();
  for (std::size_t i = 0; i < monitor.cause_count(); ++i) {
    const ThreadMonitor::CauseCount cause = monitor.cause(i);
    causes[cause.name] = cause.count;
  }
  for (std::size_t i = 0; i < monitor.stage_count(); ++i)
    stages[monitor.stage_name(i)] = percentiles_us(monitor.stage_histogram(i));
  const double period_ms = ms(monitor.settings().period_ns);
  const auto whole = static_cast<std::int64_t>(period_ms);
  nlohmann::json object = {
      {"name", monitor.settings().name},
      {"policy", rt::name_of(grant.granted_policy)},
      {"priority", grant.granted_priority},
      {"core", grant.granted_core},
      {"granted", grant.granted},
      {"period_ms", static_cast<double>(whole) == period_ms ? nlohmann::json(whole) : nlohmann::json(period_ms)},
      {"deadline_ms", ms(monitor.settings().deadline_ns)},
      {"passes", monitor.passes()},
      {"deadline_misses", monitor.misses()},
      {"lateness_us", percentiles_us(monitor.lateness())},
      {"execution_us", percentiles_us(monitor.execution())},
      {"stages_us", std::move(stages)},
      {"causes", std::move(causes)},
  };
  if (!grant.why.empty()) object["not_granted"] = grant.why;
  return object;
}

nlohmann::json Watchdog::report() const {
  nlohmann::json threads = nlohmann::json::array();
  for (const Watched& watched : watched_) threads.push_back(report_of(*watched.monitor));
  return threads;
}

}  // namespace ligature::watchdog
