#pragma once
/// A camera of the virtual rig: renders what it sees of the coloured markers and hands it over as a FrameSource.
///
/// A pixel is the mean over `exposure_samples` instants and 4 x 4 points inside it. Each point's ray comes from the
/// lens's inverse, so a marker's outline is the true (distorted) image of a sphere. Where markers overlap the nearer
/// one covers the farther one. Noise is Gaussian, from a field drawn once and read from a new place for every frame.
#include <memory>

#include "drivers/camera/frame_source.hpp"
#include "drivers/virtual_rig/hand_path.hpp"
#include "drivers/virtual_rig/params.hpp"

namespace ligature::drivers {

/// @param path shared by the four cameras, read only
/// Errors: usage, for a parameter out of range (message names it) or a camera the rig does not have.
/// Frame k has its mid-exposure at k / rate_hz + skew; every frame has an image until duration_s, then `end`.
Result<std::unique_ptr<FrameSource>> make_virtual_camera(const VirtualRigParams& params, const Rig& rig,
                                                         std::size_t camera_index,
                                                         std::shared_ptr<const HandPath> path);

}  // namespace ligature::drivers
