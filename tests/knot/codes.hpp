#pragma once
/// Signed Gauss codes as text, and a few that the tests know by heart.
#include <cctype>
#include <map>
#include <string>

#include "sim/knot/diagram.hpp"

namespace ligature::knot {

/// "o1- u2- | ..." : o/u over or under, the number of the crossing, its sign; components parted by |.
inline Diagram code(const std::string& text) {
  Diagram out;
  out.components.emplace_back();
  std::map<long, std::uint32_t> number;
  for (std::size_t i = 0; i < text.size();) {
    if (text[i] == '|') out.components.emplace_back();
    if (text[i] != 'o' && text[i] != 'u') {
      ++i;
      continue;
    }
    const bool over = text[i++] == 'o';
    long name = 0;
    while (i < text.size() && std::isdigit(static_cast<unsigned char>(text[i]))) name = 10 * name + (text[i++] - '0');
    const auto [it, fresh] = number.try_emplace(name, static_cast<std::uint32_t>(out.sign.size()));
    if (fresh) out.sign.push_back(text[i] == '-' ? -1 : 1);
    ++i;
    out.components.back().push_back({it->second, over});
  }
  return out;
}

inline const char* const kTrefoil = "o1- u2- o3- u1- o2- u3-";
inline const char* const kFigureEight = "o1- u2- o3+ u4+ o2- u1- o4+ u3+";
inline const char* const kHopf = "o1+ u2+ | u1+ o2+";
inline const char* const kSolomon = "o1- u2- o3- u4- | u1- o4- u3- o2-";
inline const char* const kWhitehead = "o1+ u2+ o3- u4- | u1+ o2+ u5+ o4- u3- o5+";

}  // namespace ligature::knot
