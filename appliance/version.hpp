#pragma once
#include <string>

namespace ligature::appliance {

/// One line: product version, commit, compiler and the versions of the libraries that decide results.
/// The same line stands in every report and in the metadata of every picture.
const std::string& version_line();

}  // namespace ligature::appliance
