#pragma once
/// poses.csv: one row per frame and instrument (CONTRACT: ligature track). Lengths mm, angles degrees, poses of the
/// forceps frame T in the rig R. A number that nothing stands for is an empty cell: every number of a lost instrument,
/// the residual of a pose that no image was fitted to.
#include <cstdint>
#include <string>
#include <string_view>

#include "drivers/tracking/tracker.hpp"
#include "sim/contract/instrument_sample.hpp"

namespace ligature::tracking {

inline constexpr std::string_view kPoseColumns =
    "frame,t_s,instrument,status,x_mm,y_mm,z_mm,qx,qy,qz,qw,opening_deg,cameras,residual_px,sigma_tip_mm,"
    "cov_xx_mm2,cov_xy_mm2,cov_xz_mm2,cov_yy_mm2,cov_yz_mm2,cov_zz_mm2";

/// What --filter adds: the stream the picture uses, at the frame's time.
inline constexpr std::string_view kFilteredColumns =
    ",filtered_x_mm,filtered_y_mm,filtered_z_mm,filtered_qx,filtered_qy,filtered_qz,filtered_qw,filtered_opening_deg,"
    "filtered_closed";

const char* status_name(TrackStatus status);

/// Appends one row without its newline. @param t_ns time of the frame
void append_pose(std::string& out, std::uint64_t frame, std::int64_t t_ns, const std::string& instrument,
                 const InstrumentPose& pose, const drivers::TipCovariance& covariance);
/// Appends the filtered columns; filtered_closed is 1 or 0.
void append_filtered(std::string& out, const drivers::FilteredPose& pose);

}  // namespace ligature::tracking
