#pragma once
/// The second half of a calibration: corners that were found already (by whatever means) in, cameras out.
#include "drivers/calibration/calibration.hpp"
#include "drivers/calibration/images.hpp"

namespace ligature::calibration {

/// As calibrate_intrinsics() and calibrate_rig(), which read the pictures first; `job.images` and `job.frames` are not
/// looked at.
Result<IntrinsicsResult> intrinsics_from(Pictures pictures, const IntrinsicsJob& job,
                                         const ProgressFunction& progress = {},
                                         std::vector<ViewReport>* views = nullptr);
Result<RigResult> rig_from(Pictures pictures, const RigJob& job, const ProgressFunction& progress = {},
                           std::vector<ViewReport>* views = nullptr);

}  // namespace ligature::calibration
