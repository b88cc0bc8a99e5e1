#pragma once
/// Laurent polynomials in two variables with exact integer coefficients, kept canonical: sorted, no zero terms.
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ligature::knot {

/// coefficient * l^l * m^m
struct Term {
  std::int32_t m = 0, l = 0;
  std::int64_t coefficient = 0;
  auto operator<=>(const Term&) const = default;
};

class Polynomial {
 public:
  Polynomial() = default;  ///< zero
  /// Nothing where a coefficient or an exponent does not fit.
  static std::optional<Polynomial> of(std::vector<Term> terms);
  static Polynomial one() { return *of({{0, 0, 1}}); }

  /// By m, then l.
  const std::vector<Term>& terms() const { return terms_; }
  /// l -> 1/l: of the mirror image.
  Polynomial mirrored() const;
  auto operator<=>(const Polynomial&) const = default;

 private:
  std::vector<Term> terms_;
};

/// Nothing where a coefficient or an exponent does not fit.
std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b);

/// "-2*l^2 - l^4 + l^2*m^2"; "0" for zero.
std::string to_string(const Polynomial& polynomial);
/// What to_string writes; nothing for anything else.
std::optional<Polynomial> parse_polynomial(std::string_view text);

}  // namespace ligature::knot
