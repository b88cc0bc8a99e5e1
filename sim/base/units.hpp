#pragma once
/// Inside `sim`: millimetre, gram, second, hence force in micronewton (g mm/s^2), pressure in pascal,
/// energy in nanojoule (uN mm), angles in radian. Factors for numbers that enter or leave that system.
#include <numbers>

namespace ligature::units {

inline constexpr double rad_per_deg = std::numbers::pi / 180.0;
inline constexpr double deg_per_rad = 180.0 / std::numbers::pi;
inline constexpr double un_per_mn = 1e3;                 ///< force
inline constexpr double mm_per_m = 1e3;                  ///< length, and acceleration m/s^2 -> mm/s^2
inline constexpr double pa_per_gpa = 1e9;                ///< 1 Pa = 1 uN/mm^2
inline constexpr double g_per_mm3_per_kg_per_m3 = 1e-6;  ///< density
inline constexpr double ns_per_ms = 1e6;
inline constexpr double s_per_ns = 1e-9;

}  // namespace ligature::units
