#include "tests/config/scenario_grammar.hpp"

#include <array>
#include <cmath>
#include <cstdio>
#include <numbers>

#include "sim/base/geometry.hpp"

namespace ligature::config::test {

namespace {

bool chance(Random& random, double p) {
  return random.uniform() < p;
}

template <class T>
const T& pick(Random& random, const std::vector<T>& from) {
  return from[below(random, from.size())];
}

std::string show(double v) {
  std::array<char, 32> buffer{};
  std::snprintf(buffer.data(), buffer.size(), "%.17g", v);
  return buffer.data();
}

std::string show(Vec3 v) {
  return "[" + show(v.x) + ", " + show(v.y) + ", " + show(v.z) + "]";
}

std::string in_quotes(const std::string& s) {
  return "\"" + s + "\"";
}

Vec3 vector(Random& random, double size) {
  return {random.uniform(-size, size), random.uniform(-size, size), random.uniform(-size, size)};
}

/// Adds keys, each with probability 1/2 when optional.
class Keys {
 public:
  Keys(Section& section, Random& random) : section_(section), random_(random) {}
  void need(const std::string& key, const std::string& value) { section_.entries.push_back({key, value}); }
  void maybe(const std::string& key, const std::string& value) {
    if (chance(random_, 0.5)) need(key, value);
  }
  void number(const std::string& key, double low, double high) { maybe(key, show(random_.uniform(low, high))); }
  void span() {
    if (!chance(random_, 0.3)) return;
    const double from = random_.uniform(0, 2);
    need("from_s", show(from));
    need("until_s", show(from + random_.uniform(0.1, 2)));
  }

