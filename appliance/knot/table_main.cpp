/// ligature-knot-table: makes the table that names are looked up in; built on demand, run after its sources changed.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>
#include <iterator>
#include <string>

#include "appliance/knot/homfly_library.hpp"
#include "appliance/knot/make_table.hpp"

namespace {

std::string slurp(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    fmt::print(stderr, "usage: ligature-knot-table [FOLDER]  (default: {})\n", LIGATURE_TABLE_DIR);
    return 2;
  }
  const std::string folder = argc == 2 ? argv[1] : LIGATURE_TABLE_DIR;
  const auto source = ligature::knot::homfly_library();
  const auto table =
      ligature::knot::make_table(slurp(folder + "/prime_knots_gauss.csv"), slurp(folder + "/links_gauss.csv"), *source);
  if (!table) {
    fmt::print(stderr, "{}: {}\n", folder, table.error().message);
    return 2;
  }
  std::ofstream out(folder + "/table_data.inc", std::ios::binary);
  out << *table;
  out.close();
  if (!out) {
    fmt::print(stderr, "{}/table_data.inc: cannot be written\n", folder);
    return 2;
  }
  return 0;
}
