#pragma once
/// What a scenario's scene looks like: the shapes that the renderer draws are those of the physics.
#include "config/scenario_file.hpp"
#include "render/params.hpp"

namespace ligature::config {

/// Jaws, and the bench where the scenario has a plane. In a scene with tissue no vessel is drawn that is not there.
/// @param tissues the surfaces of the world that was made from the scenario
void show_scene(const Scenario& scenario, std::vector<TissueSurface> tissues, render::RenderParams& picture);

}  // namespace ligature::config
