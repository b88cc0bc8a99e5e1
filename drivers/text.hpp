#pragma once
/// Small helpers for the room's CSV files. Start-up and shut-down only: they allocate.
#include <charconv>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace ligature::drivers::text {

inline std::string_view trimmed(std::string_view s) {
  const std::size_t first = s.find_first_not_of(" \t\r");
  if (first == s.npos) return {};
  return s.substr(first, s.find_last_not_of(" \t\r") - first + 1);
}

/// Whether reading would wait for a writer, or never come to an end: a pipe, a device. A file that is missing is none.
inline bool endless(const std::string& file) {
  std::error_code error;
  const std::filesystem::file_status is = std::filesystem::status(file, error);
  return std::filesystem::exists(is) && !std::filesystem::is_regular_file(is) && !std::filesystem::is_directory(is);
}

/// Cells of one line, trimmed; nothing for an empty line. Views into `line`.
inline std::vector<std::string_view> split_csv(std::string_view line) {
  std::vector<std::string_view> cells;
  if (trimmed(line).empty()) return cells;
  for (std::size_t begin = 0;;) {
    const std::size_t comma = line.find(',', begin);
    cells.push_back(trimmed(line.substr(begin, comma == line.npos ? line.npos : comma - begin)));
    if (comma == line.npos) return cells;
    begin = comma + 1;
  }
}

/// The whole cell must be one finite number, whatever the locale.
inline bool parse_number(std::string_view cell, double& out) {
  const auto [end, error] = std::from_chars(cell.data(), cell.data() + cell.size(), out);
  return error == std::errc{} && end == cell.data() + cell.size() && std::isfinite(out);
}

inline std::string format(const char* pattern, double value) {
  char buffer[64];
  std::snprintf(buffer, sizeof buffer, pattern, value);
  return buffer;
}

}  // namespace ligature::drivers::text
