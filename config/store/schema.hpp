#pragma once
/// What may be set, as the loaders of profile and rig know it; which of it takes effect at once; what is wrong.
///
/// Nothing is repeated here: keys, ranges and defaults come from a KeyRecorder that listens while the loaders read.
/// Only the words of explanation are a table of their own.
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.hpp"
#include "config/profile_file.hpp"
#include "config/store/tree.hpp"
#include "drivers/rig.hpp"

namespace ligature::store {

/// One configuration: two texts that are always changed, committed and rolled back together.
struct Texts {
  std::string profile, rig;
  bool operator==(const Texts&) const = default;
};

enum class Part { profile, rig };
std::string name_of(Part part);

/// The profile of a configuration names its rig so; the other half of the Texts.
inline constexpr const char* kRigFile = "rig.toml";

/// A change of this key takes effect in a running session; everything else at its next start. (What moves the physics
/// needs a start, so that a session replays bit for bit.)
bool is_live(Part part, std::string_view dotted);
/// Only an admin may change it: what can make the machine itself misbehave.
bool is_for_admins(Part part, std::string_view dotted);
/// One line of explanation; empty where there is none.
std::string_view help_of(Part part, std::string_view dotted);

struct Problem {
  Part part = Part::profile;
  std::string key;      ///< dotted, or empty
  std::string message;  ///< "profile:41: key 'x' is 7, must be 0..1: remedy"; the line is that of `show configuration`
};

/// The whole judged by the loaders.
struct Judgement {
  std::vector<Problem> problems;
  std::optional<config::Profile> profile;  ///< there when nothing is wrong
  std::optional<drivers::Rig> rig;
  bool good() const { return problems.empty(); }
};
/// @param folder where a file kRigFile lies (any good one) and relative paths start
/// @param scenario also read the scenario that the profile names
Judgement judge(const Texts& texts, const std::filesystem::path& folder, bool scenario = true);

/// A profile with its rig as Texts: paths made absolute, the rig's text taken in.
Result<Texts> import_profile(const std::filesystem::path& file);

struct Choice {
  std::string word, help;
  bool operator==(const Choice&) const = default;
};

/// Where typed words lead: `rig camera C0 fx_px`. Words may be abbreviated as long as they are unambiguous.
struct Walk {
  Part part = Part::profile;
  Path path;
  std::vector<std::string> words;           ///< in full, as far as they were understood
  std::size_t used = 0;                     ///< how many words that is
  bool part_named = false;                  ///< at least `profile` or `rig`
  bool list = false;                        ///< stopped at [[tables]], before the item's name
  const config::KnownKey* value = nullptr;  ///< stopped at a value's key
  std::string error;                        ///< of words[used], when that was not understood
  std::vector<Choice> choices;              ///< what may come next
};

class Schema {
 public:
  /// Reads the texts, and again with one of each kind of table that they lack.
  static Schema learn(const Texts& texts, const std::filesystem::path& folder);

  const config::KnownKey* find(Part part, std::string_view dotted) const;
  /// Dotted keys in the order in which the loader asks for them.
  const std::vector<std::string>& order(Part part) const { return order_[static_cast<std::size_t>(part)]; }
  /// @param add an item that is not there is taken as a new one's name
  Walk walk(const std::vector<std::string>& words, const Tree& profile, const Tree& rig, bool add) const;
  /// What `?` shows of a key: explanation, range, default, when it takes effect.
  std::string describe(Part part, const config::KnownKey& key) const;
  /// The typed words as TOML, by what the key holds: text gets its quotes, several numbers their brackets.
  std::string as_value(const config::KnownKey& key, const std::vector<std::string>& words, bool quoted) const;

 private:
  std::vector<Choice> children(Part part, const std::string& dotted, const Tree& tree, const Path& path) const;
  std::array<std::vector<config::KnownKey>, 2> keys_;
  std::array<std::vector<std::string>, 2> order_;
};

}  // namespace ligature::store
