#pragma once
/// A TOML file read strictly: every value typed, bounded and finite, every key known, every error with its line.
///
/// Reading never stops at the first mistake: a getter that meets one notes it and answers its default, so that
/// loaders read straight through and ask once, at the end, `document.finish()`. Its error is one line:
///
///     FILE:LINE: key 'x' is 7, must be 0..1: remedy                                     (Error::Kind::usage)
///
/// A key that no getter ever asked for is unknown, and the nearest asked one is suggested. TOML itself stays
/// behind this header.
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <initializer_list>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/geometry.hpp"
#include "sim/base/result.hpp"

namespace ligature::config {

inline constexpr std::size_t kMaxTomlBytes = 4u << 20;  ///< a larger settings file is a mistake
inline constexpr std::size_t kMaxIssues = 32;           ///< noted per file; the rest are counted by fixing these
inline constexpr double kQuaternionTolerance = 1e-3;    ///< of the norm; within it the quaternion is normalised

/// The numbers a key may hold; ends are included unless marked open. Infinite ends are unbounded.
struct Range {
  double low = -std::numeric_limits<double>::infinity();
  double high = std::numeric_limits<double>::infinity();
  bool low_open = false;
  bool high_open = false;
};
inline constexpr Range any_number{};
inline constexpr Range positive{.low = 0, .low_open = true};
inline constexpr Range not_negative{.low = 0};
constexpr Range between(double low, double high) {
  return {.low = low, .high = high};
}
constexpr Range up_to(double high) {
  return {.low = 0, .high = high, .low_open = true};
}

/// The bytes of a file, at most `limit`; the error is the one line for a path that is missing, a directory, too large.
Result<std::string> read_file(const std::filesystem::path& path, std::size_t limit);

/// A key that a loader asked for, with what may stand there: the loaders' own words, so that nothing else has to
/// repeat them.
struct KnownKey {
  enum class Kind { unknown, number, integer, boolean, text, choice, path, numbers, points, table, tables };
  std::string path;  ///< dotted; of keys in [[tables]] without the table's number: "thread.core"
  Kind kind = Kind::unknown;
  std::string must;      ///< "0..2000", "cpu | gpu", "an existing file"
  std::string fallback;  ///< what holds when the key is left out, where that is one value
  bool needed = false;
};

/// While it lives, every Document read on this thread tells it which keys were asked for, each once, in the order in
/// which they were asked for, and all that was wrong. The newest of several listens.
class KeyRecorder {
 public:
  struct Issue {
    std::string key;   ///< dotted, or empty
    int line = 1;      ///< from 1
    std::string text;  ///< without file and line
  };
  KeyRecorder();
  ~KeyRecorder();
  KeyRecorder(const KeyRecorder&) = delete;
  KeyRecorder& operator=(const KeyRecorder&) = delete;
  void note(KnownKey key);
  void wrong(int line, const std::string& text);

  std::vector<KnownKey> keys;
  std::vector<Issue> issues;  ///< in order of lines

 private:
  KeyRecorder* before_;
};

class Table;

class Document {
 public:
  static Result<Document> read(const std::filesystem::path& path);
  /// @param file name in error lines; relative paths inside are relative to its folder
  static Result<Document> parse(std::string_view text, const std::filesystem::path& file);
  Document(Document&&) noexcept;
  Document& operator=(Document&&) noexcept;
  ~Document();

  Table root();
  /// Error of the first wrong line, unknown keys included. Call once, after everything was asked for.
  Result<void> finish();
  /// All that is wrong, in order of lines, at most kMaxIssues. Filled by finish().
  const std::vector<std::string>& issues() const;

  struct State;

