#include "sim/knot/names/polynomial.hpp"

#include <algorithm>
#include <charconv>
#include <limits>

namespace ligature::knot {
namespace {

constexpr std::int32_t kMostExponent = 1 << 20;

bool fits(std::int32_t exponent) {
  return exponent >= -kMostExponent && exponent <= kMostExponent;
}

void append_power(std::string& out, char variable, std::int32_t exponent) {
  if (exponent == 0) return;
  if (!out.empty() && (out.back() != ' ' && out.back() != '-')) out += '*';
  out += variable;
  if (exponent != 1) out += "^" + std::to_string(exponent);
}

}  // namespace

std::optional<Polynomial> Polynomial::of(std::vector<Term> terms) {
  std::sort(terms.begin(), terms.end());
  Polynomial out;
  for (const Term& t : terms) {
    if (!fits(t.l) || !fits(t.m)) return std::nullopt;
    if (!out.terms_.empty() && out.terms_.back().m == t.m && out.terms_.back().l == t.l) {
      std::int64_t& sum = out.terms_.back().coefficient;
      if (__builtin_add_overflow(sum, t.coefficient, &sum)) return std::nullopt;
    } else {
      out.terms_.push_back(t);
    }
  }
  std::erase_if(out.terms_, [](const Term& t) { return t.coefficient == 0; });
  return out;
}

Polynomial Polynomial::mirrored() const {
  Polynomial out = *this;
  for (Term& t : out.terms_) t.l = -t.l;
  std::sort(out.terms_.begin(), out.terms_.end());
  return out;
}

std::optional<Polynomial> product(const Polynomial& a, const Polynomial& b) {
  std::vector<Term> terms;
  for (const Term& s : a.terms())
    for (const Term& t : b.terms()) {
      Term u{s.m + t.m, s.l + t.l, 0};
      if (__builtin_mul_overflow(s.coefficient, t.coefficient, &u.coefficient)) return std::nullopt;
      terms.push_back(u);
    }
  return Polynomial::of(std::move(terms));
}

std::string to_string(const Polynomial& polynomial) {
  if (polynomial.terms().empty()) return "0";
  std::string out;
  for (const Term& t : polynomial.terms()) {
    const bool negative = t.coefficient < 0;
    if (out.empty())
      out = negative ? "-" : "";
    else
      out += negative ? " - " : " + ";
    const auto size =
        negative ? 0 - static_cast<std::uint64_t>(t.coefficient) : static_cast<std::uint64_t>(t.coefficient);
    if (size != 1 || (t.l == 0 && t.m == 0)) out += std::to_string(size);
    append_power(out, 'l', t.l);
    append_power(out, 'm', t.m);
  }
  return out;
}

std::optional<Polynomial> parse_polynomial(std::string_view text) {
  if (text == "0") return Polynomial{};
  std::vector<Term> terms;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto skip = [&] {
    while (at != end && (*at == ' ' || *at == '*')) ++at;
  };
  while (at != end) {
    Term t;
    skip();
    std::int64_t sign = 1;
    if (at != end && (*at == '-' || *at == '+')) {
      sign = *at++ == '-' ? -1 : 1;
    } else if (!terms.empty()) {
      return std::nullopt;
    }
    skip();
    std::int64_t size = 1;
    const char* const start = at;
    if (at != end && *at >= '0' && *at <= '9') {
      const auto [stop, wrong] = std::from_chars(at, end, size);
      if (wrong != std::errc{}) return std::nullopt;
      at = stop;
    }
    skip();
    while (at != end && (*at == 'l' || *at == 'm')) {
      std::int32_t& exponent = *at == 'l' ? t.l : t.m;
      ++at;
      std::int32_t power = 1;
      if (at != end && *at == '^') {
        const auto [stop, wrong] = std::from_chars(at + 1, end, power);
        if (wrong != std::errc{}) return std::nullopt;
        at = stop;
      }
      exponent += power;
      skip();
    }
    if (at == start) return std::nullopt;
    t.coefficient = sign * size;
    terms.push_back(t);
  }
  auto out = Polynomial::of(std::move(terms));
  if (!out || to_string(*out) != text) return std::nullopt;
  return out;
}

}  // namespace ligature::knot
