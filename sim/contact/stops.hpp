#pragma once
/// What a guard has stopped is pushed off: pairs that cut a move short are contacts from the next linearisation on.
///
/// Guards prove moves of polylines against triangles. Contacts are found otherwise: on smooth centrelines, where a
/// distance has a minimum, with the normals of smooth surfaces. Where the two do not mean the same place (a wall in
/// folds, ridges nearer to each other than an edge is long) a guard would stop what no contact pushes away, by half of
/// what is left each time and in the end for good. So the pair itself becomes a contact, between the two places that
/// are nearest to each other, along the line between them: the constraints that are missing are found by the moves
/// that are refused, as in [Otaduy 2009].
///
///   gap = distance - kStopMargin * kept             kept: what the guard keeps of the distance
///
/// Such a contact lasts, from step to step, until its gap is as wide as what is kept. Of how deep it is little is asked
/// for at first (kAskedFor): what else presses on the two places may leave no more room. Whenever it is stopped again,
/// twice as much: what is asked for has to be more than what the contacts are solved to.
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/body_contacts.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/soft_body.hpp"
#include "sim/contact/tissue_contacts.hpp"

namespace ligature::contact {

class Stops {
 public:
  static constexpr double kAskedFor = 0.05;  ///< of what is kept, at first

  enum class Of : std::uint8_t { thread, tool, tissue };

  explicit Stops(std::size_t most);

  void clear() noexcept { known_.clear(), found_.clear(); }
  /// Forgets those of tools, and of strands that have been divided anew since.
  void begin(const Strand* strands, std::size_t count) noexcept;
  /// For a guard to fill: what it stops. Taken over by keep().
  std::vector<Stopped>& found() noexcept { return found_; }
  void keep(Of of, const Strand* strands) noexcept;
  std::size_t size() const noexcept { return known_.size(); }

  /// Where they are now, behind the contacts of their sort; those that have come apart are forgotten. Contacts that do
  /// not fit are left out, as is what has come into a passage since: what draws through a hole would be held at its
  /// rim.
  /// @param tools strands of tools. @rt O(stops^2), no allocation
  void add_to(const Strand* strands, const std::vector<Strand>& tools, const Bodies& bodies,
              const std::vector<Passage>& passages, std::vector<BodyContact>& with_strands,
              std::vector<BodyContact>& with_tools, std::vector<TissueContact>& between_tissues) noexcept;
  /// The forces that these have now, before contacts are found anew.
  void recall(const std::vector<BodyContact>& with_strands, const std::vector<BodyContact>& with_tools,
              const std::vector<TissueContact>& between_tissues) noexcept;

  void add_to(StateHash& hash) const noexcept;

 private:
  struct Stop {
    Of of = Of::thread;
    Stopped at;
    std::uint32_t division = 0, vertices = 0;  ///< of the strand, when it was stopped
    double asked = 0;                          ///< [mm]
    bool placed = false;                       ///< it is among the contacts
    Vector3d normal{0, 0, 0}, force{0, 0, 0};
  };

  std::size_t most_ = 0;
  std::vector<Stop> known_;
  std::vector<Stopped> found_;
};

}  // namespace ligature::contact