 private:
  explicit Document(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

/// A view of one table; must not outlive its Document. A table that is not in the file answers defaults.
///
/// `get_*` have a default, `need_*` note an error where the key is missing. `remedy` ends the error line; empty: a
/// general one that names the default.
class Table {
 public:
  Table() = default;
  /// False for a table that is not in the file.
  bool present() const { return node_ != nullptr; }
  int line() const { return line_; }
  bool has(std::string_view key) const;
  /// What stands under a key, for the few that may hold one of several.
  enum class Kind { missing, integer, text, table, other };
  Kind kind(std::string_view key) const;
  /// Makes a key known without a look at its value, where the error noted elsewhere says enough.
  void accept(std::string_view key) { find(key); }
  /// Nothing wrong was noted in the whole file so far: checks across keys would only repeat what was said.
  bool clean() const;

  double get_number(std::string_view key, double fallback, Range range, std::string_view remedy = {});
  double need_number(std::string_view key, Range range, std::string_view remedy = {});
  std::int64_t get_integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high,
                           std::string_view remedy = {});
  std::int64_t need_integer(std::string_view key, std::int64_t low, std::int64_t high, std::string_view remedy = {});
  bool get_bool(std::string_view key, bool fallback);
  /// One printable line of at most 200 bytes; need_string also refuses an empty one.
  std::string get_string(std::string_view key, std::string_view fallback);
  std::string need_string(std::string_view key, std::string_view remedy = {});

  template <class Choice>
  Choice get_choice(std::string_view key, Choice fallback,
                    std::initializer_list<std::pair<std::string_view, Choice>> choices, std::string_view remedy = {}) {
    return choose(key, fallback, choices, remedy, false);
  }
  template <class Choice>
  Choice need_choice(std::string_view key, Choice fallback,
                     std::initializer_list<std::pair<std::string_view, Choice>> choices, std::string_view remedy = {}) {
    return choose(key, fallback, choices, remedy, true);
  }

  /// Index of the text among `names`, which are the file's own.
  std::optional<std::size_t> need_one_of(std::string_view key, const std::vector<std::string>& names,
                                         std::string_view remedy = {});

  /// `count_low..count_high` numbers, each in range; empty when the key is missing or wrong.
  std::vector<double> get_numbers(std::string_view key, std::size_t count_low, std::size_t count_high, Range range,
                                  std::string_view remedy = {});
  std::vector<double> need_numbers(std::string_view key, std::size_t count_low, std::size_t count_high, Range range,
                                   std::string_view remedy = {});
  Vec3 get_vec3(std::string_view key, Vec3 fallback, Range range = any_number, std::string_view remedy = {});
  Vec3 need_vec3(std::string_view key, Range range = any_number, std::string_view remedy = {});
  /// A direction: any length but zero; answered as a unit vector.
  Vec3 get_direction(std::string_view key, Vec3 fallback);
  /// x y z w, of unit norm within kQuaternionTolerance; normalised.
  Quat get_quat(std::string_view key, Quat fallback);
  Quat need_quat(std::string_view key);
  /// [[x,y,z], ...], at least `count_low` of them.
  std::vector<Vec3> get_points(std::string_view key, std::size_t count_low, std::size_t count_high);

  enum class PathKind { file, directory, any };
  /// A path relative to this file's folder, made absolute against it; must exist unless `any`. Empty when missing.
  std::filesystem::path get_path(std::string_view key, PathKind kind, std::string_view remedy = {});
  std::filesystem::path need_path(std::string_view key, PathKind kind, std::string_view remedy = {});

  Table get_table(std::string_view key);
  Table need_table(std::string_view key, std::string_view remedy = {});
  /// [[key]] tables in the file's order; a count outside low..high is an error at the first surplus one or this table.
  std::vector<Table> get_tables(std::string_view key, std::size_t count_low, std::size_t count_high,
                                std::string_view remedy = {});

  /// Notes `key 'x' is <its value>, must be <must>: <remedy>` at the key's line (this table's, when missing).
  void reject(std::string_view key, std::string_view must, std::string_view remedy);
  /// The same where what stands there is better said in words.
  void reject_as(std::string_view key, std::string_view is, std::string_view must, std::string_view remedy);
  /// Refuses a key of the documented format that this version cannot honour, rather than ignore it.
  /// @return true when the key was there
  bool refuse_unsupported(std::string_view key, std::string_view what);

 private:
  friend class Document;
  Table(Document::State* state, const void* node, std::string path, int line)
      : state_(state), node_(node), path_(std::move(path)), line_(line) {}
  /// The node under `key`, which from now on is a known key; null when missing.
  const void* find(std::string_view key);
  const void* find_or_miss(std::string_view key, bool needed, std::string_view must, std::string_view remedy);
  std::optional<double> number(std::string_view key, bool needed, Range range, std::string_view fallback,
                               std::string_view remedy);
  std::optional<std::int64_t> integer(std::string_view key, bool needed, std::int64_t low, std::int64_t high,
                                      std::string_view fallback, std::string_view remedy);
  std::optional<std::string> text(std::string_view key, bool needed, std::string_view must, std::string_view remedy);
  std::optional<std::vector<double>> numbers(std::string_view key, bool needed, std::size_t count_low,
                                             std::size_t count_high, Range range, std::string_view remedy);
  std::optional<Quat> quat(std::string_view key, bool needed);
  std::optional<std::size_t> choice(std::string_view key, bool needed, const std::vector<std::string_view>& names,
                                    std::string_view remedy);
  std::filesystem::path path(std::string_view key, bool needed, PathKind kind, std::string_view remedy);
  std::string full(std::string_view key) const;
  /// Tells the recorder, if one listens.
  void known(std::string_view key, KnownKey::Kind kind, std::string_view must, std::string_view fallback,
             bool needed) const;

  template <class Choice>
  Choice choose(std::string_view key, Choice fallback,
                std::initializer_list<std::pair<std::string_view, Choice>> choices, std::string_view remedy,
                bool needed) {
    std::vector<std::string_view> names;
    for (const auto& [name, value] : choices) names.push_back(name);
    const auto index = choice(key, needed, names, remedy);
    return index ? (choices.begin() + *index)->second : fallback;
  }

  Document::State* state_ = nullptr;
  const void* node_ = nullptr;  // toml::table
  std::string path_;            // dotted, for messages
  int line_ = 1;
};

}  // namespace ligature::config
