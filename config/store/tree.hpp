#pragma once
/// A settings file as a tree that can be changed: the text in, one value set or removed, the text out again.
///
/// What may stand where is not known here: the loaders say so, of the text that comes out. Comments are not kept, the
/// order of keys is the one asked for. TOML stays behind this header.
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/result.hpp"

namespace ligature::store {

/// One step down the tree: a key, and which of its [[tables]] where it has several, by their `name` or number from 0.
struct Step {
  std::string key;
  std::optional<std::string> item;
  bool operator==(const Step&) const = default;
};
using Path = std::vector<Step>;
/// "camera C0 fx_px", as typed and shown.
std::string spoken(const Path& path);
/// "camera.fx_px", as the loaders call it.
std::string dotted(const Path& path);

class Tree {
 public:
  /// The text must be TOML; the error is Document's line. @param file name in it
  static Result<Tree> parse(std::string_view text, const std::string& file);
  Tree(Tree&&) noexcept;
  Tree& operator=(Tree&&) noexcept;
  ~Tree();

  /// The whole as TOML, numbers with as many digits as bring back the same bits.
  /// @param order dotted keys; those not in it come last, by their names
  std::string text(const std::vector<std::string>& order) const;

  struct Line {
    Path path;
    std::string value;  ///< as TOML
  };
  /// Every value with its place, in that order.
  std::vector<Line> lines(const std::vector<std::string>& order) const;

  bool has(const Path& path) const;
  /// The value as TOML; nothing where a table or nothing stands.
  std::optional<std::string> value(const Path& path) const;
  /// Keys that stand in this table. Empty where there is none.
  std::vector<std::string> keys(const Path& path) const;
  /// Names, or numbers where they have none, of the [[tables]] at this path, whose last step has no item.
  std::vector<std::string> items(const Path& path) const;

  /// Puts a value, written as TOML, where nothing, or another value, stands; tables on the way are made, an item that
  /// is not there becomes the last. Errors: usage, when the text is no value, or the place is taken by a table.
  Result<void> set(const Path& path, std::string_view value);
  /// Makes the last step's item where it is missing. Errors: usage, when a number skips some.
  Result<void> add_item(const Path& path);
  /// Removes a value, a table or an item, and tables that became empty. False: there was nothing.
  bool erase(const Path& path);

 private:
  struct State;
  explicit Tree(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A string as a TOML value.
std::string toml_string(std::string_view text);
/// What differs, as lines `-  key = old`, `+  key = new` under `[place]`; empty when nothing does.
std::string difference(const std::vector<Tree::Line>& before, const std::vector<Tree::Line>& after,
                       const std::string& what);
/// Dotted keys of what differs.
std::vector<std::string> changed_keys(const std::vector<Tree::Line>& before, const std::vector<Tree::Line>& after);

}  // namespace ligature::store
