#include "sim/contact/tools.hpp"

#include <algorithm>
#include <cmath>

#include "sim/contact/rings.hpp"
#include "sim/contact/smooth_curve.hpp"
#include "sim/contact/soft_body.hpp"

namespace ligature::contact {
namespace {

constexpr double kLeastApart = 0.1;  // of its radius, from the axis of what can touch to the other's surface
// Of its radius, how far something may hold two arms apart, and half of their whole distance beyond where they touch.
// The filling is as thick as an arm: further apart it would stand between them as a third one, with slits on both sides
// that threads are drawn into and that nothing opens.
constexpr double kMostParted = 1;

bool outside(const std::vector<Vector3d>& axis, const std::vector<double>& radius, const Bodies& bodies) {
  for (std::size_t b = 0; b < bodies.count; ++b) {
    if (!bodies.soft_of(b)) continue;
    for (std::size_t i = 0; i < axis.size(); ++i) {
      const double keep = kLeastApart * radius[i];
      if (bodies.body[b]->box_distance(axis[i], axis[i]) > keep) continue;
      if (bodies.body[b]->signed_distance(axis[i]) < keep) return false;
      if (i > 0 && bodies.body[b]->nearest(axis[i - 1], axis[i]).distance < keep) return false;
    }
  }
  return true;
}

// Of the centrelines of all strands, but where a body holds them. @param apart of a strand's radius
bool outside(const Obstacle& body, std::size_t number, const Strand* strands, std::size_t count, const Bodies& bodies,
             double apart = kLeastApart) {
  const auto b = static_cast<std::uint32_t>(number);
  for (std::uint32_t k = 0; k < count; ++k)
    for (std::uint32_t j = 0; j < strands[k].edges(); ++j) {
      const Strand& s = strands[k];
      const Vector3d &p = s.x[j], &q = s.x[s.next(j)];
      const double keep = apart * s.thickest(j);
      if (body.box_distance(p.cwiseMin(q), p.cwiseMax(q)) > keep) continue;
      if (bodies.spared && passes(*bodies.spared, k, b, j - 0.5, j + 1.5)) continue;
      if (body.nearest(p, q, 1e9, 0).distance < keep) return false;
    }
  return true;
}

}  // namespace

Tools::Tools(std::size_t most_contacts) : contacts_(most_contacts) {}

void Tools::add(std::vector<double> radius, double compliance) {
  Tool tool;
  tool.radius = std::move(radius);
  tool.compliance = tool.secant = compliance;
  tool.body = Obstacle::cone(tool.radius.front(), tool.radius.back());
  for (std::vector<Vector3d>* v : {&tool.from, &tool.to, &tool.now, &tool.next, &tool.began})
    v->assign(tool.radius.size(), Vector3d(0, 0, 0));
  tools_.push_back(std::move(tool));
  active_.reserve(tools_.size());
  fillings_.reserve(tools_.size());
  strands_.reserve(tools_.size());
  trial_.resize(tools_.size());
}

void Tools::add_filling(std::vector<double> radius) {
  const std::size_t k = tools_.size();
  add(std::move(radius), 0);
  tools_[k - 2].filling = tools_[k - 1].filling = tools_[k].filling = k;
}

Tools::Bearers Tools::bearers(std::size_t tool, By by) const noexcept {
  const std::size_t filling = tools_[tool].filling;
  const bool together = by == By::thread && std::find(fillings_.begin(), fillings_.end(), filling) != fillings_.end();
  return together ? Bearers{filling - 2, 2, 0.5} : Bearers{tool, 1, 1};
}

void Tools::push(std::size_t tool, const Vector3d& force, By by) noexcept {
  const Bearers b = bearers(tool, by);
  for (std::size_t k = b.first; k < b.first + b.count; ++k) tools_[k].force += b.part * force;
}

double Tools::compliance(std::size_t tool, By by, std::size_t other, By by_other) const noexcept {
  const Bearers a = bearers(tool, by), b = bearers(other, by_other);
  double sum = 0;
  for (std::size_t k = std::max(a.first, b.first); k < std::min(a.first + a.count, b.first + b.count); ++k)
    sum += a.part * b.part * tools_[k].secant;
  return sum;
}

Vector3d Tools::gives(std::size_t tool) const noexcept {
  const Bearers b = bearers(tool, By::thread);
  Vector3d sum(0, 0, 0);
  for (std::size_t k = b.first; k < b.first + b.count; ++k) sum += b.part * tools_[k].gives();
  return sum;
}

Vector3d Tools::gave(std::size_t tool) const noexcept {
  const Bearers b = bearers(tool, By::thread);
  Vector3d sum(0, 0, 0);
  for (std::size_t k = b.first; k < b.first + b.count; ++k) sum += b.part * (tools_[k].given - tools_[k].given_before);
  return sum;
}

// Where their arms have gone, and by how much these will go on.
void Tools::place_fillings(Next next) noexcept {
  const auto further = [&](std::size_t k) -> Vector3d {
    const Tool& arm = tools_[k];
    if (next == Next::on) return arm.gives();
    return next == Next::back ? Vector3d(arm.given_before - arm.given) : Vector3d(0, 0, 0);
  };
  for (const std::size_t k : fillings_) {
    tools_[k].given = 0.5 * (tools_[k - 2].given + tools_[k - 1].given);
    tools_[k].body.stand_aside(tools_[k].given, 0.5 * (further(k - 2) + further(k - 1)));
  }
}

void Tools::lead(std::size_t tool, const Vector3d* to) noexcept {
  Tool& t = tools_[tool];
  std::copy_n(to, t.to.size(), t.to.begin());
  if (t.there) return;
  t.there = true;
  t.free = false;
  t.from = t.now = t.to;
  t.given.setZero();
}

void Tools::leave(std::size_t tool) noexcept {
  Tool& t = tools_[tool];
  t.there = false;
  t.body.move_ends(t.to.front(), t.to.back(), t.to.front(), t.to.back());  // it does not travel
  t.body.leave();
}

bool Tools::given_way() const noexcept {
  return std::any_of(active_.begin(), active_.end(), [&](std::size_t k) { return !tools_[k].given.isZero(0); });
}

void Tools::lay_between(std::size_t filling) noexcept {
  const Tool &a = tools_[filling - 2], &b = tools_[filling - 1];
  Tool& t = tools_[filling];
  const auto lay = [&](std::vector<Vector3d>& x, const std::vector<Vector3d>& of_a, const std::vector<Vector3d>& of_b) {
    const Vector3d first = 0.5 * (of_a.front() + of_b.front()), last = 0.5 * (of_a.back() + of_b.back());
    for (std::size_t i = 0; i < x.size(); ++i)
      x[i] = first + static_cast<double>(i) / static_cast<double>(x.size() - 1) * (last - first);
  };
  lay(t.from, a.from, b.from);
  lay(t.to, a.to, b.to);
}

bool Tools::parted(std::size_t filling) const noexcept {
  const Tool &a = tools_[filling - 2], &b = tools_[filling - 1];
  for (const std::size_t i : {std::size_t{0}, a.from.size() - 1})
    if ((a.from[i] + a.given - b.from[i] - b.given).norm() > (2 + 2 * kMostParted) * a.radius[i]) return true;
  return (a.given - b.given).norm() > kMostParted * std::min(a.radius.front(), a.radius.back());
}

bool Tools::arm_touches(std::size_t arm, const Strand* strands, std::size_t count,
                        const Bodies& bodies) const noexcept {
  const Tool& t = tools_[arm];
  return t.free || (outside(t.from, t.radius, bodies) && outside(t.body, bodies.tools + arm, strands, count, bodies));
}

// What jaws held may have slid out of their faces and still lie between the arms: there is no room for both.
bool Tools::fills(std::size_t filling, const Strand* strands, std::size_t count, const Bodies& bodies) const noexcept {
  const Tool& t = tools_[filling];
  return tools_[filling - 2].free && tools_[filling - 1].free && !parted(filling) &&
         outside(t.body, bodies.tools + filling, strands, count, bodies, t.free ? 0 : kLeastApart);
}

void Tools::begin(const Strand* strands, std::size_t count, const Bodies& bodies) noexcept {
  std::size_t active = 0;
  bool same = true;
  fillings_.clear();
  for (std::size_t k = 0; k < tools_.size(); ++k) {
    Tool& t = tools_[k];
    if (is_filling(k)) {
      t.given = 0.5 * (tools_[k - 2].given + tools_[k - 1].given);
      // One that appears between arms that are behind the hand.
      if (!t.free && (tools_[k - 2].held_up || tools_[k - 1].held_up)) lay_between(k);
    }
    t.given_before = t.given;
    t.began = t.from;
    if (!t.there) continue;
    // Not inside again: every motion is proven, or looked at anew (shorten).
    if (!t.free && !is_filling(k)) {
      t.given.setZero();
      t.given_before.setZero();
    }
    t.body.move_ends(t.from.front(), t.from.back(), t.to.front(), t.to.back());
    t.body.stand_aside(t.given, Vector3d::Zero());
    t.free = is_filling(k) ? fills(k, strands, count, bodies) : arm_touches(k, strands, count, bodies);
    if (!t.free) {
      t.body.move_ends(t.to.front(), t.to.back(), t.to.front(), t.to.back());
      t.body.leave();
      continue;
    }
    if (is_filling(k)) {
      fillings_.push_back(k);
      continue;
    }
    same = same && active < active_.size() && active_[active] == k;
    if (active == active_.size()) active_.push_back(k);
    active_[active++] = k;
  }
  same = same && active == active_.size();
  active_.resize(active);
  if (!same) contacts_.contacts().clear();
  place(0);
}

void Tools::place(double part) noexcept {
  strands_.clear();
  for (const std::size_t k : active_) {
    Tool& t = tools_[k];
    for (std::size_t i = 0; i < t.now.size(); ++i) t.now[i] = t.from[i] + part * (t.to[i] - t.from[i]) + t.given;
    const auto [least, most] = std::minmax_element(t.radius.begin(), t.radius.end());
    strands_.push_back({.x = t.now.data(),
                        .vertices = t.now.size(),
                        .radius = *most,
                        .rest_length = (t.now[1] - t.now[0]).norm(),
                        .radii = t.radius.data(),
                        .thinnest = *least});
  }
}

double Tools::furthest() const noexcept {
  double most = 0;
  for (const std::vector<std::size_t>* some : {&active_, &fillings_})
    for (const std::size_t k : *some)
      for (std::size_t i = 0; i < tools_[k].to.size(); ++i)
        most = std::max(most, (tools_[k].to[i] - tools_[k].from[i]).squaredNorm());
  return std::sqrt(most);
}

double Tools::left_to_go(bool with_given) const noexcept {
  double most = 0;
  for (const std::size_t k : active_) {
    const Tool& t = tools_[k];
    const Vector3d given = with_given ? t.given : Vector3d(0, 0, 0);
    for (std::size_t i = 0; i < t.to.size(); ++i) most = std::max(most, (t.to[i] - t.from[i] - given).squaredNorm());
  }
  return std::sqrt(most);
}

double Tools::least_radius() const noexcept {
  double least = 1e9;
  for (const Strand& s : strands_) least = std::min(least, s.thinnest);
  return least;
}

std::size_t Tools::find(double part, const Bodies& bodies, double reach) noexcept {
  place(part);
  return contacts_.find(strands_, bodies, reach);
}

void Tools::clear_forces() noexcept {
  for (Tool& t : tools_) {
    t.force.setZero();
    t.secant = t.secant_of_given();
  }
}

Vector3d Tools::borne(std::size_t tool) const noexcept {
  const Tool& t = tools_[tool];
  const double secant = t.secant_of_given();
  return secant > 0 ? Vector3d(t.given / secant) : Vector3d::Zero();
}

Vector3d Tools::led(const StrandContact& at) const noexcept {
  const Tool& t = touching(at);
  const Strand& s = strands_[at.pair.strand_a];
  return place_on(t.to.data(), s, at.pair.edge_a, at.sa) - place_on(t.from.data(), s, at.pair.edge_a, at.sa);
}

Vector3d Tools::ahead(const StrandContact& at, double part) const noexcept {
  const Tool& t = touching(at);
  return part * led(at) + t.gives();
}

Vector3d Tools::so_far(const StrandContact& at, double part) const noexcept {
  const Tool& t = touching(at);
  return part * led(at) + t.given - t.given_before;
}

double Tools::furthest_give() const noexcept {
  double most = 0;
  for (const std::size_t k : active_) most = std::max(most, tools_[k].gives().norm());
  return most;
}

const Vector3d* const* Tools::trial(double part, double fraction) noexcept {
  for (std::size_t a = 0; a < active_.size(); ++a) {
    Tool& t = tools_[active_[a]];
    for (std::size_t i = 0; i < t.now.size(); ++i)
      t.next[i] = t.now[i] + fraction * (part * (t.to[i] - t.from[i]) + t.gives());
    trial_[a] = t.next.data();
  }
  return trial_.data();
}

const Vector3d* const* Tools::trial_back(double part, double fraction) noexcept {
  for (std::size_t a = 0; a < active_.size(); ++a) {
    Tool& t = tools_[active_[a]];
    const Vector3d given = t.given_before + fraction * (t.given - t.given_before);
    for (std::size_t i = 0; i < t.now.size(); ++i)
      t.next[i] = t.from[i] + fraction * part * (t.to[i] - t.from[i]) + given;
    trial_[a] = t.next.data();
  }
  return trial_.data();
}

const Vector3d* const* Tools::trial_begin() noexcept {
  for (std::size_t a = 0; a < active_.size(); ++a) {
    Tool& t = tools_[active_[a]];
    for (std::size_t i = 0; i < t.now.size(); ++i) t.next[i] = t.began[i] + t.given_before;
    trial_[a] = t.next.data();
  }
  return trial_.data();
}

void Tools::foresee() noexcept {
  for (const std::size_t k : active_) tools_[k].body.stand_aside(tools_[k].given, tools_[k].gives());
  place_fillings(Next::on);
}

void Tools::foresee_back() noexcept {
  for (const std::size_t k : active_)
    tools_[k].body.stand_aside(tools_[k].given, tools_[k].given_before - tools_[k].given);
  place_fillings(Next::back);
}

void Tools::advance(double fraction) noexcept {
  for (const std::size_t k : active_) {
    Tool& t = tools_[k];
    t.given += fraction * t.gives();
    t.body.stand_aside(t.given, Vector3d::Zero());
  }
  place_fillings(Next::stay);
}

void Tools::go_back(double fraction) noexcept {
  for (const std::size_t k : active_) {
    Tool& t = tools_[k];
    // Not what a step that was not finite has made of it.
    t.given = fraction > 0 ? Vector3d(t.given_before + fraction * (t.given - t.given_before)) : t.given_before;
    t.body.stand_aside(t.given, Vector3d::Zero());
  }
  place_fillings(Next::stay);
}

void Tools::finish(double part) noexcept {
  for (std::size_t k = 0; k < tools_.size(); ++k) {
    Tool& t = tools_[k];
    if (!t.there) continue;
    const std::vector<std::size_t>& some = is_filling(k) ? fillings_ : active_;
    t.held_up = part < 1;
    if (std::find(some.begin(), some.end(), k) == some.end()) {
      t.from = t.to;
      t.held_up = false;
      continue;
    }
    for (std::size_t i = 0; i < t.from.size(); ++i) {
      t.from[i] += part * (t.to[i] - t.from[i]);
      t.now[i] = t.from[i] + t.given;
    }
    t.tell_body();
  }
}

void Tools::shorten(double fraction, const Bodies& bodies) noexcept {
  go_back(fraction);
  for (const std::size_t k : active_) {
    Tool& t = tools_[k];
    for (std::size_t i = 0; i < t.from.size(); ++i) {
      t.from[i] = t.began[i] + fraction * (t.from[i] - t.began[i]);
      t.now[i] = t.from[i] + t.given;
    }
    t.tell_body();
    // The way back is not the way it came, and not proven.
    t.free = outside(t.now, t.radius, bodies);
  }
  for (const std::size_t k : fillings_) {
    Tool& t = tools_[k];
    for (std::size_t i = 0; i < t.from.size(); ++i) t.from[i] = t.began[i] + fraction * (t.from[i] - t.began[i]);
    t.tell_body();
  }
}

void Tools::add_to(StateHash& hash) const noexcept {
  for (const Tool& t : tools_) {
    hash.add(static_cast<std::uint64_t>(t.held_up) << 2 | static_cast<std::uint64_t>(t.there) << 1 |
             static_cast<std::uint64_t>(t.free));
    if (!t.there) continue;
    hash.bytes(t.from.data(), sizeof(Vector3d) * t.from.size());
    hash.bytes(t.given.data(), sizeof(double) * 3);
  }
  for (const BodyContact& c : contacts_.contacts()) hash.bytes(c.contact.force.data(), sizeof(double) * 3);
}

}  // namespace ligature::contact
