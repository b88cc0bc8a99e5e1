#pragma once
/// A camera that was knocked while the board was shown to it.
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "drivers/calibration/bundle.hpp"

namespace ligature::calibration {

struct MovedCamera {
  std::size_t camera = 0;
  std::size_t board = 0;  ///< the first one it was shown afterwards
  double shift_px = 0;    ///< how far its pictures lie from where they were before, middle of all views
  /// Of two cameras each may have moved against the other; then this is the other one.
  std::optional<std::size_t> or_camera;
};

/// Where the other cameras put each board, one camera's views may lie beside it all alike from some frame on: neither
/// its lens nor its place can be right before and after. The camera whose views part most clearly, if any do.
/// @param bundle  adjusted; corners that are not used count as seen, not for where a board is
/// @param order  of the boards in time, each once
/// @param go_on  asked often; false: stop, and nothing is found
std::optional<MovedCamera> find_moved(const Bundle& bundle, const std::vector<std::size_t>& order,
                                      const std::function<bool()>& go_on = {});

}  // namespace ligature::calibration
