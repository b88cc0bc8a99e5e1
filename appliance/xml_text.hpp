#pragma once
/// Text that goes into XML (our SVG pictures).
#include <string>

namespace ligature {

/// Fit for an element and for an attribute in double quotes; XML has no control characters, a blank stands for them.
inline std::string xml_escaped(const std::string& text) {
  std::string out;
  for (const char c : text) switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
  return out;
}

}  // namespace ligature
