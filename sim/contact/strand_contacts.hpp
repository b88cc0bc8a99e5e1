#pragma once
/// Narrow phase: the places where strands touch, with an identity, a signed normal and a force that persist.
///
/// Kinds (thesis 3.7): inside both edges, vertex on edge, vertex on vertex, and both edges of a bend on its inner side.
/// Neighbours along a thread do not touch below pi h of arc between the two places: a thread bent round itself as
/// tightly as its own radius allows has that much.
#include <vector>

#include "sim/contact/strand.hpp"
#include "sim/contact/swept_pairs.hpp"

namespace ligature::contact {

class StrandContacts {
 public:
  StrandContacts(std::size_t most_edges, std::size_t most_contacts);

  /// Once a step, before it moves anything: the pairs that may come into touch.
  /// @param reach that two strands may approach each other during the step, beyond their radii [mm]
  /// @returns false when there were more pairs than fit. @rt no allocation
  bool gather(const Strand* strands, std::size_t count, double reach) noexcept;

  /// The contacts of these pairs with the strands where they are now (vertices as in gather(), x moved), nearer than
  /// `reach` between their surfaces. Forces and sides come from what remember() kept (the same pair, else the nearest
  /// along both strands); contacts that go on from a call of the same step keep theirs.
  /// In ascending order of pairs. @returns how many did not fit (the deepest are kept). @rt no allocation
  std::size_t find(const Strand* strands, std::size_t count, double reach) noexcept;

  std::vector<StrandContact>& contacts() noexcept { return contacts_; }
  const std::vector<StrandContact>& contacts() const noexcept { return contacts_; }

  /// At the end of the step: keeps forces and normals of the contacts for the next one.
  void remember() noexcept;
  /// Forgets all contacts of one strand, when it was cut.
  void forget(std::uint32_t strand) noexcept;

 private:
  std::vector<StrandContact> contacts_;
};

}  // namespace ligature::contact
