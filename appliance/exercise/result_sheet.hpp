#pragma once
/// What is shown over the picture when an exercise is over, and told of it before.
#include <string>
#include <string_view>

#include "render/sheet.hpp"
#include "sim/exercise/exercise.hpp"

namespace ligature::appliance {

/// The picture that is kept when an exercise is over; those before are of the steps, each when it was passed.
inline constexpr std::size_t kLastFrame = exercise::kSteps;
static_assert(kLastFrame < render::kFilmFrames);

/// Steps and their times, mistakes, the knot, how far the ends are apart, and a film strip of the steps.
/// @param knot "reef (1=1)"; "": nobody named one
/// @param keys what the trainee may do now; "": not said
render::Sheet result_sheet(const exercise::Progress& progress, std::string_view knot, std::string_view keys);

/// What stands below the picture of a step, or of kLastFrame.
std::string frame_caption(const exercise::Progress& progress, std::size_t frame);

}  // namespace ligature::appliance
