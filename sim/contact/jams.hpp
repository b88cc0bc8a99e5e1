#pragma once
/// What is jammed goes on as one, so that all else may go its way.
///
/// A guard that stops one pair of features stops everything, as all moves are cut by the same fraction. Where contacts
/// cannot keep a pair apart (a strand in a fold of a wall that closes on it from both sides) it is stopped in every
/// linearisation, and the world would stand still for good. What moves alike keeps all its distances, and every guard
/// lets it pass: so vertices and nodes of pairs that are stopped at once, and of all that these hang together with,
/// move as one rigid piece in this linearisation, as stuck as they are (impact zones [Provot 1997; Bridson 2002]). What
/// is jammed at a rigid body goes as that does there.
#include <Eigen/Core>
#include <cstdint>
#include <span>
#include <vector>

namespace ligature::contact {

using Eigen::Vector3d;

class Jams {
 public:
  struct Part {
    bool soft = false;        ///< a node of a soft body, else a vertex of a strand
    std::uint32_t owner = 0;  ///< the body or strand
    std::uint32_t index = 0;  ///< of the node or vertex
    Vector3d own{0, 0, 0};    ///< how it would move  W [mm]
    bool held = false;        ///< it moves so whatever it is jammed with
    Vector3d move{0, 0, 0};   ///< how it moves, after settle()  W [mm]
    std::uint32_t with = 0;   ///< for Jams: one of the same piece
  };

  explicit Jams(std::size_t most);

  void clear() noexcept { parts_.clear(); }
  bool empty() const noexcept { return parts_.empty(); }
  const std::vector<Part>& parts() const noexcept { return parts_; }
  bool has(bool soft, std::uint32_t owner, std::uint32_t index) const noexcept;

  /// These are of one piece, with all that they are of one piece with already. What is known keeps its own move, unless
  /// it is held; what does not fit is left out. @rt O(jammed), no allocation
  void join(std::span<const Part> parts) noexcept;
  /// Every piece moves by the mean of its parts' own moves, or of those that are held. @rt O(jammed^2), no allocation
  void settle() noexcept;

 private:
  std::size_t find(const Part& part) const noexcept;
  std::size_t root(std::size_t i) const noexcept;

  std::vector<Part> parts_;
};

}  // namespace ligature::contact
