#pragma once
/// `--fault KIND[:CAMERA]:FROM_S[:UNTIL_S[:DELAY_MS]]`, the same fault as a [[fault]] table of the profile.
#include <string>

#include "config/profile_file.hpp"
#include "sim/base/result.hpp"

namespace ligature::appliance {

/// Errors: usage, with the form and the known kinds. The kinds that strike a camera need CAMERA, the others have none.
Result<config::FaultSettings> parse_fault(const std::string& text);

}  // namespace ligature::appliance
