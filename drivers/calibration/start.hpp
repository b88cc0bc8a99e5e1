#pragma once
/// Start values of the adjustment: lenses from single cameras, cameras from boards that two of them saw.
///
/// A lens: of a row of focal lengths the one under which planar poses fit best, then its own adjustment. A pair of
/// cameras: every frame both saw proposes X_ab = X_aB X_bB^-1 (for each turn that the board's symmetry allows); the
/// proposal most frames agree with wins. Pairs form a graph; its heaviest spanning tree places the cameras.
#include <functional>
#include <string>
#include <vector>

#include "drivers/calibration/bundle.hpp"
#include "drivers/calibration/images.hpp"

namespace ligature::calibration {

/// Sets lens and the boards' poses of one camera (X_CR = identity, one board per view).
/// @param free false: the lens stays, only the boards are placed
/// @return a bundle with one camera and a board per view, adjusted under Cauchy's loss
Bundle start_camera(const std::vector<const View*>& views, const Board& board, std::array<int, 2> size_px,
                    const LensVector* lens, bool free, const std::function<bool()>& go_on);

struct Placement {
  std::vector<Pose> X_0C;    ///< cameras in the first one's frame
  std::vector<bool> placed;  ///< connected with the first one
  std::vector<int> shared;   ///< frames that camera c shares with any other
};
/// @param X_CB of each view; @param quarters receives by how much each view's board is turned against the others' idea
Placement place_cameras(const Board& board, std::size_t cameras, const std::vector<View>& views,
                        const std::vector<Pose>& X_CB, std::vector<int>& quarters);

/// The board turned by quarter turns as turned_id() does: X_BB' takes the turned board's coordinates to the board's.
Pose quarter_turn(int quarters);

}  // namespace ligature::calibration
