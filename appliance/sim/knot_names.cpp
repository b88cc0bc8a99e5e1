#include "appliance/sim/knot_names.hpp"

#include <fmt/format.h>

#include "appliance/knot/client.hpp"
#include "appliance/sim/curves.hpp"
#include "appliance/sim/knot_state.hpp"
#include "appliance/sim/output_files.hpp"

namespace ligature::simulate {
namespace {

constexpr int kPatience_ms = 30000;  // for one answer; usual are milliseconds
constexpr double kEndShare = 0.25;   // of the thread's length: what is held or pulled there loads that end

}  // namespace

Result<std::vector<knot::ThreadKnot>> named_knots(const world::World& world, const world::WorldParams& params) {
  const std::vector<Curve> curves = curves_of(world, params);
  const auto names = thread_names(world);
  const auto holds = holds_of(world, params, curves);
  std::vector<knot::SceneThread> threads;
  for (std::size_t k = 0; k < curves.size(); ++k) {
    knot::SceneThread thread{names[k], curves[k].origin, curves[k].x, curves[k].closed, false, false};
    for (const Hold& hold : holds) {
      if (hold.thread != k) continue;
      thread.loaded_first = thread.loaded_first || hold.s_mm < kEndShare * curves[k].rest_length_mm;
      thread.loaded_last = thread.loaded_last || hold.s_mm > (1 - kEndShare) * curves[k].rest_length_mm;
    }
    threads.push_back(std::move(thread));
  }
  std::vector<knot::ThreadKnot> out;
  const auto questions = knot::questions_of(threads);
  if (questions.empty()) return out;
  auto client = knot::Client::start();
  if (!client) return unexpected(client.error());
  for (const knot::ThreadQuestion& question : questions) {
    if (auto asked = client->ask(question.question); !asked) return unexpected(asked.error());
    auto answer = client->wait(kPatience_ms);
    if (!answer) return unavailable("ligature-knot does not answer");
    if (!*answer) {
      // Curves that have no answer, for instance strands that touch exactly, are not a missing program.
      if (answer->error().kind == Error::Kind::failed) continue;
      return unexpected(answer->error());
    }
    if (knot::is_knot(question, **answer)) out.push_back({question.threads, question.origins, **answer});
  }
  return out;
}

std::string why_not_knot(const std::vector<knot::ThreadKnot>& knots, const std::string& name) {
  if (knot::is_among(knots, name)) return "";
  if (knots.empty()) return "no knot";
  std::string all;
  for (const knot::ThreadKnot& k : knots)
    all += fmt::format("{}{} in {}{}", all.empty() ? "" : ", ", k.answer.name, fmt::join(k.threads, " and "),
                       k.answer.throws ? " (" + *k.answer.throws + ")" : "");
  return all;
}

}  // namespace ligature::simulate
