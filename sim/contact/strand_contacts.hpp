#pragma once
/// Narrow phase: the places where strands touch, with an identity, a signed normal and a force that persist.
///
/// Contact is between the smooth centrelines (smooth_curve.hpp). Strands that cross have one where they are nearest to
/// each other. Strands that lie along each other, or are wound round each other, touch along a line: there every vertex
/// of the one has a contact with the nearest place of the other, so that nothing but the solver moves force from one to
/// the next. Of the one that is bent round the other, whichever it is: its nearest places stay where they are, while
/// all of a bend is as near to what lies inside it. Of the first of the two where they are bent alike; where both are
/// bent round each other the nearest place would run all the same, and is held near where the step began (between
/// strands alone, near where its first linearisations led it: what slides on steadily lags behind nothing). Both kinds
/// where the sharpness (curve_places.hpp) is between, each with a hysteresis. The two formulations and why one needs
/// both: [Meier 2017], which parts them by the angle; that takes one strand wound round another for crossings, whose
/// places then run along the line.
///
/// A contact is found once, from the pairs of edges that are near, and followed from then on by Newton's method: its
/// place glides over vertices. Neighbours along a thread do not touch below pi h of arc between the two places: a
/// thread bent round itself as tightly as its own radius allows has that much; where the nearest place has less, the
/// contact is held at that border and keeps the bend from closing. Ends that a cut made go on not touching below it.
///
///   heir    the force of a contact that ends passes to the nearest contacts of the same two strands within 1.5 edges
///           along both, one on either side, in inverse proportion to the distance: force and moment are conserved
///           (before it is turned with the normal), and it is handed over once.
///
/// The normal is (p_a - p_b) / |p_a - p_b|: centrelines do not pass through each other, so that is the right side.
/// Where they are nearer than half the sum of radii the side that the contact had before wins over the opposite one,
/// and below 5 % of it the former normal itself fades in.
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/curve_places.hpp"
#include "sim/contact/pair_list.hpp"

namespace ligature::contact {

class StrandContacts {
 public:
  StrandContacts(std::size_t most_edges, std::size_t most_contacts);

  /// Once a step, before it moves anything: the pairs that may come into touch. Goes back to what remember() kept.
  /// @param reach that two strands may approach each other during the step, beyond their radii [mm]
  /// @returns false when there were more pairs than fit. @rt no allocation
  bool gather(const Strand* strands, std::size_t count, double reach) noexcept;
  /// Looks for the pairs again, when strands moved further than was foreseen; contacts stay.
  bool gather_again(const Strand* strands, std::size_t count, double reach) noexcept;

  /// The contacts with the strands where they are now (vertices as in gather(), x moved), nearer than `reach` between
  /// their surfaces: those that were, followed, and new ones among the pairs. In ascending order of pairs.
  /// @returns how many did not fit (the deepest are kept). @rt no allocation
  std::size_t find(const Strand* strands, std::size_t count, double reach) noexcept;
  /// Whether places are held from now on (curve_places.hpp) where they were when the step began, or when they were last
  /// free; gather() has them held.
  void hold(bool places) noexcept { holds_ = places; }
  /// The same contacts, followed to where they are now; none begins or ends.
  void follow(const Strand* strands) noexcept;
  /// The same contacts at the same places with the same normals; only the gaps along these are those of now.
  void keep(const Strand* strands) noexcept;

  std::vector<StrandContact>& contacts() noexcept { return contacts_; }
  const std::vector<StrandContact>& contacts() const noexcept { return contacts_; }
  std::size_t pairs() const noexcept { return pairs_.pairs().size(); }  ///< that may touch

  /// At the end of the step: keeps forces and normals of the contacts for the next one.
  void remember() noexcept;
  /// Forgets all contacts of one strand.
  void forget(std::uint32_t strand) noexcept;
  /// After a cut of an open strand: its edges from `vertex` on are now those of strand `piece`, counted from there.
  void divide(std::uint32_t strand, std::uint32_t vertex, std::uint32_t piece) noexcept;
  /// After a cut of a ring of so many edges: the edge that begins at `vertex` is now its first.
  void open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept;
  /// After a strand was divided anew where it is: one move for each of its edges of before. Contacts of vertices that
  /// went end with the next find().
  void regrade(std::uint32_t strand, const EdgeMove* moves) noexcept;
  /// All that the next step knows of the steps before: what remember() kept.
  void add_to(StateHash& hash) const noexcept;

 private:
  using Contacts = std::vector<StrandContact>;

  /// Where a contact is now; false when it is lost.
  bool followed(const Strand* strands, StrandContact& contact, CurvePlaces& now) const noexcept;
  void find_beside(const Strand* strands, const EdgePair& pair, std::uint32_t vertex, double reach) noexcept;
  void add_beside(const Strand* strands, const EdgePair& pair, double u, double v, const ArcLimits& limits,
                  double reach) noexcept;
  void find_crossing(const Strand* strands, const EdgePair& pair, double s, double t, double reach) noexcept;
  void add(const StrandContact& contact) noexcept;
  /// Those of the same two strands that may be near this one.
  template <class Visit>
  void visit_known(const Strand* strands, const StrandContact& at, Visit visit) const noexcept;
  void merge(const Strand* strands) noexcept;
  void hand_over(const Strand* strands, const StrandContact& gone) noexcept;
  template <class Rename>
  void rename(std::uint32_t strand, Rename rename) noexcept;

  std::size_t most_ = 0;
  bool first_ = true;         ///< no find() since gather()
  bool holds_ = true;         ///< places
  PairList pairs_;            ///< that may touch in this step
  Contacts contacts_;         ///< of the last find(), ascending                            (2 most contacts)
  Contacts gone_;             ///< those that ended in it                                   (2 most contacts)
  Contacts memory_;           ///< of the last remember(), ascending                        (most contacts)
  std::size_t followed_ = 0;  ///< of contacts_ (the first ones, ascending) in this find()
  std::size_t lost_ = 0;      ///< in this find()
};

}  // namespace ligature::contact
