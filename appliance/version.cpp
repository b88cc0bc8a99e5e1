#include "appliance/version.hpp"

#include <fmt/format.h>
#include <vulkan/vulkan_core.h>

#include <toml++/toml.h>
#include <CLI/Version.hpp>
#include <Eigen/Core>
#include <nlohmann/json.hpp>
#include <opencv2/core/version.hpp>

#include "version_commit.hpp"

namespace ligature::appliance {

const std::string& version_line() {
  static const std::string line = fmt::format(
      "ligature {} commit {} gcc {} {} Eigen {}.{}.{} OpenCV {} Vulkan-headers 1.{}.{} toml++ {}.{}.{} "
      "nlohmann-json {}.{}.{} CLI11 {} fmt {}.{}.{}",
      LIGATURE_VERSION, LIGATURE_COMMIT, __VERSION__, LIGATURE_BUILD, EIGEN_WORLD_VERSION, EIGEN_MAJOR_VERSION,
      EIGEN_MINOR_VERSION, CV_VERSION, VK_API_VERSION_MINOR(VK_HEADER_VERSION_COMPLETE), VK_HEADER_VERSION,
      TOML_LIB_MAJOR, TOML_LIB_MINOR, TOML_LIB_PATCH, NLOHMANN_JSON_VERSION_MAJOR, NLOHMANN_JSON_VERSION_MINOR,
      NLOHMANN_JSON_VERSION_PATCH, CLI11_VERSION, FMT_VERSION / 10000, FMT_VERSION / 100 % 100, FMT_VERSION % 100);
  return line;
}

}  // namespace ligature::appliance
