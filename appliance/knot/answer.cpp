#include "appliance/knot/answer.hpp"

#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>

namespace ligature::knot {
namespace {

using Json = nlohmann::ordered_json;

template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}

std::optional<std::string> text_or_null(const Json& value) {
  if (value.is_null()) return std::nullopt;
  return value.get<std::string>();
}

}  // namespace

std::string to_json(const Question& question) {
  Json curves = Json::array();
  for (const auto& curve : question.curves) {
    Json points = Json::array();
    for (const Vec3 p : curve) points.push_back({p.x, p.y, p.z});
    curves.push_back(std::move(points));
  }
  return Json{{"curves", std::move(curves)}, {"closed", question.closed}, {"ends", question.ends}}.dump();
}

std::string to_json(const Answer& answer) {
  Json out{{"name", answer.name},
           {"candidates", answer.candidates},
           {"confidence", answer.confidence},
           {"components", answer.components},
           {"crossings", answer.crossings},
           {"linking", answer.linking},
           {"tie", or_null(answer.tie)},
           {"throws", or_null(answer.throws)},
           {"homfly", or_null(answer.homfly)}};
  if (answer.tie_confidence) out["tie_confidence"] = *answer.tie_confidence;
  if (answer.bend) out["bend"] = true;
  if (answer.ties) {
    out["ties"] = Json::array();
    for (const PairTie& t : *answer.ties)
      out["ties"].push_back(
          Json{{"threads", {t.first, t.second}}, {"tie", t.tie}, {"throws", t.throws}, {"confidence", t.confidence}});
  }
  return out.dump();
}

std::string to_json_error(const std::string& message) {
  return Json{{"error", message}}.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Result<Question> parse_question(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    Question out;
    for (const Json& curve : json.at("curves")) {
      auto& points = out.curves.emplace_back();
      for (const Json& p : curve) {
        const Vec3 v{p.at(0).get<double>(), p.at(1).get<double>(), p.at(2).get<double>()};
        if (!std::isfinite(v.x) || !std::isfinite(v.y) || !std::isfinite(v.z))
          return usage_error("a coordinate is not finite");
        points.push_back(v);
      }
    }
    out.closed = json.at("closed").get<bool>();
    out.ends = json.at("ends").get<std::string>();
    return out;
  } catch (const std::exception& wrong) {
    return usage_error(std::string("not a question: ") + wrong.what());
  }
}

Result<Answer> parse_answer(std::string_view line) {
  try {
    const Json json = Json::parse(line);
    if (json.contains("error")) return failure(json.at("error").get<std::string>());
    Answer out;
    out.name = json.at("name").get<std::string>();
    out.candidates = json.at("candidates").get<std::vector<std::string>>();
    out.confidence = json.at("confidence").get<double>();
    out.components = json.at("components").get<std::size_t>();
    out.crossings = json.at("crossings").get<std::size_t>();
    out.linking = json.at("linking").get<std::vector<int>>();
    out.tie = text_or_null(json.at("tie"));
    out.throws = text_or_null(json.at("throws"));
    out.homfly = text_or_null(json.at("homfly"));
    if (json.contains("tie_confidence")) out.tie_confidence = json.at("tie_confidence").get<double>();
    out.bend = json.value("bend", false);
    if (json.contains("ties")) {
      out.ties.emplace();
      for (const Json& t : json.at("ties"))
        out.ties->push_back({t.at("threads").at(0).get<std::size_t>(), t.at("threads").at(1).get<std::size_t>(),
                             t.at("tie").get<std::string>(), t.at("throws").get<std::string>(),
                             t.at("confidence").get<double>()});
    }
    return out;
  } catch (const std::exception& wrong) {
    return usage_error(std::string("not an answer: ") + wrong.what());
  }
}

}  // namespace ligature::knot
