#include <limits>
#include <utility>

#include "appliance/run/loops.hpp"
#include "sim/base/random.hpp"
#include "sim/base/units.hpp"

namespace ligature::appliance {
PhysicsLoop::PhysicsLoop(Pipeline& pipeline, watchdog::ThreadMonitor& monitor, world::World world,
                         std::uint64_t scene_every, const std::vector<std::vector<TissueSurface>>& surfaces)
    : pipeline_(pipeline),
      monitor_(monitor),
      scene_(std::move(world)),
      scene_every_(scene_every),
      hands_(pipeline.settings.hands) {
  scene_.world().observe_stages(&PhysicsLoop::stage_done, this);
  for (std::size_t k = 0; k < pipeline.settings.scenes.size(); ++k) {
    auto& judge = judges_.emplace_back();
    if (const auto& goal = pipeline.settings.scenes[k].goal)
      judge.emplace(Judge{exercise::Exercise(*goal), exercise::EndGap(surfaces[k], goal->first, goal->second)});
  }
  enter(0);
}

/// The scene is from now on one of this scenario.
void PhysicsLoop::enter(std::uint32_t scenario) noexcept {
  auto& judge = judges_[scenario];
  exercise_ = judge ? &judge->exercise : nullptr;
  end_gap_ = judge ? &judge->end_gap : nullptr;
  gap_mm_ = std::numeric_limits<double>::quiet_NaN();
  next_cut_ = 0;
  scenario_.store(scenario, std::memory_order_release);
}

void PhysicsLoop::stage_done(void* context, StepStage stage) noexcept {
  static constexpr std::array<const char*, kStepStages> kNames{"instruments", "detect",     "couple", "solve",
                                                               "integrate",   "continuous", "finish"};
  static_cast<PhysicsLoop*>(context)->monitor_.stage(kNames[static_cast<std::size_t>(stage)], rt::monotonic_now_ns());
}

void PhysicsLoop::push_pending(const TrackedSample& sample) noexcept {
  newest_ns_ = sample.sample.mid_exposure_ns;
  if (pending_count_ == kPending) take_oldest();
  pending_[(pending_first_ + pending_count_++) % kPending] = sample;
}

void PhysicsLoop::take_oldest() noexcept {
  current_ = pending_[pending_first_];
  fresh_ = true;
  pending_first_ = (pending_first_ + 1) % kPending;
  --pending_count_;
}

void PhysicsLoop::advance(std::int64_t until_ns) noexcept {
  while (pending_count_ > 0 && pending_[pending_first_].sample.mid_exposure_ns <= until_ns) take_oldest();
}

/// Moves current_ to the newest sample whose mid-exposure is at or before `until_ns` of session time. Lockstep waits
/// until the sample after it is known, or that there is none; in real time never further behind the newest sample than
/// kMostBehind and D. False = stopped.
bool PhysicsLoop::take_samples(std::int64_t until_ns) noexcept {
  if (pipeline_.realtime()) {
    if (pipeline_.samples.fetch()) push_pending(pipeline_.samples.front());
    advance(std::max(until_ns, newest_ns_ - pipeline_.settings.sample_delay_ns - kMostBehind_ns));
    ended_ = pipeline_.samples.drained() && pending_count_ == 0;
    return true;
  }
  advance(until_ns);
  while (pending_count_ == 0 && !ended_) switch (pipeline_.samples.take()) {
      case rt::Take::value:
        push_pending(pipeline_.samples.front());
        advance(until_ns);
        break;
      case rt::Take::closed:
        ended_ = true;
        break;
      case rt::Take::timeout:
        break;
      case rt::Take::stopped:
        return false;
    }
  return true;
}

void PhysicsLoop::note_behind(std::int64_t late_ns, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  const double late_s = units::s_per_ns * static_cast<double>(late_ns);
  if (behind_ns_ == 0 && late_ns > kMostBehind_ns) {
    pipeline_.physics_events.push({Kind::physics_behind, 0, time_ns, late_s});
    behind_ns_ = late_ns;
  } else if (behind_ns_ > 0 && late_ns < kMostBehind_ns / 2) {
    const double most_s = units::s_per_ns * static_cast<double>(behind_ns_);
    pipeline_.physics_events.push({Kind::physics_on_time, 0, time_ns, most_s});
    behind_ns_ = 0;
  }
  if (behind_ns_ > 0) behind_ns_ = std::max(behind_ns_, late_ns);
  totals_.behind_max_ns = std::max(totals_.behind_max_ns, late_ns);
}

void PhysicsLoop::inject_overrun(std::uint64_t step, std::int64_t time_ns) noexcept {
  for (const auto& window : pipeline_.settings.faults.physics_overrun) {
    if (time_ns < window.from_ns || time_ns >= window.until_ns || Random(step).uniform() >= window.probability)
      continue;
    const std::int64_t until = rt::monotonic_now_ns() + window.extra_ns;
    while (rt::monotonic_now_ns() < until) {
    }
    monitor_.note_injected("overrun", rt::monotonic_now_ns());
  }
}

void PhysicsLoop::account(const StepReport& report, std::int64_t time_ns) noexcept {
  using Kind = LoopEvent::Kind;
  monitor_.note_work(report.contacts, report.iterations);
  totals_.contacts_max = std::max(totals_.contacts_max, report.contacts);
  totals_.iterations_max = std::max(totals_.iterations_max, report.iterations);
  totals_.penetration_max_mm = std::max(totals_.penetration_max_mm, report.worst_penetration_mm);
  totals_.residual_max = std::max(totals_.residual_max, report.residual);
  if (report.flags & step_contact_overflow) ++totals_.contact_overflows;
  if (report.flags & step_contact_gave_way) ++totals_.gave_way;
  if (report.flags & step_cut) pipeline_.physics_events.push({Kind::thread_cut, 0, time_ns});
  if (report.flags & step_grasped) pipeline_.physics_events.push({Kind::grasped, 0, time_ns});
  if (report.flags & step_released) pipeline_.physics_events.push({Kind::released, 0, time_ns});
  // Steps in a row are one event: the ring is short, and a hand that pushes on does so for a while.
  if (report.crossings_prevented > 0 && !preventing_)
    pipeline_.physics_events.push({Kind::crossing_prevented, 0, time_ns});
  if (report.crossings_found > 0 && !finding_) pipeline_.physics_events.push({Kind::crossing_found, 0, time_ns});
  preventing_ = report.crossings_prevented > 0;
  finding_ = report.crossings_found > 0;
  totals_.crossings_prevented += report.crossings_prevented;
  totals_.crossings_found += report.crossings_found;
  totals_.held_lag_max_mm = std::max(totals_.held_lag_max_mm, report.held_lag_mm);
  totals_.contact_residual_max = std::max(totals_.contact_residual_max, report.contact_residual);
  if (report.flags & step_non_finite_restored) pipeline_.physics_events.push({Kind::non_finite, 0, time_ns});
}

void PhysicsLoop::obey(Control control, std::uint64_t step, std::int64_t time_ns) noexcept {
  SampleRecord record;
  record.step = step;
  record.control = control;
  pipeline_.sample_log.push(record);
  pipeline_.physics_events.push({LoopEvent::Kind::controlled, static_cast<std::uint8_t>(control), time_ns});
  if (control != Control::reset && control != Control::next) scene_.control(control);
  if (!exercise_) return;
  if (control == Control::reset || control == Control::next) exercise_->reset();
  if (control == Control::pause) exercise_->pause();
  if (control == Control::start) exercise_->start();
}

/// What the trainee asked for since the last step, and what comes by itself.
void PhysicsLoop::take_controls(std::uint64_t step, std::int64_t time_ns) noexcept {
  const bool room = pipeline_.worn_scene.load(std::memory_order_acquire) == nullptr;
  if (FreshScene* fresh = room ? pipeline_.fresh_scene.exchange(nullptr, std::memory_order_acq_rel) : nullptr) {
    enter(fresh->scenario);
    obey(fresh->next ? Control::next : Control::reset, step, time_ns);
    fresh->world.observe_stages(&PhysicsLoop::stage_done, this);
    scene_.reset(fresh->world);
    pipeline_.worn_scene.store(fresh, std::memory_order_release);
    scene_.world().snapshot(pipeline_.knot_scenes.back());
    pipeline_.knot_scenes.publish();
    resets_.store(scene_.resets(), std::memory_order_release);
  }
  Control control = Control::none;
  while (pipeline_.controls.pop(control)) obey(control, step, time_ns);
  const auto& cuts_s = pipeline_.settings.scenes[scenario()].cuts_s;
  if (!scene_.halted() && next_cut_ < cuts_s.size() && cuts_s[next_cut_] <= scene_.world().time_s() + 1e-9) {
    ++next_cut_;  // one a step: two would be one
    obey(Control::cut, step, time_ns);
  }
}

/// What the step that is over made of the exercise.
void PhysicsLoop::judge() noexcept {
  if (!exercise_) return;
  if (pipeline_.knot_words.fetch()) {
    const KnotWord& word = pipeline_.knot_words.front();
    if (word.resets == scene_.resets()) exercise_->tied({word.throws.data(), word.size});
  }
  scene_.world().facts(facts_);
  exercise_->look(facts_, 1e-9 * static_cast<double>(pipeline_.settings.step_ns), gap_mm_);
  for (exercise::Event event; exercise_->take_event(event);) pipeline_.exercise_events.push(event);
}

/// Lets the scripted hands look at what they are about to take.
void PhysicsLoop::guide(std::int64_t time_ns) noexcept {
  const double t_s = units::s_per_ns * static_cast<double>(time_ns);
  if (!pipeline_.eye || !pipeline_.eye->due(t_s)) return;
  SceneSnapshot& now = pipeline_.scenes.back().scene;  // not published: written anew before that
  scene_.world().snapshot(now);
  pipeline_.eye->look(now, t_s);
}

void PhysicsLoop::show_exercise(const SceneSnapshot& scene) noexcept {
  constexpr std::int64_t kGapEvery_ns = rt::kNsPerS / 10;
  if (!exercise_) return;
  if (scene.time_ns - gap_ns_ >= kGapEvery_ns) {
    gap_ns_ = scene.time_ns;
    gap_mm_ = end_gap_->of(scene);
  }
  pipeline_.progress.back() = {exercise_->progress(), scenario()};
  pipeline_.progress.publish();
}

void PhysicsLoop::run() noexcept {
  rt::RtSection section("physics");
  const bool realtime = pipeline_.realtime();
  const auto& non_finite_at = pipeline_.settings.faults.non_finite_at_ns;
  std::size_t next_non_finite = 0;
  for (std::uint64_t k = 1; !pipeline_.stopping(); ++k) {
    const std::int64_t t = static_cast<std::int64_t>(k) * pipeline_.settings.step_ns;
    if (t > pipeline_.settings.duration_ns) break;
    const std::int64_t grid = pipeline_.start_ns + t;
    if (realtime) rt::sleep_until(grid);  // the grid is absolute: an overrun delays steps, it never shifts the phase
    if (!take_samples(t - pipeline_.settings.sample_delay_ns)) break;
    // The last sample holds as long as any other would have.
    const std::int64_t sample_end = current_.sample.mid_exposure_ns + pipeline_.settings.camera_period_ns;
    if (ended_ && t - pipeline_.settings.sample_delay_ns >= sample_end) break;

    const std::int64_t begin = rt::monotonic_now_ns();
    monitor_.begin(realtime ? grid : begin, begin);
    if (realtime) note_behind(begin - grid, t);
    const bool fresh = std::exchange(fresh_, false);
    if (fresh || k == 1) {
      pipeline_.sample_log.push({k, false, Control::none, current_.sample});
      hands_.take(current_.sample);
    }
    if (next_non_finite < non_finite_at.size() && t >= non_finite_at[next_non_finite]) {
      ++next_non_finite;
      scene_.world().inject_non_finite();
      pipeline_.sample_log.push({k, true, Control::none, {}});
    }
    take_controls(k, t);

    const StepReport report = scene_.halted() ? StepReport{} : scene_.world().step(hands_.at(t));
    if (!scene_.halted()) judge();
    guide(t);
    inject_overrun(k, t);
    const std::int64_t end = rt::monotonic_now_ns();
    if (fresh) {
      current_.record.physics_start_ns = begin;
      current_.record.physics_end_ns = end;
    }
    account(report, t);

    bool handed_over = true;
    if (realtime || k % scene_every_ == 0) {
      StampedScene& out = pipeline_.scenes.back();
      scene_.world().snapshot(out.scene);
      out.scene.time_ns = t;
      out.record = current_.record;
      out.record.step = k;
      out.scene.cameras_blind = current_.record.cameras_blind;
      show_exercise(out.scene);
      out.record.snapshot_ns = rt::monotonic_now_ns();
      if (t / rt::kNsPerS > knots_shown_s_) {
        // Once a second for whoever names knots: a copy of fixed size, and nobody to wait for.
        knots_shown_s_ = t / rt::kNsPerS;
        pipeline_.knot_scenes.back() = out.scene;
        pipeline_.knot_scenes.publish();
      }
      monitor_.stage("snapshot", out.record.snapshot_ns);
      monitor_.end(out.record.snapshot_ns);
      handed_over = pipeline_.scenes.publish();
    } else {
      monitor_.end(rt::monotonic_now_ns());
    }
    steps_.store(k, std::memory_order_relaxed);
    if (!handed_over) break;
  }
  totals_.state_hash = scene_.state_hash();
  StampedScene& last = pipeline_.scenes.back();  // not published: only read here
  scene_.world().snapshot(last.scene);
  pipeline_.knot_scenes.back() = last.scene;
  pipeline_.knot_scenes.publish();
  totals_.grasps = last.scene.grasps;
  totals_.non_finite_resets = last.scene.non_finite_resets;
  pipeline_.scenes.close();
  monitor_.finish();
}

}  // namespace ligature::appliance
