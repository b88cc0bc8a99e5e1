#pragma once
/// The eye of a scripted hand. A path is laid for threads that lie where they lay once; where they lie a tenth of a
/// millimetre elsewhere, hands that tie by heart miss the end. One who ties looks.
///
/// At an aim's time the eye looks where a place of a thread is. After kReaction_s the hand begins to move over by what
/// that place is off from where it was when the path was laid, and has done so after over_s. An aim at nothing brings
/// the hand back to its path.
#include <array>
#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/result.hpp"
#include "sim/contract/scene_snapshot.hpp"

namespace ligature::drivers {

/// One row of a file of aims.
struct Aim {
  enum class At : std::uint8_t { none, first, last };  ///< which end of the thread its place is counted from
  double t_s = 0, over_s = 0;
  std::size_t thread = 0;  ///< in the order of the scenario
  At end = At::none;
  double arc_mm = 0;  ///< along the thread from that end
  Vec3 laid;          ///< p_WP_W of the place when the path was laid [mm]
  Vec3 follow;        ///< how much of it the hand makes good, in x, y, z of W
};
using ForcepsAims = std::vector<Aim>;  ///< times strictly rising

/// Reads `t_s,over_s,thread,end,arc_mm,x_mm,y_mm,z_mm,follow_x,follow_y,follow_z` (a header line is skipped); end is
/// first, last or none. Errors name file and line.
Result<ForcepsAims> load_aims(const std::string& file);

/// One writer, who looks; any number of readers, who move hands. What they read is a function of time alone as long as
/// each look comes before kReaction_s after its time.
class HandEye {
 public:
  static constexpr double kReaction_s = 0.15;  ///< of a practised hand to what it sees: 0.15 to 0.2 s
  static constexpr double kFarthest_mm = 2;    ///< a hand leaves its path no further

  /// @param aims left, right. @param lap_s the paths begin again after it; 0: never
  explicit HandEye(std::array<ForcepsAims, kInstruments> aims, double lap_s = 0);

  /// Whether there is something to look at. @rt writer
  bool due(double t_s) const noexcept;
  /// Looks at what is due; a thread that is not there is not seen, and the hand stays as it is. @rt writer
  void look(const SceneSnapshot& scene, double t_s) noexcept;
  /// How far off its path a hand is, in W [mm]. @rt any thread
  Vec3 shift(std::size_t hand, double t_s) const noexcept;

 private:
  /// What was seen, of one round of the path.
  struct Seen {
    std::atomic<std::int64_t> lap{-1};
    std::array<std::atomic<double>, 3> off_mm{};
  };
  struct Hand {
    ForcepsAims aims;
    std::vector<Seen> seen;
    std::size_t next = 0;  ///< the writer's
    std::int64_t lap = 0;
  };
  std::int64_t lap_at(double t_s) const noexcept;
  double time_of(const Hand& hand) const noexcept;

  std::array<Hand, kInstruments> hands_;
  double lap_s_;
};

}  // namespace ligature::drivers