 private:
  Section& section_;
  Random& random_;
};

/// What later tables need to know of a thread.
struct Drawn {
  std::string name;
  bool closed = false, inertial = false;
  double rest_length = 0;
  std::size_t segments = 0;
};

std::vector<Vec3> open_curve(Random& random, double y) {
  std::vector<Vec3> points{{0, y, 5}};
  for (std::size_t i = 1 + below(random, 7); i > 0; --i)
    points.push_back(
        {points.back().x + random.uniform(0.5, 3), y + random.uniform(-0.5, 0.5), random.uniform(4.5, 5.5)});
  return points;
}

std::vector<Vec3> ring(Random& random, double y, bool repeated) {
  std::vector<Vec3> points;
  const std::size_t n = 6 + below(random, 15);
  const double radius = random.uniform(2, 4);
  for (std::size_t i = 0; i < n; ++i) {
    const double a = 2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(n);
    points.push_back({radius * std::cos(a), y + radius * std::sin(a), 5});
  }
  if (repeated) points.push_back(points.front());
  return points;
}

double length_of(const std::vector<Vec3>& points, bool closed) {
  double length = 0;
  for (std::size_t i = 1; i < points.size(); ++i) length += norm(points[i] - points[i - 1]);
  return closed ? length + norm(points.back() - points.front()) : length;
}

std::string place(Random& random, const Drawn& t, std::size_t vertex) {
  if (vertex == 0 && chance(random, 0.5)) return in_quotes("first");
  if (vertex == t.segments && chance(random, 0.5)) return in_quotes("last");
  if (chance(random, 0.5)) return std::to_string(vertex);
  return "{ s_mm = " + show(t.rest_length * static_cast<double>(vertex) / static_cast<double>(t.segments)) + " }";
}

void add_clamps(std::vector<Section>& group, Random& random, const Drawn& t) {
  for (std::size_t vertex = 0; vertex < t.segments + (t.closed ? 0 : 1); vertex += 1 + below(random, t.segments)) {
    if (chance(random, 0.3)) continue;
    Section& s = group.emplace_back(Section{"[[thread.clamp]]", {}});
    Keys keys(s, random);
    const bool frame = chance(random, 0.5);
    keys.need("at", place(random, t, vertex));
    if (frame) keys.need("hold", in_quotes("frame"));
    keys.maybe("velocity_mm_per_s", show(vector(random, 5)));
    if (frame) keys.number("spin_deg_per_s", -90, 90);
    if (frame) keys.maybe("turn_deg_per_s", show(vector(random, 90)));
    keys.span();
  }
  for (std::size_t i = below(random, 3); i > 0; --i) {
    Section& s = group.emplace_back(Section{"[[thread.force]]", {}});
    Keys keys(s, random);
    keys.need("at", place(random, t, below(random, t.segments)));
    keys.need("force_mn", show(vector(random, 10)));
    keys.number("ramp_s", 0, 1);
    keys.span();
  }
}

std::vector<Section> thread(Random& random, std::size_t index, Drawn& t) {
  std::vector<Section> group{{"[[thread]]", {}}};
  Section& s = group.front();
  Keys keys(s, random);
  t.name = pick<std::string>(random, {"left", "a.b", "tail end", "\u00fcber", "x"}) + std::to_string(index);
  t.closed = chance(random, 0.3);
  t.inertial = chance(random, 0.4);
  keys.need("name", in_quotes(t.name));
  const double y = 10 * static_cast<double>(index);
  double length = 10;
  if (index == 0 && !t.closed && chance(random, 0.3)) {
    keys.need("points_file", in_quotes("points.csv"));
  } else {
    const auto points = t.closed ? ring(random, y, chance(random, 0.3)) : open_curve(random, y);
    std::string list;
    for (const Vec3& p : points) list += (list.empty() ? "[" : ", ") + show(p);
    keys.need("points_mm", list + "]");
    length = length_of(points, t.closed);
  }
  t.segments = (t.closed ? 8 : 3) + below(random, 50);
  keys.need("segment_mm", show(length / static_cast<double>(t.segments)));
  keys.need("diameter_mm", show(random.uniform(0.02, 0.1)));
  if (t.closed) keys.need("closed", "true");
  if (t.inertial) keys.need("integrator", in_quotes("inertial"));
  const double scale = chance(random, 0.3) ? random.uniform(0.8, 1.2) : 1.0;
  if (scale != 1.0) keys.need("rest_length_scale", show(scale));
  t.rest_length = length * scale;
  keys.maybe("rest_shape", in_quotes(chance(random, 0.5) ? "straight" : "as-given"));
  keys.maybe("twist", in_quotes(chance(random, 0.5) ? "quasi-static" : "unknown"));
  keys.number("twist_turns", -5, 5);
  if (t.inertial) keys.maybe("velocity_mm_per_s", show(vector(random, 100)));
  keys.number("drag_mn_s_per_mm2", 1e-9, 1e-5);
  keys.number("young_gpa", 0.01, 100);
  keys.number("poisson", -0.5, 0.5);
  keys.number("density_kg_per_m3", 1, 5000);
  keys.number("stretch_stiffness_mn", 1, 1e5);
  keys.maybe("bend_stiffness_mn_mm2", chance(random, 0.2) ? "0" : show(random.uniform(0, 300)));
  keys.maybe("twist_stiffness_mn_mm2", chance(random, 0.2) ? "0" : show(random.uniform(0, 300)));
  add_clamps(group, random, t);
  return group;
}

Section above_all(Random& random) {
  Section s;
  Keys keys(s, random);
  keys.maybe("title", in_quotes("Fadenspiel \u2013 \u7cf8"));
  keys.number("duration_s", 0.1, 100);
  keys.maybe("until", in_quotes(chance(random, 0.5) ? "time" : "rest"));
  keys.number("rest_speed_mm_per_s", 1e-6, 1);
  keys.number("step_ms", 0.1, 30);
  keys.maybe("gravity_m_per_s2", show(vector(random, 10)));
  return s;
}

std::vector<Section> settings(Random& random) {
  std::vector<Section> all;
  const auto section = [&](const std::string& header) {
    all.push_back({header, {}});
    return Keys(all.back(), random);
  };
  all.reserve(8);
  Keys friction = section("[friction]");
  for (const char* key : {"thread_thread", "thread_obstacle", "thread_tissue", "thread_tool"})
    friction.number(key, 0, 1);
  Keys capacity = section("[capacity]");
  capacity.maybe("vertices", std::to_string(1000 + below(random, 60000)));
  capacity.maybe("contacts", std::to_string(1 + below(random, 4000)));
  Keys solver = section("[solver]");
  solver.maybe("contact", in_quotes(pick<std::string>(random, {"default", "nncg", "pgs"})));
  solver.maybe("contact_iterations", std::to_string(1 + below(random, 1000)));
  solver.maybe("iterations", std::to_string(1 + below(random, 1000)));
  solver.maybe("work", std::to_string(below(random, 1000)));
  solver.number("residual_target", 1e-12, 1e-3);
  solver.number("implicitness", 0, 1);
  solver.maybe("linearisation", in_quotes(chance(random, 0.5) ? "full" : "scalar"));
  section("[output]").number("every_s", 1e-3, 1);
  Keys jaws = section("[forceps_jaws]");
  jaws.number("jaw_length_mm", 5, 20);
  jaws.number("tip_diameter_mm", 0.1, 0.5);
  jaws.number("grip_force_mn", 1, 1000);
  jaws.number("lost_release_s", 0, 1);
  for (const char* name : {"left", "right"})
    if (chance(random, 0.2)) {
      Keys forceps = section("[[forceps]]");
      forceps.need("name", in_quotes(name));
      forceps.need("path_file", in_quotes("path.csv"));
      forceps.maybe("aims_file", in_quotes("aims.csv"));
    }
  return all;
}

std::vector<Section> obstacles(Random& random, std::vector<std::string>& names) {
  std::vector<Section> group;
  for (std::size_t i = below(random, 4); i > 0; --i) {
    Section& s = group.emplace_back(Section{"[[obstacle]]", {}});
    Keys keys(s, random);
    names.push_back(pick<std::string>(random, {"floor", "a.b", "wall."}) + std::to_string(i));
    keys.need("name", in_quotes(names.back()));
    // All below z = 0, where no thread is.
    const auto deep = [&] { return Vec3{random.uniform(-9, 9), random.uniform(-9, 9), random.uniform(-9, -5)}; };
    const std::string shape = pick<std::string>(random, {"plane", "sphere", "cylinder", "capsule", "mesh"});
    keys.need("shape", in_quotes(shape));
    if (shape == "plane") {
      keys.maybe("point_mm", show(Vec3{random.uniform(-9, 9), random.uniform(-9, 9), random.uniform(-9, 0)}));
      keys.maybe("normal", show(Vec3{0, 0, random.uniform(0.1, 10)}));
    } else if (shape == "sphere") {
      keys.need("centre_mm", show(deep()));
      keys.need("diameter_mm", show(random.uniform(0.1, 9)));
    } else if (shape == "mesh") {
      keys.need("file", in_quotes("block.obj"));
    } else {
      const Vec3 from = deep();
      keys.need("from_mm", show(from));
      keys.need("to_mm", show(from + Vec3{random.uniform(0.1, 9), random.uniform(-9, 9), random.uniform(-2, 2)}));
      keys.need("diameter_mm", show(random.uniform(0.1, 4)));
    }
    keys.maybe("velocity_mm_per_s", show(vector(random, 5)));
    keys.span();
  }
  return group;
}

std::vector<Section> events(Random& random, const std::vector<Drawn>& threads, const std::vector<std::string>& planes) {
  std::vector<Section> group;
  for (std::size_t i = below(random, 4); i > 0; --i) {
    Section& s = group.emplace_back(Section{"[[schedule]]", {}});
    Keys keys(s, random);
    const Drawn& t = pick(random, threads);
    keys.need("time_s", show(static_cast<double>(i) + random.uniform()));
    const std::size_t kind = below(random, planes.empty() ? 4 : 5);
    keys.need("key", in_quotes(kind == 0 ? "friction.thread_" + pick<std::string>(random, {"thread", "tool", "tissue"})
                               : kind == 1 ? "thread." + t.name + ".rest_length_scale"
                               : kind == 2 ? "thread." + t.name + ".drag_mn_s_per_mm2"
                               : kind == 3 ? "gravity_m_per_s2"
                                           : "obstacle." + pick(random, planes) + ".velocity_mm_per_s"));
    keys.need("value", kind < 3 ? show(random.uniform(0.1, 2)) : show(vector(random, 10)));
  }
  for (const Drawn& t : threads)
    if (chance(random, 0.2)) {
      Section& s = group.emplace_back(Section{"[[cut]]", {}});
      Keys keys(s, random);
      keys.need("thread", in_quotes(t.name));
      keys.need("s_mm", show(t.rest_length * random.uniform(0.25, 0.75)));
      keys.need("time_s", show(random.uniform(0, 5)));
    }
  return group;
}

const std::vector<std::string>& wild_values() {
  static const std::vector<std::string> values{"nan",
                                               "-inf",
                                               "inf",
                                               "0",
                                               "-1",
                                               "1e308",
                                               "-1e-308",
                                               "9223372036854775807",
                                               "1e400",
                                               "0.0",
                                               "1e9",
                                               "65536",
                                               "2",
                                               "true",
                                               "\"\"",
                                               "\"first\"",
                                               "\"last\"",
                                               "\"x\"",
                                               "[]",
                                               "{}",
                                               "[0, 0, 0]",
                                               "[[0,0,0]]",
                                               "[[[[]]]]",
                                               "{ s_mm = 1 }",
                                               "{ s_mm = nan }",
                                               "1979-05-27",
                                               "07:32:00",
                                               "0x7f",
                                               "0b1",
                                               "'''\n'''",
                                               "\"\\u0000\"",
                                               "\"\xf0\x9f\xa7\xb5\"",
                                               "\"\xc3\x28\"",
                                               "[1e308, 1e308, 1e308]",
                                               "[1, [2, 3], \"x\"]",
                                               "\"../../etc\"",
                                               "\"points.csv\"",
                                               "\"block.obj\"",
                                               "\"sphere\"",
                                               "\"mesh\"",
                                               "\".\"",
                                               "[[0,0,5],[1e5,0,5]]",
                                               "[[0,0,5],[1e-12,0,5],[0,0,5]]"};
  return values;
}

const std::vector<std::string>& wild_headers() {
  static const std::vector<std::string> headers{"[thread]",
                                                "[[thread]]",
                                                "[[thread.clamp]]",
                                                "[[thread.force]]",
                                                "[thread.clamp]",
                                                "[[obstacle]]",
                                                "[[cut]]",
                                                "[[schedule]]",
                                                "[[needle]]",
                                                "[tissue]",
                                                "[solver]",
                                                "[[solver]]",
                                                "[[friction]]",
                                                "[]",
                                                "[[]]",
                                                "[a.b.c]",
                                                "[\"thread\"]",
                                                "[[forceps]]",
                                                "[forceps_jaws]",
                                                "[[thread.clamp.at]]"};
  return headers;
}

struct Where {
  std::size_t section = 0, entry = 0;
};

/// An entry of a text that has one.
Where any_entry(const ScenarioText& text, Random& random) {
  while (true) {
    const Where w{below(random, text.sections.size()), 0};
    const std::size_t entries = text.sections[w.section].entries.size();
    if (entries > 0) return {w.section, below(random, entries)};
  }
}

bool has_entries(const ScenarioText& text) {
  for (const Section& s : text.sections)
    if (!s.entries.empty()) return true;
  return false;
}

/// Replaces one number in a value; false when there is none (or it is inside a name).
bool replace_number(std::string& value, const std::string& by, Random& random) {
  if (value.empty() || value.front() == '"') return false;
  std::vector<std::pair<std::size_t, std::size_t>> found;
  for (std::size_t at = 0; (at = value.find_first_of("-0123456789", at)) != std::string::npos;) {
    const std::size_t end = std::min(value.find_first_not_of("-+.0123456789e", at), value.size());
    found.push_back({at, end - at});
    at = end;
  }
  if (found.empty()) return false;
  const auto [at, count] = found[below(random, found.size())];
  value.replace(at, count, by);
  return true;
}

}  // namespace

std::size_t below(Random& random, std::size_t n) {
  return static_cast<std::size_t>(random.next() % n);
}

std::string ScenarioText::print() const {
  std::string out;
  for (const Section& s : sections) {
    if (!s.header.empty()) out += s.header + "\n";
    for (const Entry& e : s.entries) out += e.key + " = " + e.value + "\n";
  }
  return out;
}

int ScenarioText::line_of(std::size_t section, std::size_t entry) const {
  std::size_t line = 1 + entry;
  for (std::size_t i = 0; i < section; ++i) line += sections[i].entries.size() + (sections[i].header.empty() ? 0 : 1);
  return static_cast<int>(line + (sections[section].header.empty() ? 0 : 1));
}

ScenarioText good_scenario(Random& random) {
  std::vector<std::vector<Section>> groups;
  for (Section& s : settings(random)) groups.push_back({std::move(s)});
  std::vector<Drawn> threads(1 + below(random, 4));
  std::vector<std::vector<Section>> drawn;
  for (std::size_t i = 0; i < threads.size(); ++i) drawn.push_back(thread(random, i, threads[i]));
  std::vector<std::string> planes;
  groups.push_back(obstacles(random, planes));
  groups.push_back(events(random, threads, planes));
  for (auto& group : drawn) groups.push_back(std::move(group));
  ScenarioText text{{above_all(random)}};
  while (!groups.empty()) {
    const std::size_t next = below(random, groups.size());
    for (Section& s : groups[next]) text.sections.push_back(std::move(s));
    groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(next));
  }
  return text;
}

