#pragma once
/// Tables of numbers in CSV: the curves that scenario files name.
#include <cstddef>
#include <filesystem>
#include <string_view>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::config {

inline constexpr std::size_t kMaxCsvBytes = 64u << 20;

/// Rows of finite numbers, each of exactly as many columns as `header` names.
/// A first line equal to `header` is skipped when `header_needed`, refused otherwise. Blank lines are skipped.
struct NumberTable {
  std::size_t columns = 0;
  std::vector<double> values;  ///< (rows x columns), row by row
  std::vector<int> lines;      ///< line in the file, per row
  std::size_t rows() const { return lines.size(); }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
};
/// @param header comma-separated column names
Result<NumberTable> read_numbers(const std::filesystem::path& path, std::string_view header, bool header_needed);

/// `x,y,z` per line in mm, no header; at least two points.
Result<std::vector<Vec3>> load_points(const std::filesystem::path& path);

}  // namespace ligature::config
