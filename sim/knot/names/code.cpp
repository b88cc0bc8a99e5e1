#include "sim/knot/names/code.hpp"

#include <charconv>
#include <cstddef>
#include <vector>

namespace ligature::knot {

Result<Diagram> parse_code(std::string_view text) {
  Diagram out{{{}}, {}};
  std::vector<int> over, under;
  const char* at = text.data();
  const char* const end = at + text.size();
  const auto wrong = [&](const char* what) {
    return usage_error("Gauss code, column " + std::to_string(at - text.data() + 1) + ": " + what);
  };
  while (at != end) {
    if (*at == ' ') {
      ++at;
      continue;
    }
    if (*at == '|') {
      out.components.emplace_back();
      ++at;
      continue;
    }
    if (*at != 'o' && *at != 'u') return wrong("expected o, u or |");
    const bool is_over = *at == 'o';
    std::uint32_t number = 0;
    const auto [stop, error] = std::from_chars(at + 1, end, number);
    if (error != std::errc{} || number == 0 || number > 100000) return wrong("expected a crossing, 1 to 100000");
    if (stop == end || (*stop != '+' && *stop != '-')) return wrong("expected the sign + or -");
    const auto sign = static_cast<std::int8_t>(*stop == '+' ? 1 : -1);
    const std::size_t c = number - 1;
    if (out.sign.size() <= c) {
      out.sign.resize(c + 1, 0);
      over.resize(c + 1, 0);
      under.resize(c + 1, 0);
    }
    if (out.sign[c] != 0 && out.sign[c] != sign) return wrong("this crossing had the other sign before");
    out.sign[c] = sign;
    ++(is_over ? over : under)[c];
    out.components.back().push_back({number - 1, is_over});
    at = stop + 1;
  }
  for (std::size_t c = 0; c < out.sign.size(); ++c)
    if (over[c] != 1 || under[c] != 1)
      return wrong(("crossing " + std::to_string(c + 1) + " is not passed once over and once under").c_str());
  return out;
}

std::string to_code(const Diagram& diagram) {
  std::string out;
  for (std::size_t k = 0; k < diagram.components.size(); ++k) {
    if (k > 0) out += out.empty() ? "|" : " |";
    for (const Pass& pass : diagram.components[k]) {
      if (!out.empty()) out += ' ';
      out += pass.over ? 'o' : 'u';
      out += std::to_string(pass.crossing + 1);
      out += diagram.sign[pass.crossing] > 0 ? '+' : '-';
    }
  }
  return out;
}

}  // namespace ligature::knot
