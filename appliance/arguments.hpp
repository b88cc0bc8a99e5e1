#pragma once
/// What options may be, beyond what CLI11 has for it.
#include <CLI/CLI.hpp>
#include <cmath>
#include <string>

namespace ligature::appliance {

/// CLI::Range lets what is no number pass.
inline CLI::Validator within(double low, double high) {
  CLI::Validator out = CLI::Range(low, high) & CLI::Validator(
                                                   [](std::string& text) -> std::string {
                                                     double value = 0;
                                                     const bool good = CLI::detail::lexical_cast(text, value);
                                                     return good && std::isfinite(value) ? "" : text + " is no number";
                                                   },
                                                   "");
  return out.description(CLI::Range(low, high).get_description());
}

/// Of a file or folder: a name that is there.
inline const CLI::Validator named(
    [](std::string& text) -> std::string { return text.empty() ? "the name is empty" : ""; }, "");

}  // namespace ligature::appliance
