#include "appliance/knot/threads.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace ligature::knot {
namespace {

struct Box3 {
  Vec3 low, high;
};

Box3 box_of(const std::vector<Vec3>& points) {
  Box3 box{points.front(), points.front()};
  for (const Vec3 p : points) {
    box.low = {std::min(box.low.x, p.x), std::min(box.low.y, p.y), std::min(box.low.z, p.z)};
    box.high = {std::max(box.high.x, p.x), std::max(box.high.y, p.y), std::max(box.high.z, p.z)};
  }
  return box;
}

bool meet(const Box3& a, const Box3& b) {
  return a.low.x <= b.high.x && b.low.x <= a.high.x && a.low.y <= b.high.y && b.low.y <= a.high.y &&
         a.low.z <= b.high.z && b.low.z <= a.high.z;
}

std::string ends_of(const SceneThread& thread) {
  return thread.loaded_last && !thread.loaded_first ? "ts" : "st";
}

}  // namespace

std::vector<ThreadQuestion> questions_of(const std::vector<SceneThread>& threads) {
  std::vector<ThreadQuestion> out;
  ThreadQuestion rings;
  rings.question.closed = true;
  std::vector<const SceneThread*> open;
  for (const SceneThread& t : threads) {
    if (t.points.size() < (t.closed ? 3u : 2u)) continue;
    if (!t.closed) {
      open.push_back(&t);
      continue;
    }
    rings.threads.push_back(t.name);
    rings.origins.push_back(t.origin);
    rings.question.curves.push_back(t.points);
  }
  if (!rings.threads.empty()) out.push_back(std::move(rings));
  for (const SceneThread* t : open) {
    // Round tissue, tail, standing part, tail, unless the ends are loaded otherwise.
    const bool one_loaded = t->loaded_first != t->loaded_last;
    out.push_back({{t->name}, {t->origin}, {{t->points}, false, one_loaded ? ends_of(*t) : ""}});
  }
  if (open.size() > kMostPairedThreads) return out;
  for (std::size_t i = 0; i < open.size(); ++i)
    for (std::size_t j = i + 1; j < open.size(); ++j) {
      if (!meet(box_of(open[i]->points), box_of(open[j]->points))) continue;
      out.push_back({{open[i]->name, open[j]->name},
                     {open[i]->origin, open[j]->origin},
                     {{open[i]->points, open[j]->points}, false, ends_of(*open[i]) + "," + ends_of(*open[j])}});
    }
  return out;
}

bool is_knot(const ThreadQuestion& question, const Answer& answer) {
  if (question.threads.size() == 2 && !question.question.closed) return answer.throws.has_value() || answer.bend;
  return answer.name != "0_1" && !answer.name.starts_with("0^");
}

nlohmann::ordered_json to_json(const ThreadKnot& knot) {
  nlohmann::ordered_json out{
      {"threads", knot.threads}, {"name", knot.answer.name}, {"confidence", knot.answer.confidence}};
  if (knot.answer.tie) out["tie"] = *knot.answer.tie;
  if (knot.answer.throws) out["throws"] = *knot.answer.throws;
  if (knot.answer.bend) out["bend"] = true;
  if (knot.answer.name == "unknown") out["candidates"] = knot.answer.candidates;
  return out;
}

bool is_among(const std::vector<ThreadKnot>& knots, const std::string& name) {
  if (name == "none" || name == "0_1") return knots.empty();
  return std::any_of(knots.begin(), knots.end(), [&](const ThreadKnot& k) {
    return k.answer.name == name || k.answer.tie == name || k.answer.throws == name;
  });
}

}  // namespace ligature::knot
