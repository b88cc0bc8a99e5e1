#pragma once
/// Scenario files at random: well formed ones, and what hands, disks and editors make of them.
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/random.hpp"

namespace ligature::config::test {

struct Entry {
  std::string key, value;
};
struct Section {
  std::string header;  ///< "[a]", "[[a]]"; empty for what stands above all
  std::vector<Entry> entries;
};

struct ScenarioText {
  std::vector<Section> sections;
  std::string print() const;
  /// From 1, of print().
  int line_of(std::size_t section, std::size_t entry) const;
};

/// A scene that must be accepted, of at most a few hundred vertices. `points.csv` (x,y,z, within a box of 10 mm at the
/// origin, 10 mm long), `path.csv` (forceps) and `block.obj` (a mesh below z = 0) lie beside it.
ScenarioText good_scenario(Random& random);

/// What one mutation promises.
struct Promise {
  bool refused = false;     ///< the file must be refused ...
  std::optional<int> line;  ///< ... with this line
};
/// One mistake whose refusal CONTRACT promises: a number that is not finite, a wrong type, an unknown or doubled key.
Promise spoil(ScenarioText& text, Random& random);
/// Any change of a value, a key, a table or their order; may well leave a good file.
void disturb(ScenarioText& text, Random& random);
/// Bytes changed, lost, doubled, cut off.
std::string scramble(std::string text, Random& random);

std::size_t below(Random& random, std::size_t n);

}  // namespace ligature::config::test
