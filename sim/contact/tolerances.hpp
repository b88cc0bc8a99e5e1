#pragma once
/// Numbers of the contact solver that stand for a length or a force, in one place. They assume threads of 0.02 to 1 mm.

namespace ligature::contact {

inline constexpr double kContactSoftness = 1e-5;  ///< first estimate of force / k: what one iteration may leave [mm]
inline constexpr double kMostStiffness = 1e10;    ///< of an augmentation [uN/mm]
inline constexpr double kMostContactForce = 1e6;  ///< kept from step to step; a pinched thread asks for more [uN]
inline constexpr double kRecoverySpeed = 20.0;    ///< at which a penetration found at the start is pushed out [mm/s]
inline constexpr double kMeritNoise = 1e-13;      ///< relative rounding of a sum of energies
inline constexpr int kMostHalvings = 5;           ///< of a Newton step

}  // namespace ligature::contact
