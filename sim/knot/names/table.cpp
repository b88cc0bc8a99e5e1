#include "sim/knot/names/table.hpp"

#include <algorithm>
#include <cassert>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "sim/knot/names/code.hpp"

namespace ligature::knot {
namespace {

struct KnotRow {
  const char *name, *code, *homfly;
  int determinant;
  bool amphichiral;
};
struct LinkRow {
  const char *name, *code, *homfly, *homfly_reversed;
  int determinant;
};
#include "sim/knot/names/table_data.inc"

/// "10_132", "8^2_15"
PrimeName parse_name(std::string_view text) {
  PrimeName out;
  const char* at = text.data();
  const char* const end = at + text.size();
  at = std::from_chars(at, end, out.crossings).ptr;
  if (at != end && *at == '^') at = std::from_chars(at + 1, end, out.components).ptr;
  std::from_chars(at + 1, end, out.index);
  return out;
}

PrimeName unmarked(PrimeName name) {
  name.mirrored = false;
  return name;
}

}  // namespace

std::string to_string(const PrimeName& name) {
  return (name.mirrored ? "m" : "") + std::to_string(name.crossings) +
         (name.components > 1 ? "^" + std::to_string(name.components) : "") + "_" + std::to_string(name.index);
}

std::string joined(std::vector<PrimeName> factors) {
  std::sort(factors.begin(), factors.end());
  std::erase_if(factors, [](const PrimeName& f) { return f.crossings == 0 && f.components == 1; });
  if (factors.empty()) factors.push_back({});
  if (factors.front().crossings == 0) factors.front().index = 1;
  std::string out;
  for (const PrimeName& f : factors) out += (out.empty() ? "" : "#") + to_string(f);
  return out;
}

std::string Form::name() const {
  if (!split) return joined(factors);
  // Two knots apart; both of them circles have Rolfsen's name.
  assert(factors.size() == 2);
  if (factors[1].crossings == 0) return "0^2_1";
  return to_string(factors[0]) + "+" + to_string(factors[1]);
}

const Table& Table::instance() {
  static const Table table;
  return table;
}

namespace {

/// The prime knot or link with this name, whichever hand.
std::optional<PrimeName> prime_named(std::string_view text) {
  const bool mirrored = text.starts_with('m');
  const std::string_view row = text.substr(mirrored ? 1 : 0);
  for (const TableKnot& k : Table::instance().knots())
    if (to_string(k.name) == row && !(mirrored && k.amphichiral)) {
      PrimeName name = k.name;
      name.mirrored = mirrored;
      return name;
    }
  for (const TableLink& l : Table::instance().links())
    if (to_string(l.name) == text) return l.name;
  return std::nullopt;
}

std::vector<std::string_view> parted(std::string_view text, char by) {
  std::vector<std::string_view> out;
  for (;;) {
    const std::size_t at = text.find(by);
    out.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return out;
    text.remove_prefix(at + 1);
  }
}

}  // namespace

bool is_name(std::string_view text) {
  if (text.starts_with("0^")) {
    PrimeName circles{.crossings = 0, .components = 0};
    std::from_chars(text.data() + 2, text.data() + text.size(), circles.components);
    return circles.components > 1 && to_string(circles) == text;
  }
  const auto pieces = parted(text, '+');
  return std::all_of(pieces.begin(), pieces.end(), [](std::string_view piece) {
    std::vector<PrimeName> factors;
    for (const std::string_view one : parted(piece, '#')) {
      const auto name = prime_named(one);
      if (!name) return false;
      factors.push_back(*name);
    }
    return joined(std::move(factors)) == piece;
  });
}

Table::Table() {
  const auto polynomial = [](const char* text) {
    auto out = parse_polynomial(text);
    assert(out);
    return out ? *out : Polynomial{};
  };
  const auto diagram = [](const char* text) {
    auto out = parse_code(text);
    assert(out);
    return out ? *out : Diagram{};
  };
  knots_.push_back({{0, 1, 1, false}, {{{}}, {}}, Polynomial::one(), 1, true});
  for (const KnotRow& row : kKnotRows)
    knots_.push_back(
        {parse_name(row.name), diagram(row.code), polynomial(row.homfly), row.determinant, row.amphichiral});
  for (const LinkRow& row : kLinkRows)
    links_.push_back({parse_name(row.name),
                      diagram(row.code),
                      {polynomial(row.homfly), polynomial(row.homfly_reversed)},
                      row.determinant});

  // Primes, both hands; then sums: each form lengthened by a factor that is not before its last.
  std::vector<Entry> primes;
  for (std::size_t i = 0; i < knots_.size(); ++i) {
    const TableKnot& k = knots_[i];
    for (const bool mirrored : {false, true}) {
      if (mirrored && k.amphichiral) continue;
      PrimeName name = k.name;
      name.mirrored = mirrored;
      primes.push_back({mirrored ? k.homfly.mirrored() : k.homfly, {{name}, {i}, false, name.crossings}});
    }
  }
  knot_forms_ = primes;
  std::vector<Entry> sums(primes.begin() + 1, primes.end());
  while (!sums.empty()) {
    std::vector<Entry> longer;
    for (const Entry& s : sums)
      for (const Entry& p : primes) {
        if (p.form.crossings == 0 || s.form.crossings + p.form.crossings > kMostKnotCrossings) continue;
        if (p.form.factors.front() < s.form.factors.back()) continue;
        const auto homfly = product(s.homfly, p.homfly);
        if (!homfly) continue;
        Entry e{*homfly, s.form};
        e.form.factors.push_back(p.form.factors.front());
        e.form.knots.push_back(p.form.knots.front());
        e.form.crossings += p.form.crossings;
        longer.push_back(std::move(e));
      }
    knot_forms_.insert(knot_forms_.end(), longer.begin(), longer.end());
    sums = std::move(longer);
  }
  add_links();
  const auto by_polynomial = [](const Entry& a, const Entry& b) { return a.homfly < b.homfly; };
  std::stable_sort(knot_forms_.begin(), knot_forms_.end(), by_polynomial);
  std::stable_sort(link_forms_.begin(), link_forms_.end(), by_polynomial);
}

void Table::add_links() {
  for (const TableLink& link : links_)
    for (const bool mirrored : {false, true})
      for (const Polynomial& as_drawn : link.homfly)
        for (const Entry& sum : knot_forms_) {
          if (sum.form.crossings + link.name.crossings > kMostLinkCrossings) continue;
          const auto homfly = product(mirrored ? as_drawn.mirrored() : as_drawn, sum.homfly);
          if (!homfly) continue;
          Entry e{*homfly, sum.form};
          std::erase_if(e.form.factors, [](const PrimeName& f) { return f.crossings == 0; });
          e.form.factors.push_back(unmarked(link.name));
          std::sort(e.form.factors.begin(), e.form.factors.end());
          e.form.crossings += link.name.crossings;
          link_forms_.push_back(std::move(e));
        }
  // Two knots apart: -(l + 1/l) / m times both.
  const Polynomial apart = *Polynomial::of({{-1, 1, -1}, {-1, -1, -1}});
  for (const Entry& a : knot_forms_)
    for (const Entry& b : knot_forms_) {
      if (a.form.crossings + b.form.crossings > kMostLinkCrossings) continue;
      if (a.form.factors.size() > 1 || b.form.factors.size() > 1) continue;
      if (b.form.factors.front() < a.form.factors.front()) continue;
      auto homfly = product(a.homfly, b.homfly);
      if (homfly) homfly = product(*homfly, apart);
      if (!homfly) continue;
      Entry e{*homfly, {{a.form.factors.front(), b.form.factors.front()}, {}, true, 0}};
      if (e.form.factors[0].crossings == 0) std::swap(e.form.factors[0], e.form.factors[1]);
      e.form.crossings = a.form.crossings + b.form.crossings;
      link_forms_.push_back(std::move(e));
    }
}

std::vector<Form> Table::with(const Polynomial& homfly, int components, int most_crossings) const {
  std::vector<Form> out;
  if (components < 1 || components > 2) return out;
  const auto& forms = components == 1 ? knot_forms_ : link_forms_;
  const auto begin = std::lower_bound(forms.begin(), forms.end(), homfly,
                                      [](const Entry& e, const Polynomial& p) { return e.homfly < p; });
  for (auto e = begin; e != forms.end() && e->homfly == homfly; ++e) {
    if (e->form.crossings > most_crossings) continue;
    const std::string name = e->form.name();
    if (std::none_of(out.begin(), out.end(), [&](const Form& f) { return f.name() == name; })) out.push_back(e->form);
  }
  return out;
}

}  // namespace ligature::knot
