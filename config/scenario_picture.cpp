#include "config/scenario_picture.hpp"

#include <algorithm>
#include <utility>

namespace ligature::config {

void show_scene(const Scenario& scenario, std::vector<TissueSurface> tissues, render::RenderParams& picture) {
  for (std::size_t i = 0; i < kInstruments; ++i) {
    const world::ForcepsParams& f = scenario.params.forceps[i];
    picture.forceps[i] = {f.hinge_p_T, f.tip_radius_mm, f.jaw_radius_mm, f.jaw_length_mm};
  }
  const auto& obstacles = scenario.params.obstacles;
  const auto bench = std::find_if(obstacles.begin(), obstacles.end(), [](const world::ObstacleParams& o) {
    return o.shape == world::ObstacleParams::Shape::plane;
  });
  if (bench != obstacles.end()) picture.bench_point_W = bench->point;
  picture.tissues = std::move(tissues);
  if (!picture.tissues.empty()) picture.vessel.present = false;
}

}  // namespace ligature::config
