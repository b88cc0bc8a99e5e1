#pragma once
/// Narrow phase: the places where strands touch, with an identity, a signed normal and a force that persist.
///
/// Kinds (thesis 3.7): inside both edges, vertex on edge, vertex on vertex, and both edges of a bend on its inner side.
/// Neighbours along a thread do not touch below pi h of arc between the two places: a thread bent round itself as
/// tightly as its own radius allows has that much. Ends that a cut made go on not touching below it.
///
/// Every pair of edges has at most one contact, so the pair is its identity; edge_places.hpp tells where it lies and
/// when it is kept. Two more rules make them few and let them go on:
///
///   spare   a pair that is new and within 0.7 edges of a contact (along both strands; edges of the finer, or half a
///           radius) is left out when its normal and its gap are the same (8 degrees; 1 % of the radii): it adds
///           nothing that the solver could tell apart. It comes in when its gap falls 0.05 % below. It is left out too
///           while its gap is wider by more and its normal much the same (30 degrees): the edges round it touch there
///           first. One that was there goes only at the beginning of a step, without force, with a gap wider by 2 %.
///   heir    the force of a contact whose pair has gone passes to the nearest contacts of the same two strands within
///           1.5 edges along both, one on either side, in inverse proportion to the distance: force and moment are
///           conserved (before it is turned with the normal), and it is handed over once.
///
/// The normal is (p_a - p_b) / |p_a - p_b|: centrelines do not pass through each other, so that is the right side.
/// Where they are nearer than half the sum of radii the side that the contact had before wins over the opposite one,
/// and below 5 % of it the former normal itself fades in.
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

/// Where an edge of before went when its strand was divided anew: the place s of it is now on edge + floor(u), at what
/// is left of u = offset + scale s.
struct EdgeMove {
  std::uint32_t edge = 0;
  double offset = 0, scale = 1;
};

class StrandContacts {
 public:
  StrandContacts(std::size_t most_edges, std::size_t most_contacts);

  /// Once a step, before it moves anything: the pairs that may come into touch. Goes back to what remember() kept.
  /// @param reach that two strands may approach each other during the step, beyond their radii [mm]
  /// @returns false when there were more pairs than fit. @rt no allocation
  bool gather(const Strand* strands, std::size_t count, double reach) noexcept;
  /// Looks for the pairs again, when strands moved further than was foreseen; contacts stay.
  bool gather_again(const Strand* strands, std::size_t count, double reach) noexcept;

  /// The contacts of these pairs with the strands where they are now (vertices as in gather(), x moved), nearer than
  /// `reach` between their surfaces. Forces and sides come from what remember() kept (the same pair, else the nearest
  /// along both strands); contacts that go on from a call of the same step keep theirs.
  /// In ascending order of pairs. @returns how many did not fit (the deepest are kept). @rt no allocation
  std::size_t find(const Strand* strands, std::size_t count, double reach) noexcept;

  std::vector<StrandContact>& contacts() noexcept { return contacts_; }
  const std::vector<StrandContact>& contacts() const noexcept { return contacts_; }
  std::size_t pairs() const noexcept { return pairs_.size(); }  ///< gathered

  /// At the end of the step: keeps forces and normals of the contacts for the next one.
  void remember() noexcept;
  /// Forgets all contacts of one strand.
  void forget(std::uint32_t strand) noexcept;
  /// After a cut of an open strand: its edges from `vertex` on are now those of strand `piece`, counted from there.
  void divide(std::uint32_t strand, std::uint32_t vertex, std::uint32_t piece) noexcept;
  /// After a cut of a ring of so many edges: the edge that begins at `vertex` is now its first.
  void open(std::uint32_t strand, std::uint32_t vertex, std::uint32_t edges) noexcept;
  /// After a strand was divided anew where it is: one move for each of its edges of before. Contacts that come to be of
  /// one pair become one, with the force of both.
  void regrade(std::uint32_t strand, const EdgeMove* moves) noexcept;
  /// All that the next step knows of the steps before: what remember() kept.
  void add_to(StateHash& hash) const noexcept;

 private:
  struct Candidate {
    StrandContact contact;
    const StrandContact* before = nullptr;  ///< the same pair, in before_
    bool kept = false;
  };
  using Contacts = std::vector<StrandContact>;

  void collect(const Strand* strands, double reach, std::size_t& lost) noexcept;
  void set_side(const Strand* strands, Candidate& candidate) const noexcept;
  bool spare(const Strand* strands, std::size_t candidate) const noexcept;
  void hand_over(const Strand* strands, const StrandContact& gone) noexcept;
  template <class Rename>
  void rename(Rename rename) noexcept;

  std::size_t most_ = 0;
  bool first_ = true;  ///< no find() since gather()
  SweptPairs near_;
  std::vector<EdgePair> pairs_;  ///< gathered, ascending                                     (pairs of near_)
  Contacts contacts_, before_;   ///< of the last find(), of the one before it                (most contacts)
  Contacts memory_;              ///< of the last remember(), ascending                       (most contacts)
  std::vector<Candidate>
      candidates_;  ///< ascending                                               (4 most contacts + 64)
};

}  // namespace ligature::contact
