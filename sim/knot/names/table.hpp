#pragma once
/// All knots to ten crossings and two-component links to eight, with their mirror images and connected sums.
///
/// Names: Alexander-Briggs in modern numbering for knots, Rolfsen's for links; m = mirror image of the row of
/// prime_knots_gauss.csv; factors joined by #, sorted by crossings, index, unmirrored first; 0_1 is the unknot, 0^2_1
/// two circles apart, A+B two knots apart.
#include <compare>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "sim/knot/diagram.hpp"
#include "sim/knot/names/polynomial.hpp"

namespace ligature::knot {

/// One factor's name, in the order that names are written in.
struct PrimeName {
  int crossings = 0;
  int components = 1;
  int index = 1;
  bool mirrored = false;
  auto operator<=>(const PrimeName&) const = default;
};
std::string to_string(const PrimeName& name);
/// Sorts; leaves unknots out unless there is nothing else.
std::string joined(std::vector<PrimeName> factors);

struct TableKnot {
  PrimeName name;
  Diagram diagram;
  Polynomial homfly;
  std::int64_t determinant = 0;
  bool amphichiral = false;
};
struct TableLink {
  PrimeName name;
  Diagram diagram;
  Polynomial homfly[2];  ///< as it stands, one component reversed
  std::int64_t determinant = 0;
};

/// What a diagram with that polynomial may show.
struct Form {
  std::vector<PrimeName> factors;
  std::vector<std::size_t> knots;  ///< the factors' places among the table's knots
  bool split = false;              ///< two knots apart rather than a sum
  int crossings = 0;               ///< of all factors together
  std::string name() const;
};

class Table {
 public:
  /// Made when first asked for. [a few ms]
  static const Table& instance();

  const std::vector<TableKnot>& knots() const { return knots_; }
  const std::vector<TableLink>& links() const { return links_; }
  /// Knots (components = 1) and two-component links with this polynomial and at most so many crossings. Of links mirror
  /// image and orientation are left out of the name, and each name is there once.
  std::vector<Form> with(const Polynomial& homfly, int components, int most_crossings) const;

 private:
  struct Entry {
    Polynomial homfly;
    Form form;
  };
  Table();
  void add_links();
  std::vector<TableKnot> knots_;
  std::vector<TableLink> links_;
  std::vector<Entry> knot_forms_, link_forms_;  ///< sorted by polynomial
};

/// Whether a diagram can have this name: 0_1, 0^3_1, m3_1, 3_1#m3_1, 3_1+4_1, 2^2_1. Factors stand in their order.
bool is_name(std::string_view text);

/// The most crossings of what is in the table: of a knot, of a two-component link.
inline constexpr int kMostKnotCrossings = 10, kMostLinkCrossings = 8;

}  // namespace ligature::knot
