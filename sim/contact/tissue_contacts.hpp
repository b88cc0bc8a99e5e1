#pragma once
/// Where the surfaces of soft bodies touch each other and rigid ones, with an identity, a normal and a force that
/// persist.
///
/// Every surface has a skin, and two keep the sum of their skins: a contact's gap is the distance of two places less
/// that. The places are those where the distance of two triangle meshes has local minima,
///
///   vertex against face, edge or vertex of the other, from both sides; edge against edge, where both are ridges
///
/// so that sharp rims meet edge on edge, and faces that lie on each other bear at all their vertices. Which features
/// face each other is judged by their normal cones, with some slack (kConeSlack): a place that is no minimum yet may be
/// one after the move, and the law that its distance stays is true of it, too. As surfaces never pass through each
/// other (tissue_guard.hpp) distances need no sign, and normals are those of the way from the one place to the other.
#include <cstdint>
#include <vector>

#include "sim/base/hash.hpp"
#include "sim/contact/obstacle.hpp"
#include "sim/contact/strand.hpp"

namespace ligature::contact {

class SelfPairs;

/// Identity: the two bodies, kind, first, second, number.
struct TissueContact {
  enum class Kind : std::uint8_t {
    vertex,  ///< `first` of body a against the surface of b, one of several by `number`; b may be a
    other,   ///< vertex `first` of body b against the surface of a
    edges,   ///< the edges `first` of a and `second` of b: 3 triangle + side, of the later of their two triangles
    stop,    ///< triangles `first` of a and `second` of b, where a guard stopped them (stops.hpp): behind all others
  };
  /// pair = {kNoStrand, body a, kNoStrand, body b}; normal from b to a, force on a; `on`: the place on b
  StrandContact contact;
  SurfacePlace of;  ///< the place on a
  Kind kind = Kind::vertex;
  std::uint32_t first = 0, second = 0, number = 0;
};

/// Within what of their skins surfaces are looked at: `apart`, and by how much two places are likely to come nearer,
/// which is `times` what their last moves differ, from `least` up to `most` [mm].
struct TissueReach {
  double apart = 0, times = 0, least = 0, most = 0;
  bool by_step = true;  ///< their moves: step() of their bodies, else from start() to x()
};

class TissueContacts {
 public:
  explicit TissueContacts(std::size_t most_contacts);

  /// The contacts where the bodies are now, as far as told; forces are those of before, turned with their normals.
  /// @returns how many did not fit. @rt O(triangles near), no allocation
  std::size_t find(const Bodies& bodies, const TissueReach& reach) noexcept;

  /// In ascending order of identity.
  std::vector<TissueContact>& contacts() noexcept { return contacts_; }
  const std::vector<TissueContact>& contacts() const noexcept { return contacts_; }

  void add_to(StateHash& hash) const noexcept;

 private:
  struct Pair;
  struct Moves {  // the box of those of a body
    Vector3d low = Vector3d::Constant(1e30), high = Vector3d::Constant(-1e30);
  };
  void find_vertices(const Pair& pair, TissueContact::Kind kind, const Moves& others) noexcept;
  void find_edges(const Pair& pair, const Moves& others) noexcept;
  void find_self(const Pair& pair, SelfPairs& pairs) noexcept;
  bool bears(std::uint32_t a, std::uint32_t b, std::uint32_t first, std::uint32_t second) const noexcept;
  void add(const Pair& pair, TissueContact at) noexcept;

  std::size_t most_ = 0, lost_ = 0;
  std::vector<TissueContact> contacts_, before_;  // (most contacts)
  struct Near {
    double square = 0;
    std::uint32_t vertex = 0, triangle = 0;
    Vector3d point{0, 0, 0};
  };
  std::vector<Near> near_;            // of a surface's vertices to itself                               (most contacts)
  std::vector<std::uint8_t> handed_;  // of before_: its force went on                    (most contacts)
};

}  // namespace ligature::contact
