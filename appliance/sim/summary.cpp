#include "appliance/sim/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <nlohmann/json.hpp>

#include "appliance/sim/output_files.hpp"
#include "appliance/sim/strand_gap.hpp"
#include "appliance/version.hpp"
#include "sim/base/units.hpp"

namespace ligature::simulate {

using json = nlohmann::ordered_json;

namespace {

constexpr double kInObstacle = 0.01;  // deeper in one a tissue is told of [mm]

double mn(double value) {
  return value / units::un_per_mn;
}

json vector_json(Vec3 v) {
  return json::array({v.x, v.y, v.z});
}

json place_json(const world::Place& at) {
  if (at.kind == world::Place::Kind::vertex) return at.vertex;
  if (at.kind == world::Place::Kind::arc) return json{{"s_mm", at.s_mm}};
  return place_name(at);
}

json quantiles_json(const Quantiles& q) {
  if (q.count() == 0) return json::object();
  return {{"p50", q.at(0.5)}, {"p99", q.at(0.99)}, {"max", q.max()}};
}

json thread_json(const world::World& world, std::size_t k, const std::string& name) {
  const world::ThreadMeasure m = world.measure(k);
  const world::ThreadShape shape = world.shape(k);
  return {{"name", name},
          {"closed", m.closed},
          {"vertices", m.vertices},
          {"rest_length_mm", m.rest_length_mm},
          {"length_mm", m.length_mm},
          {"elongation_max", m.elongation_max},
          {"first_mm", vector_json(shape.x.front())},
          {"last_mm", vector_json(shape.x.back())},
          {"speed_max_mm_per_s", m.speed_max_mm_per_s},
          {"bend_energy_mn_mm", mn(m.bend_energy)},
          {"twist_energy_mn_mm", mn(m.twist_energy)},
          {"stretch_energy_mn_mm", mn(m.stretch_energy)},
          {"kinetic_energy_mn_mm", mn(m.kinetic_energy)},
          {"potential_energy_mn_mm", mn(m.potential_energy)},
          {"momentum_g_mm_per_s", vector_json(m.momentum)},
          {"angular_momentum_g_mm2_per_s", vector_json(m.angular_momentum)},
          {"link", m.twist_turns + m.writhe},
          {"twist_turns", m.twist_turns},
          {"writhe", m.writhe}};
}

/// Of every thread or piece that has one.
json needles_json(const world::World& world, const world::WorldParams& params) {
  json all = json::array();
  for (std::size_t k = 0; k < world.thread_count(); ++k) {
    const world::ThreadMeasure m = world.measure(k, false);
    if (m.needle_last <= m.needle_first) continue;
    const auto given = std::find_if(params.threads.begin(), params.threads.end(),
                                    [&](const world::ThreadParams& t) { return t.needle && t.name == m.name; });
    if (given == params.threads.end()) continue;
    const world::NeedleParams& n = *given->needle;
    const world::ThreadShape shape = world.shape(k);
    const std::size_t point = n.at_last ? m.needle_last : m.needle_first;
    const std::size_t swage = n.at_last ? m.needle_first : m.needle_last;
    all.push_back({{"name", n.name},
                   {"thread", m.name},
                   {"at", n.at_last ? "last" : "first"},
                   {"arc_mm", n.arc_mm},
                   {"arc_deg", n.arc_rad / units::rad_per_deg},
                   {"wire_diameter_mm", n.wire_mm},
                   {"bend_stiffness_mn_mm2", mn(n.material.bend_stiffness)},
                   {"first_vertex", m.needle_first},
                   {"last_vertex", m.needle_last},
                   {"point_mm", vector_json(shape.x[point])},
                   {"swage_mm", vector_json(shape.x[swage])}});
  }
  return all;
}

}  // namespace

void TailMean::add(const std::vector<double>& row) {
  ++rows_;
  for (std::size_t i = 0; i < width_; ++i) open_[i] += row[i];
  if (++in_open_ < length_) return;
  sums_.insert(sums_.end(), open_.begin(), open_.end());
  std::fill(open_.begin(), open_.end(), 0.0);
  in_open_ = 0;
  if (sums_.size() < kBlocks * width_ || width_ == 0) return;
  for (std::size_t b = 0; b < kBlocks / 2; ++b)
    for (std::size_t i = 0; i < width_; ++i)
      sums_[b * width_ + i] = sums_[2 * b * width_ + i] + sums_[(2 * b + 1) * width_ + i];
  sums_.resize(kBlocks / 2 * width_);
  length_ *= 2;
}

std::vector<double> TailMean::mean() const {
  std::vector<double> sum = open_;
  std::uint64_t rows = in_open_;
  const std::uint64_t wanted = std::max<std::uint64_t>(1, (rows_ + 9) / 10);
  for (std::size_t end = sums_.size(); end > 0 && rows < wanted; end -= width_, rows += length_)
    for (std::size_t i = 0; i < width_; ++i) sum[i] += sums_[end - width_ + i];
  for (double& v : sum) v /= static_cast<double>(std::max<std::uint64_t>(rows, 1));
  return sum;
}

Statistics::Statistics(const world::WorldParams& params, double duration_s, bool judge_ties)
    : params_(params),
      watch_(loads_full_s(params, duration_s)),
      judge_ties_(judge_ties),
      clamp_mean_(7 * clamps_of(params).size()),
      gap_min_mm_(std::numeric_limits<double>::infinity()),
      gap_min_over_radius_(std::numeric_limits<double>::infinity()) {}

void Statistics::start(const world::World& world) {
  curves_ = curves_of(world, params_);
  note_shifts(world);
  std::size_t edges = 0;
  for (const Curve& c : curves_) edges += c.edges();
  judge_ties_ |= edges <= kCheapEdges;
  tied_at_start_ = any_tied();
}

void Statistics::note_shifts(const world::World& world) {
  shifts_.resize(params_.obstacles.size());
  for (std::size_t i = 0; i < shifts_.size(); ++i) shifts_[i] = world.obstacle_shift(i);
}

bool Statistics::any_tied() const {
  if (!judge_ties_) return false;
  const std::vector<bool> of = tied(curves_, poles_of(params_, shifts_));
  return std::find(of.begin(), of.end(), true) != of.end();
}

KnotVerdict Statistics::verdict() const {
  KnotVerdict v;
  v.tied_before = tied_at_start_ || tied_at_full_;
  v.tied_at_full = tied_at_full_;
  v.tied_at_end = any_tied();
  return v;
}

void Statistics::take_gap(double gap_mm, double over_radius) {
  gap_min_mm_ = std::min(gap_min_mm_, gap_mm);
  gap_min_over_radius_ = std::min(gap_min_over_radius_, over_radius);
}

void Statistics::measure_contacts(const world::World& world, const StepReport& report) {
  const auto contacts = report.contacts > 0 ? world.contacts() : std::vector<world::ContactMeasure>{};
  for (const world::ContactMeasure& c : contacts)
    if (c.other != world::ContactMeasure::Other::thread) take_gap(c.gap_mm, c.gap_mm / curves_[c.thread].radius_mm);
  // Strands by their shapes, whatever detection knew of them.
  const bool touched = std::any_of(contacts.begin(), contacts.end(), [](const world::ContactMeasure& c) {
    return c.other == world::ContactMeasure::Other::thread;
  });
  double reach = 0;
  for (const Curve& c : curves_) reach = std::max(reach, c.thickest());
  if (const auto gap = smallest_gap(curves_, reach); gap && (touched || gap->gap_mm < 0))
    take_gap(gap->gap_mm, gap->over_radius);
}

void Statistics::add(const world::World& world, const StepReport& report) {
  ++steps_;
  if (report.flags & step_contact_overflow) ++overflows_;
  if (report.flags & step_contact_gave_way) ++gave_way_;
  if (report.flags & step_vertices_spent) ++short_of_vertices_;
  vertices_added_ += report.vertices_added;
  vertices_removed_ += report.vertices_removed;
  if (report.flags & step_non_finite_restored) ++non_finite_;
  if (report.flags & step_not_converged) ++not_converged_;
  if (report.flags & step_limited) ++limited_;
  grasps_ += report.grasps;
  releases_ += report.releases;
  contacts_last_ = report.contacts;
  contacts_max_ = std::max(contacts_max_, report.contacts);
  iterations_max_ = std::max(iterations_max_, report.iterations);
  contact_iterations_max_ = std::max(contact_iterations_max_, report.contact_iterations);
  residual_.add(report.residual);
  if (report.contact_iterations > 0) contact_residual_.add(report.contact_residual);

  std::vector<Curve> now = curves_of(world, params_);
  // A cut makes other threads of the same ones; nothing moves through anything by it.
  const bool passed = report.crossings_found > 0 && now.size() == curves_.size() && may_have_passed(curves_, now);
  curves_ = std::move(now);
  note_shifts(world);
  tissue_peaks_.resize(params_.tissues.size());
  for (std::size_t k = 0; k < tissue_peaks_.size(); ++k) {
    const world::TissueMeasure m = world.measure_tissue(k);
    TissuePeak& peak = tissue_peaks_[k];
    peak.displacement_mm = std::max(peak.displacement_mm, m.displacement_mm);
    peak.force = std::max(peak.force, norm(m.contact_force));
    peak.contact_force = std::max(peak.contact_force, m.contact_force_most);
    peak.tool_force = std::max(peak.tool_force, norm(m.tool_force));
    peak.gap_mm = std::min(peak.gap_mm, m.tissue_gap_mm);
    if (m.in_obstacle_mm > peak.in_obstacle_mm)
      peak.in_obstacle_mm = m.in_obstacle_mm, peak.in_obstacle = m.in_obstacle;
    peak.inverted = std::max(peak.inverted, m.inverted);
    peak.run = m.inverted > 0 ? peak.run + 1 : 0;
    peak.inverted_steps_in_a_row = std::max(peak.inverted_steps_in_a_row, peak.run);
  }
  if (!params_.tissues.empty()) {
    const auto rings = world.rings();
    for (const world::RingMeasure& r : rings) {
      HoleCourse& hole = holes_[{r.suture, r.exit}];
      hole.force = std::max(hole.force, norm(r.force));
      hole.tension = std::max({hole.tension, r.tension_before, r.tension_after});
      // A cut, or an adaptive thread divided anew, numbers vertices anew: nothing passes by it.
      const std::size_t edges = curves_[r.thread].edges();
      if (hole.thread == r.thread && hole.edges == edges)
        hole.vertices_passed +=
            static_cast<std::uint64_t>(std::abs(std::floor(r.edges_before) - std::floor(hole.edges_before)));
      hole.edges_before = r.edges_before;
      hole.thread = r.thread;
      hole.edges = edges;
    }
  }
  for (const world::ForcepsMeasure& m : world.forceps())
    forceps_force_ = std::max({forceps_force_, norm(m.grip), norm(m.pressed[0]), norm(m.pressed[1])});
  topology_.add(world.time_s(), params_.step_s, report, passed);
  measure_contacts(world, report);
  const bool begun = watch_.begun();
  if (world.time_s() + 1e-9 >= watch_.from_s())
    watch_.add(world.time_s(), curves_, touches_of(world, params_), holds_of(world, params_, curves_));
  if (watch_.begun() && !begun) tied_at_full_ = any_tied();
  row_.clear();
  for (const world::ClampMeasure& c : world.clamps()) {
    const Vec3 force = c.active ? c.force : Vec3{}, torque = c.active ? c.torque : Vec3{};
    row_.insert(row_.end(), {force.x, force.y, force.z, torque.x, torque.y, torque.z, c.active ? 1.0 : 0.0});
  }
  clamp_mean_.add(row_);
}

json Statistics::clamps(const world::World& world, const world::WorldParams& params) const {
  const std::vector<double> mean = clamp_mean_.mean();
  const auto now = world.clamps();
  const auto given = clamps_of(params);
  const auto names = thread_names(world);
  json all = json::array();
  for (std::size_t i = 0; i < now.size(); ++i) {
    // Over the steps in which it existed.
    std::array<double, 6> m{};
    for (std::size_t k = 0; k < 6; ++k) m[k] = mean[7 * i + k] / std::max(mean[7 * i + 6], 1e-300);
    all.push_back({{"thread", names[now[i].thread]},
                   {"at", place_json(given[i]->at)},
                   {"vertex", now[i].vertex},
                   {"active", now[i].active},
                   {"reaction_mn", {mn(m[0]), mn(m[1]), mn(m[2])}},
                   {"torque_mn_mm", {mn(m[3]), mn(m[4]), mn(m[5])}}});
  }
  return all;
}

json Statistics::tissue(const world::World& world) const {
  json all = json::array();
  const auto near = [](double gap_mm) { return gap_mm < world::kNoTissueNear ? json(gap_mm) : json(nullptr); };
  for (std::size_t k = 0; k < params_.tissues.size(); ++k) {
    const world::TissueMeasure m = world.measure_tissue(k);
    const TissuePeak peak = k < tissue_peaks_.size() ? tissue_peaks_[k] : TissuePeak{};
    all.push_back({{"name", m.name},
                   {"elements", m.elements},
                   {"volume_mm3", m.volume_mm3},
                   {"displacement_mm", m.displacement_mm},
                   {"displacement_max_mm", peak.displacement_mm},
                   {"force_mn", {mn(m.contact_force.x), mn(m.contact_force.y), mn(m.contact_force.z)}},
                   {"force_max_mn", mn(peak.force)},
                   {"contact_force_max_mn", mn(peak.contact_force)},
                   {"tool_force_mn", {mn(m.tool_force.x), mn(m.tool_force.y), mn(m.tool_force.z)}},
                   {"tool_force_max_mn", mn(peak.tool_force)},
                   {"tissue_force_mn", {mn(m.tissue_force.x), mn(m.tissue_force.y), mn(m.tissue_force.z)}},
                   {"obstacle_force_mn", {mn(m.obstacle_force.x), mn(m.obstacle_force.y), mn(m.obstacle_force.z)}},
                   {"tissue_gap_mm", near(m.tissue_gap_mm)},
                   {"tissue_gap_min_mm", near(peak.gap_mm)},
                   {"in_obstacle_max_mm", peak.in_obstacle_mm},
                   {"inverted", m.inverted},
                   {"inverted_max", peak.inverted},
                   {"inverted_steps_in_a_row", peak.inverted_steps_in_a_row}});
  }
  return all;
}

std::vector<std::string> Statistics::in_obstacles() const {
  std::vector<std::string> all;
  for (std::size_t k = 0; k < tissue_peaks_.size(); ++k)
    if (const TissuePeak& peak = tissue_peaks_[k]; peak.in_obstacle_mm > kInObstacle)
      all.push_back(fmt::format("tissue '{}' went {:.3g} mm into obstacle '{}', and must not", params_.tissues[k].name,
                                peak.in_obstacle_mm, params_.obstacles[peak.in_obstacle].name));
  return all;
}

json Statistics::sutures(const world::World& world, const world::WorldParams& params) const {
  json all = json::array();
  const auto rings = world.rings();
  const auto names = thread_names(world);
  for (std::size_t k = 0; k < rings.size(); ++k) {
    const world::RingMeasure& r = rings[k];
    const auto course = holes_.find({r.suture, r.exit});
    const HoleCourse hole = course != holes_.end() ? course->second : HoleCourse{};
    all.push_back({{"suture", r.suture},
                   {"hole", r.exit ? "exit" : "entry"},
                   {"thread", names[r.thread]},
                   {"tissue", params.tissues[r.tissue].name},
                   {"s_mm", r.s_mm},
                   {"place_mm", vector_json(r.place)},
                   {"force_mn", {mn(r.force.x), mn(r.force.y), mn(r.force.z)}},
                   {"force_max_mn", mn(hole.force)},
                   {"tension_mn", {mn(r.tension_before), mn(r.tension_after)}},
                   {"tension_max_mn", mn(hole.tension)},
                   {"vertices_passed", hole.vertices_passed},
                   {"sliding", r.sliding},
                   {"left", r.left}});
  }
  return all;
}

json Statistics::forceps() const {
  return {{"grasps", grasps_}, {"releases", releases_}, {"force_max_mn", mn(forceps_force_)}};
}

json Statistics::contacts() const {
  const auto gap = [](double v) { return v < std::numeric_limits<double>::infinity() ? json(v) : json(nullptr); };
  return {{"max", contacts_max_},           {"last", contacts_last_},
          {"overflow", overflows_},         {"gave_way", gave_way_},
          {"gap_min_mm", gap(gap_min_mm_)}, {"gap_min_over_radius", gap(gap_min_over_radius_)}};
}

json Statistics::solver() const {
  return {{"iterations_max", iterations_max_},
          {"residual_p50", residual_.at(0.5)},
          {"residual_max", residual_.max()},
          {"contact_iterations_max", contact_iterations_max_},
          {"contact_residual_p50", contact_residual_.at(0.5)},
          {"contact_residual_max", contact_residual_.max()},
          {"steps_not_converged", not_converged_},
          {"steps_limited", limited_},
          {"steps_short_of_vertices", short_of_vertices_},
          {"vertices_added", vertices_added_},
          {"vertices_removed", vertices_removed_}};
}

json Statistics::ends(const world::World& world) const {
  const auto names = thread_names(world);
  json all = json::array();
  for (const EndWatch::End& e : watch_.ends())
    all.push_back({{"thread", names[e.thread]},
                   {"end", e.last ? "last" : "first"},
                   {"kind", e.tail ? "tail" : "standing"},
                   {"free_mm", e.free_mm},
                   {"slid_mm", e.slid_mm},
                   {"slid_diameters", e.slid_mm / e.diameter_mm}});
  const KnotVerdict v = verdict();
  return {{"loads_full_s", watch_.from_s()},
          {"at_start", judge_ties_ ? json(tied_at_start_) : json(nullptr)},
          {"at_full", judge_ties_ && watch_.begun() ? json(v.tied_at_full) : json(nullptr)},
          {"at_end", judge_ties_ ? json(v.tied_at_end) : json(nullptr)},
          {"ends", all}};
}

json summary(const config::Scenario& scenario, const std::string& file, const world::World& world,
             const Statistics& statistics, const StageTimes& times, const Ending& ending) {
  json s;
  s["title"] = scenario.title;
  s["scenario"] = file;
  s["version"] = appliance::version_line();
  s["steps"] = statistics.steps();
  s["step_ms_nominal"] = scenario.params.step_s * 1e3;
  s["time_s"] = world.time_s();
  s["at_rest"] = ending.at_rest;
  s["interrupted"] = ending.interrupted;
  s["state_hash"] = fmt::format("{:016x}", world.state_hash());
  s["threads"] = json::array();
  const auto names = thread_names(world);
  for (std::size_t k = 0; k < names.size(); ++k) s["threads"].push_back(thread_json(world, k, names[k]));
  s["clamps"] = statistics.clamps(world, scenario.params);
  s["contacts"] = statistics.contacts();
  s["solver"] = statistics.solver();
  s["topology"] = statistics.topology().json();
  s["tied"] = statistics.ends(world);
  if (!scenario.forceps.empty()) s["forceps"] = statistics.forceps();
  s["needles"] = needles_json(world, scenario.params);
  s["tissue"] = statistics.tissue(world);
  s["sutures"] = statistics.sutures(world, scenario.params);
  s["knots"] = nullptr;
  if (ending.knots) {
    s["knots"] = json::array();
    for (const knot::ThreadKnot& k : *ending.knots) s["knots"].push_back(knot::to_json(k));
  }
  s["non_finite_resets"] = statistics.non_finite();
  s["wall_s"] = ending.wall_s;
  s["window_ms"] = quantiles_json(times.windows());
  s["window_processor_ms"] = quantiles_json(times.processor_windows());
  json& step_ms = s["step_ms"];
  step_ms["total"] = quantiles_json(times.total());
  for (std::size_t c = 0; c < kStageColumns.size(); ++c)
    step_ms[kStageColumns[c].name] = kStageColumns[c].stage < 0 ? json::object() : quantiles_json(times.column(c));
  return s;
}

std::string place_text(const json& at) {
  if (at.is_object()) return fmt::format("s_mm={}", at["s_mm"].get<double>());
  return at.is_string() ? at.get<std::string>() : at.dump();
}

namespace {

// What a figure above is worth, where it is worth less than it looks.
std::string solver_lines(const json& s) {
  std::string out;
  const json &solver = s["solver"], &gap = s["contacts"]["gap_min_mm"], &topology = s["topology"];
  if (const auto missed = solver["steps_not_converged"].get<std::uint64_t>(); missed > 0)
    out += fmt::format(
        "{} of {} steps ended unconverged; residual {:.2g} (p50), {:.2g} (max), of contacts {:.2g}, {:.2g}{}\n", missed,
        s["steps"].get<std::uint64_t>(), solver["residual_p50"].get<double>(), solver["residual_max"].get<double>(),
        solver["contact_residual_p50"].get<double>(), solver["contact_residual_max"].get<double>(),
        solver["residual_max"].get<double>() > 0 ? "" : ": what still moved, or lay in each other, counts too");
  if (gap.is_number() && gap.get<double>() < 0)
    out += fmt::format("deepest in each other: {:.3g} um; of a thread's radius: {:.3g}\n", -1e3 * gap.get<double>(),
                       -s["contacts"]["gap_min_over_radius"].get<double>());
  if (s.contains("forceps") && s["forceps"]["force_max_mn"].get<double>() > 0)
    out += fmt::format("forceps: {} grasps, {} releases; {:.3g} mN at most on an arm or of a grip\n",
                       s["forceps"]["grasps"].get<std::uint64_t>(), s["forceps"]["releases"].get<std::uint64_t>(),
                       s["forceps"]["force_max_mn"].get<double>());
  if (const auto cut = topology["crossings_prevented"].get<std::uint64_t>(); cut > 0)
    out += fmt::format("{} moves cut short before something would have passed through\n", cut);
  if (const double lag = topology["tool_lag_max_mm"].get<double>(); lag > TopologyLog::kLagging_mm)
    out += fmt::format("what is held was behind by {:.2g} mm (p99), {:.2g} mm (max), for {:g} ms on end at most\n",
                       topology["tool_lag_p99_mm"].get<double>(), lag, topology["tool_lag_longest_ms"].get<double>());
  if (const double lag = topology["obstacle_lag_max_mm"].get<double>(); lag > TopologyLog::kLagging_mm)
    out += fmt::format("obstacles that move were behind by {:.2g} mm (max): something was in their way\n", lag);
  return out.empty() ? out : "\n" + out;
}

}  // namespace

std::string table(const json& s) {
  const auto number = [](const json& v) { return v.get<double>(); };
  std::string out = s["title"].get<std::string>() + "\n";
  out += fmt::format("{} steps of {:g} ms, {:g} s simulated in {:.2f} s; {}{}; state {}\n",
                     s["steps"].get<std::uint64_t>(), number(s["step_ms_nominal"]), number(s["time_s"]),
                     number(s["wall_s"]), s["at_rest"].get<bool>() ? "at rest" : "not at rest",
                     s["interrupted"].get<bool>() ? ", interrupted" : "", s["state_hash"].get<std::string>());
  std::size_t widest = 12;
  for (const json& t : s["threads"]) widest = std::max(widest, t["name"].get_ref<const std::string&>().size());
  out += fmt::format("\n{:<{}} {:>8} {:>11} {:>10} {:>11} {:>11} {:>11} {:>11} {:>9}\n", "thread", widest, "vertices",
                     "length mm", "elongation", "speed mm/s", "stretch", "bend", "twist mN mm", "link");
  for (const json& t : s["threads"])
    out += fmt::format("{:<{}} {:>8} {:>11.6g} {:>10.3g} {:>11.3g} {:>11.5g} {:>11.5g} {:>11.5g} {:>9.5g}\n",
                       t["name"].get<std::string>(), widest, t["vertices"].get<std::uint64_t>(), number(t["length_mm"]),
                       number(t["elongation_max"]), number(t["speed_max_mm_per_s"]), number(t["stretch_energy_mn_mm"]),
                       number(t["bend_energy_mn_mm"]), number(t["twist_energy_mn_mm"]), number(t["link"]));
  if (!s["clamps"].empty())
    out += fmt::format("\n{:<{}} {:>35}   {:>35}\n", "clamp", widest + 10, "force on the thread, mN", "torque, mN mm");
  for (const json& c : s["clamps"]) {
    const json &f = c["reaction_mn"], &m = c["torque_mn_mm"];
    out += fmt::format("{:<{}} {:<9} {:>11.4g} {:>11.4g} {:>11.4g}   {:>11.4g} {:>11.4g} {:>11.4g}\n",
                       c["thread"].get<std::string>(), widest, place_text(c["at"]), number(f[0]), number(f[1]),
                       number(f[2]), number(m[0]), number(m[1]), number(m[2]));
  }
  if (const json& knots = s["knots"]; knots.is_array() && !knots.empty()) {
    out += "\n";
    for (const json& k : knots) {
      std::string threads;
      for (const json& t : k["threads"]) threads += (threads.empty() ? "" : " and ") + t.get<std::string>();
      out += fmt::format("knot {}{} in {}, confidence {:.2f}\n", k["name"].get<std::string>(),
                         k.contains("throws") ? " (" + k["throws"].get<std::string>() + ")" : "", threads,
                         number(k["confidence"]));
    }
  }
  if (const json& w = s["window_ms"]; w.contains("p50"))
    out += fmt::format(
        "\n30 ms of simulated time take {:.3g} ms (p50), {:.3g} (p99), {:.3g} (max); of the processor {:.3g}, {:.3g}\n",
        number(w["p50"]), number(w["p99"]), number(w["max"]), number(s["window_processor_ms"]["p50"]),
        number(s["window_processor_ms"]["p99"]));
  out += solver_lines(s);
  if (s.contains("exercise")) {
    out += fmt::format("\nexercise '{}': {}\n", s["exercise"]["name"].get<std::string>(),
                       s["exercise"]["state"].get<std::string>());
    for (const json& event : s["exercise"]["events"]) out += "  " + event.get<std::string>() + "\n";
  }
  return out;
}

}  // namespace ligature::simulate
