#include "appliance/run/knot_watch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <tuple>
#include <utility>

#include "appliance/exercise/exercise_text.hpp"

namespace ligature::appliance {
namespace {

std::string text_of(const std::vector<knot::ThreadKnot>& knots) {
  std::string out;
  for (const knot::ThreadKnot& k : knots)
    out += fmt::format("{}{} in {}{}", out.empty() ? "" : ", ", k.answer.name, fmt::join(k.threads, " and "),
                       k.answer.throws ? " (" + *k.answer.throws + ")" : "");
  return out.empty() ? "none" : out;
}

}  // namespace

std::string KnotWatch::start(std::vector<std::string> thread_names) {
  names_ = std::move(thread_names);
  auto client = knot::Client::start();
  if (!client) return client.error().message;
  client_ = std::move(*client);
  return "";
}

void KnotWatch::look_at(const SceneSnapshot& scene) {
  std::vector<knot::SceneThread> threads;
  for (std::size_t k = 0; k < scene.threads.size(); ++k) {
    const SnapshotThread& t = scene.threads[k];
    // Pieces that a cut has made come last.
    knot::SceneThread thread{
        k < names_.size() ? names_[k] : fmt::format("piece {}", k + 1), t.origin, {}, t.closed, false, false};
    for (std::uint32_t i = t.first_vertex; i < t.first_vertex + t.vertex_count; ++i)
      thread.points.push_back({scene.vertices[i].x, scene.vertices[i].y, scene.vertices[i].z});
    threads.push_back(std::move(thread));
  }
  questions_ = knot::questions_of(threads);
  asked_ = 0;
  found_.clear();
  ask();
}

void KnotWatch::ask() {
  if (client_ && asked_ < questions_.size()) std::ignore = client_->ask(questions_[asked_].question);
}

std::optional<std::string> KnotWatch::serve() {
  if (!client_ || asked_ >= questions_.size()) return std::nullopt;
  auto answer = client_->poll();
  if (!answer) return std::nullopt;
  if (*answer) {
    if (knot::is_knot(questions_[asked_], **answer))
      found_.push_back({questions_[asked_].threads, questions_[asked_].origins, **answer});
  } else if (answer->error().kind == Error::Kind::unavailable) {
    client_.reset();
    return "knots are no longer named: " + answer->error().message;
  }
  if (++asked_ < questions_.size()) {
    ask();
    return std::nullopt;
  }
  const bool first = looks_++ == 0;
  const std::string before = first ? "none" : text_of(known_), now = text_of(found_);
  known_ = std::move(found_);
  found_.clear();
  return before == now ? std::nullopt : std::optional("knots: " + now);
}

std::string KnotWatch::throws(std::size_t origin) const {
  return throws_among(known_, origin);
}

std::optional<nlohmann::ordered_json> KnotWatch::report() const {
  if (looks_ == 0) return std::nullopt;
  nlohmann::ordered_json out = nlohmann::ordered_json::array();
  for (const knot::ThreadKnot& k : known_) out.push_back(knot::to_json(k));
  return out;
}

}  // namespace ligature::appliance
