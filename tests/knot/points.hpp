#pragma once
/// Curves from the files of the scenarios and of `data/`.
#include <cstdio>
#include <fstream>
#include <string>

#include "sim/knot/curves.hpp"

namespace ligature::knot {

inline Curve points_of(const std::string& file) {
  Curve out;
  std::ifstream in(std::string(LIGATURE_SOURCE_DIR) + "/" + file);
  for (std::string line; std::getline(in, line);) {
    Vec3 p;
    if (std::sscanf(line.c_str(), "%lf,%lf,%lf", &p.x, &p.y, &p.z) == 3) out.push_back(p);
  }
  return out;
}
inline Curve scenario_points(const std::string& name) {
  return points_of("config/scenarios/knot/points/" + name + ".csv");
}

}  // namespace ligature::knot
