#include "appliance/knot/make_table.hpp"

#include <charconv>
#include <functional>
#include <vector>

#include "sim/knot/invariants.hpp"
#include "sim/knot/names/code.hpp"
#include "sim/knot/names/determinant.hpp"
#include "sim/knot/names/parabolic.hpp"
#include "sim/knot/names/parts.hpp"
#include "sim/knot/names/planar.hpp"

namespace ligature::knot {
namespace {

struct Row {
  std::string name;
  Diagram diagram;
  Polynomial homfly;
  std::int64_t determinant = 0;
};

Result<Row> read_row(std::string_view line, HomflySource& source) {
  const auto first = line.find(','), second = line.find(',', first + 1);
  if (first == std::string_view::npos || second == std::string_view::npos)
    return usage_error("expected name,crossings,code");
  Row row{std::string(line.substr(0, first)), {}, {}, 0};
  auto diagram = parse_code(line.substr(second + 1));
  if (!diagram) return unexpected(diagram.error());
  row.diagram = std::move(*diagram);
  std::size_t crossings = 0;
  const std::string_view count = line.substr(first + 1, second - first - 1);
  if (std::from_chars(count.data(), count.data() + count.size(), crossings).ec != std::errc{} ||
      crossings != row.diagram.sign.size())
    return usage_error(row.name + " has " + std::to_string(row.diagram.sign.size()) + " crossings, not " +
                       std::string(count));
  const PlanarMap map = planar_map(row.diagram);
  if (!is_planar(map)) return usage_error(row.name + " does not lie in the plane");
  if (map.pieces != 1 || visible_factors(row.diagram).size() != 1) return usage_error(row.name + " is not prime");
  auto homfly = source.homfly(row.diagram);
  if (!homfly) return unexpected(homfly.error());
  row.homfly = std::move(*homfly);
  const auto by_diagram = determinant(row.diagram), by_polynomial = determinant(row.homfly);
  if (!by_diagram || by_diagram != by_polynomial)
    return usage_error(row.name + ": the determinant of its diagram is not that of its polynomial");
  row.determinant = *by_diagram;
  return row;
}

Result<void> for_each_row(std::string_view text, HomflySource& source, const std::function<void(const Row&)>& use) {
  int number = 0;
  while (!text.empty()) {
    const auto end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    if (line.empty() || line.front() == '#' || line.starts_with("name,")) continue;
    const auto row = read_row(line, source);
    if (!row) return usage_error("line " + std::to_string(number) + ": " + row.error().message);
    use(*row);
  }
  return {};
}

/// The knot and its mirror image have the same polynomial and the same counts of colourings.
bool looks_amphichiral(const Row& row) {
  if (row.homfly.mirrored() != row.homfly) return false;
  for (const int prime : kCountPrimes)
    if (longitude_count(row.diagram, prime) != longitude_count(mirror(row.diagram), prime)) return false;
  return true;
}

std::string quoted(const std::string& text) {
  return '"' + text + '"';
}

}  // namespace

Result<std::string> make_table(std::string_view knots_csv, std::string_view links_csv, HomflySource& source) {
  std::string out =
      "// Made by ligature-knot-table from prime_knots_gauss.csv and links_gauss.csv: change those, not this.\n"
      "// clang-format off\n"
      "// name, code, HOMFLY polynomial, determinant, amphichiral\n"
      "constexpr KnotRow kKnotRows[] = {\n";
  const auto knots = for_each_row(knots_csv, source, [&](const Row& row) {
    out += "  {" + quoted(row.name) + ", " + quoted(to_code(row.diagram)) + ",\n   " + quoted(to_string(row.homfly)) +
           ", " + std::to_string(row.determinant) + ", " + (looks_amphichiral(row) ? "true" : "false") + "},\n";
  });
  if (!knots) return unexpected(knots.error());
  out +=
      "};\n"
      "// name, code, HOMFLY polynomials as it stands and with one component reversed, determinant\n"
      "constexpr LinkRow kLinkRows[] = {\n";
  std::string complaint;
  const auto links = for_each_row(links_csv, source, [&](const Row& row) {
    const auto reversed = source.homfly(reverse(row.diagram, 1));
    if (!reversed) complaint = row.name + ": " + reversed.error().message;
    out += "  {" + quoted(row.name) + ", " + quoted(to_code(row.diagram)) + ",\n   " + quoted(to_string(row.homfly)) +
           ",\n   " + quoted(reversed ? to_string(*reversed) : "") + ", " + std::to_string(row.determinant) + "},\n";
  });
  if (!links) return unexpected(links.error());
  if (!complaint.empty()) return failure(complaint);
  return out + "};\n// clang-format on\n";
}

}  // namespace ligature::knot
