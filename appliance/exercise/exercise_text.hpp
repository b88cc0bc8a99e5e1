#pragma once
/// An exercise in words: for the line above the picture, the events, the reports.
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "appliance/knot/threads.hpp"
#include "sim/exercise/exercise.hpp"

namespace ligature::appliance {

/// "0:34".
std::string clock_text(double seconds);
/// "2/7 Pierce the first vessel, from outside  0:34"; at most 96 characters.
std::string exercise_line(const exercise::Progress& progress);
/// What throws are called: "reef (1=1)"; the throws alone where they have no name.
std::string tie_text(std::string_view throws);
/// "pick_up passed at 3.20 s".
std::string exercise_text(const exercise::Event& event);
/// As in report.json. @param throws what was tied, "" nothing
nlohmann::json exercise_report(const exercise::Goal& goal, const exercise::Progress& progress, std::string_view throws);

/// Throws of the first of these knots that is made of any and that this thread, or a piece of it, is in; "" where none
/// is. @param origin the thread at the start
std::string throws_among(const std::vector<knot::ThreadKnot>& knots, std::size_t origin);

}  // namespace ligature::appliance
