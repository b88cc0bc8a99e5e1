#pragma once
/// A benchmark's curves as a file.
#include <string>

#include "appliance/sim/drawing.hpp"

namespace ligature::bench {

/// @param plot FILE.svg or FILE.png; empty: none is asked for. @return false, with a line on standard error, for others
bool is_picture(const std::string& plot);
/// @pre is_picture(plot), not empty. @return false, with a line on standard error, if it cannot be written
bool write_picture(const simulate::Drawing& drawing, const std::string& plot, const std::string& title,
                   const std::string& description);

}  // namespace ligature::bench
