#include "config/csv_file.hpp"

#include <charconv>
#include <cmath>
#include <string>

#include "config/document.hpp"

namespace ligature::config {

namespace fs = std::filesystem;

namespace {

std::string printable(std::string_view text) {
  std::string out;
  for (const char c : text.substr(0, 40)) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u >= 0x7f ? '?' : c;
  }
  return out;
}

Unexpected wrong(const fs::path& path, int line, const std::string& is, const std::string& must,
                 const std::string& remedy) {
  return usage_error(path.string() + ":" + std::to_string(line) + ": " + is + ", must be " + must + ": " + remedy);
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t')) s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t' || s.back() == '\r')) s.remove_suffix(1);
  return s;
}

std::vector<std::string_view> split(std::string_view s) {
  std::vector<std::string_view> out;
  while (true) {
    const auto comma = s.find(',');
    out.push_back(trim(s.substr(0, comma)));
    if (comma == std::string_view::npos) return out;
    s.remove_prefix(comma + 1);
  }
}

}  // namespace

Result<NumberTable> read_numbers(const fs::path& path, std::string_view header, bool header_needed) {
  auto text = read_file(path, kMaxCsvBytes);
  if (!text) return unexpected(text.error());
  const auto names = split(header);
  NumberTable table;
  table.columns = names.size();
  std::string_view rest = *text;
  if (rest.starts_with("\xef\xbb\xbf")) rest.remove_prefix(3);
  bool first = true;
  for (int line = 1; !rest.empty(); ++line) {
    const auto end = rest.find('\n');
    const std::string_view row = trim(rest.substr(0, end));
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (row.empty()) continue;
    const auto cells = split(row);
    if (first && header_needed) {
      first = false;
      if (cells == names) continue;
      return wrong(path, line, "the header is '" + printable(row) + "'", "'" + std::string(header) + "'",
                   "put that line first");
    }
    first = false;
    if (cells.size() != names.size())
      return wrong(path, line, "the row has " + std::to_string(cells.size()) + " cells",
                   std::to_string(names.size()) + " (" + std::string(header) + ")", "mend this row");
    for (std::size_t c = 0; c < cells.size(); ++c) {
      double value = 0;
      const char* begin = cells[c].data();
      const char* stop = begin + cells[c].size();
      if (begin != stop && *begin == '+') ++begin;
      const auto [parsed, code] = std::from_chars(begin, stop, value);
      if (code != std::errc{} || parsed != stop || !std::isfinite(value))
        return wrong(path, line, "key '" + std::string(names[c]) + "' is '" + printable(cells[c]) + "'",
                     "a finite number", "mend this cell");
      table.values.push_back(value);
    }
    table.lines.push_back(line);
  }
  if (table.rows() == 0)
    return wrong(path, 1, "the file has no rows", "rows of " + std::string(header), "fill it in or name another file");
  return table;
}

Result<std::vector<Vec3>> load_points(const fs::path& path) {
  auto table = read_numbers(path, "x,y,z", false);
  if (!table) return unexpected(table.error());
  if (table->rows() < 2) return wrong(path, table->lines[0], "one point", "two or more", "add points");
  std::vector<Vec3> out;
  for (std::size_t i = 0; i < table->rows(); ++i) {
    for (std::size_t c = 0; c < 3; ++c)
      if (std::abs(table->at(i, c)) > 1e6)
        return wrong(path, table->lines[i], "a coordinate is beyond 1e6 mm", "within 1e6 mm", "check the unit");
    out.push_back({table->at(i, 0), table->at(i, 1), table->at(i, 2)});
  }
  return out;
}

}  // namespace ligature::config
