#include <algorithm>
#include <cmath>

#include "config/scenario_parts.hpp"
#include "sim/base/units.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::config {

namespace {

using world::CutParams;
using world::ScheduleEntry;
using world::ThreadParams;
using world::WorldParams;

constexpr std::size_t kMaxEvents = 1024;
constexpr double kLengthTolerance = 1e-9;  // of a segment

/// A number that may be scheduled: how the file calls it, what it may hold, what it is in sim's units.
struct Changeable {
  std::string key;
  ScheduleEntry::Key what = ScheduleEntry::Key::friction_thread_thread;
  std::size_t index = 0;
  Range range;
  double unit = 1;  // sim's per file's
  bool vector = false;
};

std::vector<Changeable> changeable(const WorldParams& world) {
  using Key = ScheduleEntry::Key;
  std::vector<Changeable> all{
      {"friction.thread_thread", Key::friction_thread_thread, 0, kFriction},
      {"friction.thread_obstacle", Key::friction_thread_obstacle, 0, kFriction},
      {"friction.thread_tissue", Key::friction_thread_tissue, 0, kFriction},
      {"friction.thread_tool", Key::friction_thread_tool, 0, kFriction},
      {"gravity_m_per_s2", Key::gravity, 0, kGravity, units::mm_per_m, true},
  };
  for (std::size_t i = 0; i < world.threads.size(); ++i) {
    const std::string of = "thread." + world.threads[i].name + ".";
    all.push_back({of + "rest_length_scale", Key::rest_length_scale, i, kRestLengthScale});
    all.push_back({of + "drag_mn_s_per_mm2", Key::drag, i, drag_range(world.threads[i].inertial), units::un_per_mn});
  }
  for (std::size_t i = 0; i < world.obstacles.size(); ++i)
    all.push_back(
        {"obstacle." + world.obstacles[i].name + ".velocity_mm_per_s", Key::obstacle_velocity, i, kSpeed, 1, true});
  for (std::size_t i = 0; i < world.tissues.size(); ++i)
    all.push_back(
        {"tissue." + world.tissues[i].name + ".velocity_mm_per_s", Key::tissue_velocity, i, kCarried, 1, true});
  return all;
}

ScheduleEntry read_entry(Table& t, const WorldParams& world, const std::vector<Changeable>& all,
                         const std::vector<std::string>& keys) {
  ScheduleEntry e;
  e.time_s = t.need_number("time_s", kTime);
  const auto which = t.need_one_of("key", keys);
  if (!which) {
    t.has("value") ? t.accept("value") : t.reject_as("value", "missing", "what the key shall become", "add the key");
    return e;
  }
  const Changeable& c = all[*which];
  e.key = c.what;
  e.index = c.index;
  if (c.what == ScheduleEntry::Key::rest_length_scale && world.threads[c.index].needle)
    t.reject_as("key", c.key + " of a thread with a needle", "of a thread without one",
                "the needle would be scaled with it");
  if (c.vector)
    e.vector = c.unit * t.need_vec3("value", c.range);
  else
    e.value = c.unit * t.need_number("value", c.range);
  return e;
}

CutParams read_cut(Table& t, const WorldParams& world, const std::vector<std::string>& names) {
  CutParams c;
  c.thread = t.need_one_of("thread", names).value_or(0);
  c.s_mm = t.need_number("s_mm", not_negative);
  c.time_s = t.need_number("time_s", kTime);
  if (!t.clean()) return c;
  const ThreadParams& thread = world.threads[c.thread];
  if (thread.coarsest_mm > 0) {
    t.reject_as("thread", "an adaptive thread", "one that is not", "leave adaptive out of the thread that is cut");
    return c;
  }
  const double length = rest_length(thread);
  const double segment = length / static_cast<double>(segment_count(thread));
  // A closed thread has no ends to keep away from.
  const double margin = thread.closed ? 0 : 0.5 * segment;
  const double slack = kLengthTolerance * segment;
  if (c.s_mm < margin - slack || c.s_mm > length - margin + slack)
    t.reject("s_mm", std::to_string(margin) + ".." + std::to_string(length - margin) + ", inside the thread",
             "cut half a segment or more from its ends");
  return c;
}

/// A second cut meets the ends that the first one made.
void check_apart(Table& t, const CutParams& c, const std::vector<CutParams>& others, const WorldParams& world) {
  const ThreadParams& thread = world.threads[c.thread];
  const double length = rest_length(thread), segment = length / static_cast<double>(segment_count(thread));
  for (const CutParams& other : others) {
    if (other.thread != c.thread) continue;
    double apart = std::abs(other.s_mm - c.s_mm);
    if (thread.closed) apart = std::min(apart, length - apart);
    if (apart < segment * (1 - kLengthTolerance)) {
      t.reject("s_mm", "a segment or more from the other cuts of the thread", "leave one out or move it");
      return;
    }
  }
}

/// The tables of events; none while something above is wrong, since a thread or an obstacle that could not be read
/// would be missed here in the first line of the file.
std::vector<Table> events(Table& root, std::string_view name, std::initializer_list<std::string_view> keys) {
  auto tables = root.get_tables(name, 0, kMaxEvents);
  if (root.clean()) return tables;
  for (Table& t : tables)
    for (const std::string_view key : keys) t.accept(key);
  return {};
}

}  // namespace

std::vector<ScheduleEntry> read_schedule(Table& root, const WorldParams& world) {
  const auto all = changeable(world);
  std::vector<std::string> keys;
  for (const Changeable& c : all) keys.push_back(c.key);
  std::vector<ScheduleEntry> out;
  for (Table& t : events(root, "schedule", {"time_s", "key", "value"})) {
    const ScheduleEntry e = read_entry(t, world, all, keys);
    const bool twice = t.clean() && std::any_of(out.begin(), out.end(), [&](const ScheduleEntry& other) {
                         return other.key == e.key && other.index == e.index && other.time_s == e.time_s;
                       });
    if (twice) t.reject("time_s", "another time than this key's other entries", "keep one of the two");
    out.push_back(e);
  }
  std::stable_sort(out.begin(), out.end(),
                   [](const ScheduleEntry& a, const ScheduleEntry& b) { return a.time_s < b.time_s; });
  return out;
}

std::vector<CutParams> read_cuts(Table& root, const WorldParams& world) {
  std::vector<std::string> names;
  for (const ThreadParams& t : world.threads) names.push_back(t.name);
  std::vector<CutParams> out;
  std::size_t pieces = world.threads.size();
  for (Table& t : events(root, "cut", {"thread", "s_mm", "time_s"})) {
    const CutParams c = read_cut(t, world, names);
    if (!t.clean()) continue;
    check_apart(t, c, out, world);
    // The first cut of a closed thread only opens it.
    const bool opens = world.threads[c.thread].closed &&
                       std::none_of(out.begin(), out.end(), [&](const CutParams& o) { return o.thread == c.thread; });
    if (!opens && ++pieces == kMaxThreads + 1)
      t.reject_as("thread", "cut into too many pieces",
                  "such that threads and pieces are at most " + std::to_string(kMaxThreads), "leave cuts out");
    out.push_back(c);
  }
  std::stable_sort(out.begin(), out.end(), [](const CutParams& a, const CutParams& b) { return a.time_s < b.time_s; });
  return out;
}

}  // namespace ligature::config