Promise spoil(ScenarioText& text, Random& random) {
  while (true) {
    const Where w = any_entry(text, random);
    Section& section = text.sections[w.section];
    Entry& entry = section.entries[w.entry];
    const int line = text.line_of(w.section, w.entry);
    switch (below(random, 5)) {
      case 0:
      case 1:
        if (!replace_number(entry.value, pick<std::string>(random, {"nan", "inf", "-inf", "1e400"}), random)) continue;
        return {true, line};
      case 2:
        entry.value = pick<std::string>(random, {"1979-05-27", "[[[]]]", "{ x = {} }", "07:32:00"});
        return {true, line};
      case 3:
        entry.key += pick<std::string>(random, {"s", "_", "-mm", "_mN"});
        return {true, std::nullopt};
      default:
        section.entries.push_back(entry);
        return {true, text.line_of(w.section, section.entries.size() - 1)};
    }
  }
}

void disturb(ScenarioText& text, Random& random) {
  auto& sections = text.sections;
  if (sections.empty()) return;
  const std::size_t some = below(random, sections.size());
  const std::size_t kind = below(random, 12);
  if (kind < 8) {
    if (!has_entries(text)) return;
    const Where w = any_entry(text, random), other = any_entry(text, random);
    auto& entries = sections[w.section].entries;
    Entry& entry = entries[w.entry];
    const Entry& stranger = sections[other.section].entries[other.entry];
    const Entry copy = stranger;
    if (kind < 3)
      entry.value = pick(random, wild_values());
    else if (kind == 3)
      replace_number(entry.value, pick(random, wild_values()), random);
    else if (kind == 4)
      entry.value = copy.value;
    else if (kind == 5)
      entry.key = chance(random, 0.5) ? copy.key
                                      : pick<std::string>(random, {"\"\"", "a.b", "\"\xf0\x9f\xa7\xb5\"", "''", "="});
    else if (kind == 6)
      entries.push_back(copy);
    else
      entries.erase(entries.begin() + static_cast<std::ptrdiff_t>(w.entry));
  } else if (kind == 8) {
    sections[some].header = pick(random, wild_headers());
  } else if (kind == 9) {
    sections.erase(sections.begin() + static_cast<std::ptrdiff_t>(some));
  } else if (kind == 10) {
    const Section copy = sections[some];
    const std::size_t times = chance(random, 0.1) ? 40 : 1;
    for (std::size_t i = 0; i < times; ++i)
      sections.insert(sections.begin() + static_cast<std::ptrdiff_t>(below(random, sections.size() + 1)), copy);
  } else {
    std::swap(sections[some], sections[below(random, sections.size())]);
  }
}

std::string scramble(std::string text, Random& random) {
  static const std::vector<std::string> tokens{
      "nan", "inf", "-",   "1e308",        "\"",   "[",           "]", "[[",   "]]", "=",
      "{",   "}",   "'''", "\"\"\"",       "#",    "\n",          ",", "true", "0x", ".",
      "\\u", "\t",  "\r",  "\xef\xbb\xbf", "\xff", "\xe2\x80\xae"};
  if (text.empty()) return text;
  const std::size_t at = below(random, text.size());
  switch (below(random, 5)) {
    case 0:
      text[at] = static_cast<char>(random.next() & 0xff);
      break;
    case 1:
      text.erase(at, 1 + below(random, 40));
      break;
    case 2:
      text.insert(at, pick(random, tokens));
      break;
    case 3: {
      const std::string piece = text.substr(below(random, text.size()), 1 + below(random, 80));
      for (std::size_t i = chance(random, 0.05) ? 200 : 1; i > 0; --i) text.insert(at, piece);
      break;
    }
    default:
      text.resize(at);
  }
  return text;
}

}  // namespace ligature::config::test
