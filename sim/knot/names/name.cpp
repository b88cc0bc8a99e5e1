#include "sim/knot/names/name.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "sim/knot/names/escape.hpp"
#include "sim/knot/names/parabolic.hpp"
#include "sim/knot/names/parts.hpp"
#include "sim/knot/names/table.hpp"
#include "sim/knot/simplify.hpp"

namespace ligature::knot {
namespace {

/// A factor with more crossings than have a name, tried again from other diagrams: long where its polynomial is that of
/// something in the table. What alternates has no fewer crossings [Kauffman 1987, Murasugi 1987, Thistlethwaite 1987].
Diagram fewer_crossings(const Diagram& factor, HomflySource& source) {
  constexpr int kTries = 64, kVainTries = 6;
  const int most = factor.components.size() == 1 ? kMostKnotCrossings : kMostLinkCrossings;
  if (factor.sign.size() <= static_cast<std::size_t>(most) || alternating(factor)) return factor;
  const auto homfly = source.homfly(factor);
  const bool likely =
      homfly && !Table::instance().with(*homfly, static_cast<int>(factor.components.size()), most).empty();
  return simplified_to(factor, static_cast<std::size_t>(most), likely ? kTries : kVainTries);
}

/// Simplifies and parts until nothing more comes apart. Parts that share a component are summed along it.
std::vector<Part> taken_apart(const Diagram& diagram, HomflySource& source) {
  std::vector<Part> out, todo;
  const auto whole_components = [](const Part& whole, Part part) {
    for (std::size_t& k : part.components) k = whole.components[k];
    return part;
  };
  std::vector<std::size_t> all(diagram.components.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  todo.push_back({diagram, all});
  while (!todo.empty()) {
    Part whole = std::move(todo.back());
    todo.pop_back();
    whole.diagram = simplify(whole.diagram);
    std::vector<Part> parts;
    for (const Part& piece : split_pieces(whole.diagram))
      for (Part& factor : visible_factors(piece.diagram)) parts.push_back(whole_components(piece, std::move(factor)));
    for (Part& part : parts) part = whole_components(whole, std::move(part));
    if (parts.size() == 1) {
      Diagram fewer = fewer_crossings(parts[0].diagram, source);
      const bool again = fewer.sign.size() < parts[0].diagram.sign.size();
      parts[0].diagram = std::move(fewer);
      (again ? todo : out).push_back(std::move(parts[0]));
      continue;
    }
    todo.insert(todo.end(), parts.begin(), parts.end());
  }
  return out;
}

/// Of the forms that share a polynomial those that colour as the diagram does.
void keep_those_that_colour_alike(const Diagram& knot, std::vector<Form>& forms) {
  const Table& table = Table::instance();
  for (const int prime : kCountPrimes) {
    if (forms.size() < 2) return;
    const auto wanted = longitude_count(knot, prime);
    if (!wanted) continue;
    std::erase_if(forms, [&](const Form& form) {
      std::optional<LongitudeCount> count;
      for (std::size_t i = 0; i < form.factors.size(); ++i) {
        const Diagram& row = table.knots()[form.knots[i]].diagram;
        const auto factor = longitude_count(form.factors[i].mirrored ? mirror(row) : row, prime);
        if (!factor) return false;
        count = count ? sum_count(*count, *factor) : *factor;
      }
      return count && *count != *wanted;
    });
  }
}

struct FactorNaming {
  std::vector<Form> forms;
  bool proven = false;
  std::optional<Polynomial> homfly;
};

FactorNaming name_factor(const Diagram& factor, HomflySource& source) {
  FactorNaming out;
  const auto components = static_cast<int>(factor.components.size());
  const auto crossings = static_cast<int>(std::min<std::size_t>(factor.sign.size(), 1000));
  const auto homfly = source.homfly(factor);
  if (!homfly) return out;
  out.homfly = *homfly;
  const int most = components == 1 ? kMostKnotCrossings : kMostLinkCrossings;
  out.forms = Table::instance().with(*homfly, components, std::min(most, crossings));
  out.proven = components <= 2 && crossings <= most && !out.forms.empty();
  if (components == 1) keep_those_that_colour_alike(factor, out.forms);
  if (out.forms.empty()) out.proven = false;
  return out;
}

}  // namespace

Naming name_of(const Diagram& diagram, HomflySource& source) {
  Naming out;
  out.components = diagram.components.size();
  out.proven = true;
  out.homfly = Polynomial::one();
  const Polynomial apart = *Polynomial::of({{-1, 1, -1}, {-1, -1, -1}});
  std::vector<Part> parts = taken_apart(diagram, source);

  // Sums: parts joined by components that they share.
  std::vector<std::size_t> sum_of(diagram.components.size());
  std::iota(sum_of.begin(), sum_of.end(), std::size_t{0});
  for (const Part& part : parts)
    for (const std::size_t k : part.components) {
      const std::size_t from = sum_of[k], to = sum_of[part.components.front()];
      std::replace(sum_of.begin(), sum_of.end(), from, to);
    }

  std::vector<std::string> wholes{""};  // candidates so far
  std::size_t sums = 0, circles = 0;
  for (std::size_t sum = 0; sum < sum_of.size(); ++sum) {
    std::vector<std::vector<PrimeName>> ways{{}};
    std::vector<std::string> names;
    std::size_t factors = 0;
    for (Part& part : parts) {
      if (sum_of[part.components.front()] != sum) continue;
      const FactorNaming named = name_factor(part.diagram, source);
      out.crossings += part.diagram.sign.size();
      out.proven = out.proven && named.proven;
      out.homfly = out.homfly && named.homfly ? product(*out.homfly, *named.homfly) : std::nullopt;
      ++factors;
      std::vector<std::vector<PrimeName>> longer;
      for (const auto& way : ways)
        for (const Form& form : named.forms) {
          if (form.split) {
            names.push_back(form.name());
          } else if (longer.size() < kMostCandidates) {
            longer.push_back(way);
            longer.back().insert(longer.back().end(), form.factors.begin(), form.factors.end());
          }
        }
      ways = std::move(longer);
      if (!named.proven || named.forms.front().crossings > 0) out.factors.push_back(std::move(part.diagram));
    }
    if (factors == 0) continue;
    // A factor that is two knots apart, though the diagram does not show it, says nothing of where the others hang.
    if (!names.empty() && factors > 1) {
      names.clear();
      out.proven = false;
    }
    for (auto& way : ways) names.push_back(joined(std::move(way)));
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    if (sums++ > 0 && out.homfly) out.homfly = product(*out.homfly, apart);
    if (names == std::vector<std::string>{"0_1"}) {
      ++circles;
      continue;
    }
    std::vector<std::string> longer;
    for (const std::string& whole : wholes)
      for (const std::string& name : names)
        if (longer.size() < kMostCandidates) longer.push_back(whole.empty() ? name : whole + "+" + name);
    wholes = std::move(longer);
  }
  // Circles apart come last; nothing but circles has Rolfsen's name.
  for (std::string& whole : wholes) {
    if (circles == sums)
      whole = circles == 1 ? "0_1" : "0^" + std::to_string(circles) + "_1";
    else
      for (std::size_t i = 0; i < circles; ++i) whole += "+0_1";
  }
  out.candidates = std::move(wholes);
  out.proven = out.proven && !out.candidates.empty();
  if (out.proven && out.candidates.size() == 1) out.name = out.candidates.front();
  return out;
}

}  // namespace ligature::knot
