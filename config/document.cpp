#include "config/document.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstring>
#include <exception>
#include <map>

namespace ligature::config {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kMaxShown = 60;      // bytes of a wrong value quoted in a message
constexpr int kMaxKeyParts = 2000;         // of a dotted key
constexpr std::size_t kMaxString = 200;    // bytes of a string value
constexpr std::size_t kMaxMessage = 1000;  // bytes of an error line

/// One printable line: control characters become blanks, overlong text is cut at a UTF-8 border.
std::string one_line(std::string_view text, std::size_t limit) {
  std::string out;
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    out += u < 0x20 || u == 0x7f ? ' ' : c;
  }
  if (out.size() > limit) {
    std::size_t cut = limit;
    while (cut > 0 && (static_cast<unsigned char>(out[cut]) & 0xc0) == 0x80) --cut;
    out.resize(cut);
    out += "...";
  }
  return out;
}

std::string show(double v) {
  std::array<char, 32> buffer{};
  const auto [end, ec] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  return {buffer.data(), ec == std::errc{} ? end : buffer.data()};
}

std::string show(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return "'" + one_line(node.as_string()->get(), kMaxShown) + "'";
    case toml::node_type::integer:
      return std::to_string(node.as_integer()->get());
    case toml::node_type::floating_point:
      return show(node.as_floating_point()->get());
    case toml::node_type::boolean:
      return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::array:
      return "an array of " + std::to_string(node.as_array()->size());
    case toml::node_type::table:
      return "a table";
    default:
      return "a date or time";
  }
}

std::string show(const Range& r, std::string_view noun) {
  const bool low = std::isfinite(r.low), high = std::isfinite(r.high);
  if (!low && !high) return std::string(noun);
  if (low && high && !r.low_open && !r.high_open) return show(r.low) + ".." + show(r.high);
  std::string out;
  if (low) out += (r.low_open ? "above " : "at least ") + show(r.low);
  if (low && high) out += " and ";
  if (high) out += (r.high_open ? "below " : "at most ") + show(r.high);
  return out;
}

bool contains(const Range& r, double v) {
  return std::isfinite(v) && (r.low_open ? v > r.low : v >= r.low) && (r.high_open ? v < r.high : v <= r.high);
}

std::optional<double> as_number(const toml::node& node) {
  if (const auto* f = node.as_floating_point()) return f->get();
  if (const auto* i = node.as_integer()) return static_cast<double>(i->get());
  return std::nullopt;
}

/// Levenshtein distance, for suggestions; keys are short, longer ones are cut.
std::size_t distance(std::string_view a, std::string_view b) {
  a = a.substr(0, 64), b = b.substr(0, 64);
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t up = row[j];
      row[j] = std::min({up + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = up;
    }
  }
  return row[b.size()];
}

/// The candidate nearest to `word`, or empty when none is near enough to be what was meant.
template <class Words>
std::string_view nearest(std::string_view word, const Words& candidates) {
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, word.size() / 2) + 1;
  for (const auto& candidate : candidates) {
    const std::string_view c = candidate;
    // Someone who leaves out the unit ("diameter") means the key with it.
    const bool prefix = word.size() >= 3 && c.starts_with(word);
    const std::size_t d = prefix ? 1 : distance(word, c);
    if (d < best_distance) best = c, best_distance = d;
  }
  return best;
}

template <class Words>
std::string join(const Words& words, std::string_view glue) {
  std::string out;
  for (const auto& word : words) {
    if (!out.empty()) out += glue;
    out += word;
  }
  return out;
}

int line_of(const toml::node& node, int fallback) {
  const auto line = static_cast<int>(node.source().begin.line);
  return line > 0 ? line : fallback;
}

std::string or_default(std::string_view remedy, std::string_view fallback) {
  if (!remedy.empty()) return std::string(remedy);
  if (fallback.empty()) return "give a value that fits";
  return "give such a value, or leave the line out for " + std::string(fallback);
}

/// Offset of the first byte that is not UTF-8, or npos. toml++ decodes ahead and names a line too early.
std::size_t first_invalid_utf8(std::string_view s) {
  for (std::size_t i = 0; i < s.size();) {
    const auto lead = static_cast<unsigned char>(s[i]);
    const std::size_t more = lead < 0x80                    ? 0
                             : lead >= 0xc2 && lead <= 0xdf ? 1
                             : lead >= 0xe0 && lead <= 0xef ? 2
                             : lead >= 0xf0 && lead <= 0xf4 ? 3
                                                            : 4;
    if (more == 4 || i + more >= s.size()) return i;
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(s[i + k]) & 0xc0) != 0x80) return i;
    i += more + 1;
  }
  return std::string_view::npos;
}

int line_at(std::string_view s, std::size_t offset) {
  return 1 + static_cast<int>(std::count(s.begin(), s.begin() + static_cast<std::ptrdiff_t>(offset), '\n'));
}

thread_local KeyRecorder* recorder = nullptr;

const toml::node* as_node(const void* p) {
  return static_cast<const toml::node*>(p);
}
const void* as_void(const toml::node* node) {
  return node;
}

}  // namespace

KeyRecorder::KeyRecorder() : before_(recorder) {
  recorder = this;
}
KeyRecorder::~KeyRecorder() {
  recorder = before_;
}

void KeyRecorder::note(KnownKey key) {
  const auto seen = std::find_if(keys.begin(), keys.end(), [&](const KnownKey& k) { return k.path == key.path; });
  if (seen == keys.end())
    keys.push_back(std::move(key));
  else if (seen->kind == KnownKey::Kind::unknown ||
           (seen->kind == KnownKey::Kind::text && key.kind != seen->kind && key.kind != KnownKey::Kind::unknown))
    *seen = std::move(key);
}

void KeyRecorder::wrong(int line, const std::string& text) {
  constexpr std::string_view start = "key '";
  std::string key;
  if (text.starts_with(start)) key = text.substr(start.size(), text.find('\'', start.size()) - start.size());
  if (const auto bracket = key.find('['); bracket != std::string::npos) key.resize(bracket);
  issues.push_back({std::move(key), line, text});
}

struct Document::State {
  struct Issue {
    int line;
    std::string text;
  };
  struct Asked {  // a table that was looked at, and the keys that were asked of it
    std::string path;
    std::vector<std::string> keys;
  };

  void note(int line, std::string text) {
    if (noted.size() < 8 * kMaxIssues) noted.push_back({std::max(line, 1), std::move(text)});
  }

  std::string file;
  fs::path folder;
  toml::table root;
  std::vector<Issue> noted;
  std::map<const toml::table*, Asked> asked;
  std::vector<std::string> issues;
};

Result<std::string> read_file(const fs::path& path, std::size_t limit) {
  const std::string name = one_line(path.string(), kMaxShown * 4);
  const auto wrong = [&](std::string_view is, std::string_view must, std::string_view remedy) {
    return usage_error(name + ":1: the file " + std::string(is) + ", must be " + std::string(must) + ": " +
                       std::string(remedy));
  };
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);  // a pipe would wait for its writer
  if (fd < 0) {
    if (errno == ENOENT || errno == ENOTDIR)
      return wrong("does not exist", "a file that can be read", "check the path");
    return wrong(std::string("cannot be opened (") + std::strerror(errno) + ")", "a file that can be read",
                 "check its permissions");
  }
  struct Closer {
    int fd;
    ~Closer() { ::close(fd); }
  } closer{fd};
  struct stat is {};
  if (::fstat(fd, &is) == 0 && S_ISFIFO(is.st_mode))
    return wrong("is a pipe", "a file that can be read", "name a file");
  std::string text;
  std::array<char, 65536> block;
  while (true) {
    const ssize_t n = ::read(fd, block.data(), block.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EISDIR) return wrong("is a directory", "a file that can be read", "name a file inside it");
    if (n < 0)
      return wrong(std::string("cannot be read (") + std::strerror(errno) + ")", "a file that can be read",
                   "check the disk");
    if (n == 0) return text;
    text.append(block.data(), static_cast<std::size_t>(n));
    if (text.size() > limit)
      return wrong("is larger than " + std::to_string(limit) + " bytes", "a smaller file", "check the path");
  }
}

Document::Document(std::unique_ptr<State> state) : state_(std::move(state)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Result<Document> Document::read(const fs::path& path) {
  auto text = read_file(path, kMaxTomlBytes);
  if (!text) return unexpected(text.error());
  return parse(*text, path);
}

Result<Document> Document::parse(std::string_view text, const fs::path& file) {
  auto state = std::make_unique<State>();
  state->file = one_line(file.string(), kMaxShown * 4);
  state->folder = file.parent_path();
  const auto wrong = [&](int line, std::string_view is, std::string_view remedy) {
    return usage_error(one_line(state->file + ":" + std::to_string(std::max(line, 1)) + ": the text is not TOML (" +
                                    std::string(is) + "), must be TOML 1.0: " + std::string(remedy),
                                kMaxMessage));
  };
  if (text.find_first_not_of(" \t\r\n") == std::string_view::npos)
    return wrong(1, "the file is empty", "start from one of the shipped files");
  if (const auto nul = text.find('\0'); nul != std::string_view::npos)
    return wrong(line_at(text, nul), "it holds binary data", "check the path");
  if (const auto bad = first_invalid_utf8(text); bad != std::string_view::npos)
    return wrong(line_at(text, bad), "a byte is not UTF-8", "save the file as UTF-8");
  // The parser recurses with every part of a dotted key; no honest key has this many. (A number has one dot.)
  int dots = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (std::string_view(",[]{}=\n").find(text[i]) != std::string_view::npos) dots = 0;
    if (text[i] == '.' && ++dots > kMaxKeyParts)
      return wrong(line_at(text, i), "a key has too many parts", "give it a shorter name");
  }
  try {
    state->root = toml::parse(text, std::string_view(state->file));
  } catch (const toml::parse_error& error) {
    std::string description(error.description());
    const bool twice = description.find("redefine") != std::string::npos;
    return wrong(static_cast<int>(error.source().begin.line), one_line(description, 300),
                 twice ? "keep one of the two" : "mend this line");
  } catch (const std::exception& error) {  // out of memory, length errors: nothing to say about a line
    return wrong(1, error.what(), "check the file");
  }
  return Document(std::move(state));
}

Table Document::root() {
  state_->asked.try_emplace(&state_->root, State::Asked{"", {}});
  return Table(state_.get(), as_void(&state_->root), "", 1);
}

Result<void> Document::finish() {
  for (const auto& [table, asked] : state_->asked) {
    for (const auto& [key, node] : *table) {
      if (std::find(asked.keys.begin(), asked.keys.end(), key.str()) != asked.keys.end()) continue;
      const std::string shown = one_line(key.str(), kMaxShown);
      const std::string_view near = nearest(key.str(), asked.keys);
      const int key_line = static_cast<int>(key.source().begin.line);
      const std::string full = asked.path.empty() ? shown : asked.path + "." + shown;
      const std::string where = asked.path.empty() ? "this file" : "[" + asked.path + "]";
      state_->note(
          key_line > 0 ? key_line : line_of(node, 1),
          "key '" + full + "' is unknown, must be a key of " + where + ": " +
              (near.empty() ? "keys are " + join(asked.keys, ", ") : "did you mean '" + std::string(near) + "'?"));
    }
  }
  std::stable_sort(state_->noted.begin(), state_->noted.end(),
                   [](const State::Issue& a, const State::Issue& b) { return a.line < b.line; });
  for (const auto& issue : state_->noted) {
    if (state_->issues.size() == kMaxIssues) break;
    if (recorder) recorder->wrong(issue.line, one_line(issue.text, kMaxMessage));
    state_->issues.push_back(
        one_line(state_->file + ":" + std::to_string(issue.line) + ": " + issue.text, kMaxMessage));
  }
  if (!state_->issues.empty()) return usage_error(state_->issues.front());
  return {};
}

const std::vector<std::string>& Document::issues() const {
  return state_->issues;
}

std::string Table::full(std::string_view key) const {
  return path_.empty() ? std::string(key) : path_ + "." + std::string(key);
}

const void* Table::find(std::string_view key) {
  if (!node_) return nullptr;
  const auto* table = as_node(node_)->as_table();
  auto& keys = state_->asked[table].keys;
  if (std::find(keys.begin(), keys.end(), key) == keys.end()) keys.emplace_back(key);
  return as_void(table->get(key));
}

void Table::known(std::string_view key, KnownKey::Kind kind, std::string_view must, std::string_view fallback,
                  bool needed) const {
  if (recorder && state_) recorder->note({full(key), kind, std::string(must), std::string(fallback), needed});
}

bool Table::has(std::string_view key) const {
  known(key, KnownKey::Kind::unknown, "", "", false);
  return node_ && as_node(node_)->as_table()->contains(key);
}
Table::Kind Table::kind(std::string_view key) const {
  const auto* node = has(key) ? as_node(node_)->as_table()->get(key) : nullptr;
  return !node                ? Kind::missing
         : node->is_integer() ? Kind::integer
         : node->is_string()  ? Kind::text
         : node->is_table()   ? Kind::table
                              : Kind::other;
}
bool Table::clean() const {
  return !state_ || state_->noted.empty();
}

void Table::reject_as(std::string_view key, std::string_view is, std::string_view must, std::string_view remedy) {
  if (!state_) return;
  const void* node = find(key);
  state_->note(
      node ? line_of(*as_node(node), line_) : line_,
      "key '" + full(key) + "' is " + std::string(is) + ", must be " + std::string(must) + ": " + std::string(remedy));
}

void Table::reject(std::string_view key, std::string_view must, std::string_view remedy) {
  const void* node = find(key);
  reject_as(key, node ? show(*as_node(node)) : "missing", must, remedy);
}

bool Table::refuse_unsupported(std::string_view key, std::string_view what) {
  if (!find(key)) return false;
  reject_as(key, "given", "left out", std::string(what) + " not supported by this version yet");
  return true;
}

const void* Table::find_or_miss(std::string_view key, bool needed, std::string_view must, std::string_view remedy) {
  const void* node = find(key);
  if (!node && needed && node_) reject_as(key, "missing", must, remedy.empty() ? "add the key" : remedy);
  return node;
}

std::optional<double> Table::number(std::string_view key, bool needed, Range range, std::string_view fallback,
                                    std::string_view remedy) {
  const std::string must = show(range, "a finite number");
  known(key, KnownKey::Kind::number, must, fallback == "none" ? "" : fallback, needed);
  const void* node = find_or_miss(key, needed, must, remedy);
  if (!node) return std::nullopt;
  const auto value = as_number(*as_node(node));
  if (!value) {
    const bool bounded = std::isfinite(range.low) || std::isfinite(range.high);
    reject(key, bounded ? "a number, " + must : "a number", or_default(remedy, fallback));
    return std::nullopt;
  }
  if (!std::isfinite(*value) || !contains(range, *value)) {
    reject(key, must, or_default(remedy, fallback));
    return std::nullopt;
  }
  return value;
}

double Table::get_number(std::string_view key, double fallback, Range range, std::string_view remedy) {
  return number(key, false, range, std::isfinite(fallback) ? show(fallback) : "none", remedy).value_or(fallback);
}

double Table::need_number(std::string_view key, Range range, std::string_view remedy) {
  return number(key, true, range, "", remedy).value_or(0.0);
}

std::optional<std::int64_t> Table::integer(std::string_view key, bool needed, std::int64_t low, std::int64_t high,
                                           std::string_view fallback, std::string_view remedy) {
  const std::string must = "a whole number " + std::to_string(low) + ".." + std::to_string(high);
  known(key, KnownKey::Kind::integer, must, fallback, needed);
  const void* node = find_or_miss(key, needed, must, remedy);
  if (!node) return std::nullopt;
  const auto* value = as_node(node)->as_integer();
  if (const auto* f = as_node(node)->as_floating_point();
      f && **f == std::trunc(**f) && **f >= static_cast<double>(low) && **f <= static_cast<double>(high)) {
    const std::string whole = std::to_string(static_cast<std::int64_t>(**f));
    reject_as(key, whole + ".0", must, "write it as " + whole);
    return std::nullopt;
  }
  if (!value || value->get() < low || value->get() > high) {
    reject(key, must, or_default(remedy, fallback));
    return std::nullopt;
  }
  return value->get();
}

std::int64_t Table::get_integer(std::string_view key, std::int64_t fallback, std::int64_t low, std::int64_t high,
                                std::string_view remedy) {
  return integer(key, false, low, high, std::to_string(fallback), remedy).value_or(fallback);
}

std::int64_t Table::need_integer(std::string_view key, std::int64_t low, std::int64_t high, std::string_view remedy) {
  return integer(key, true, low, high, "", remedy).value_or(low);
}

bool Table::get_bool(std::string_view key, bool fallback) {
  known(key, KnownKey::Kind::boolean, "true or false", fallback ? "true" : "false", false);
  const void* node = find(key);
  if (!node) return fallback;
  if (const auto* value = as_node(node)->as_boolean()) return value->get();
  reject(key, "true or false", or_default({}, fallback ? "true" : "false"));
  return fallback;
}

std::optional<std::string> Table::text(std::string_view key, bool needed, std::string_view must,
                                       std::string_view remedy) {
  known(key, KnownKey::Kind::text, must, "", needed);
  const void* node = find_or_miss(key, needed, must, remedy);
  if (!node) return std::nullopt;
  const auto* value = as_node(node)->as_string();
  if (!value) {
    reject(key, must, remedy.empty() ? "put it in quotes" : remedy);
    return std::nullopt;
  }
  const std::string& s = value->get();
  const bool printable =
      std::none_of(s.begin(), s.end(), [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
  if (!printable || s.size() > kMaxString) {
    reject(key, "one printable line of at most " + std::to_string(kMaxString) + " bytes", "shorten the text");
    return std::nullopt;
  }
  if (needed && s.empty()) {
    reject_as(key, "empty", must, remedy.empty() ? "fill it in" : remedy);
    return std::nullopt;
  }
  return s;
}

std::string Table::get_string(std::string_view key, std::string_view fallback) {
  return text(key, false, "a string", {}).value_or(std::string(fallback));
}

std::string Table::need_string(std::string_view key, std::string_view remedy) {
  return text(key, true, "a string", remedy).value_or(std::string());
}

std::optional<std::size_t> Table::choice(std::string_view key, bool needed, const std::vector<std::string_view>& names,
                                         std::string_view remedy) {
  const std::string must = names.empty() ? "the name of one, and there is none" : join(names, " | ");
  known(key, KnownKey::Kind::choice, must, "", needed);
  const auto value = text(key, needed, must, !remedy.empty() ? remedy : "choose one of them, in quotes");
  if (!value) return std::nullopt;
  const auto found = std::find(names.begin(), names.end(), *value);
  if (found != names.end()) return static_cast<std::size_t>(found - names.begin());
  const std::string_view near = nearest(*value, names);
  reject(key, must,
         !remedy.empty() ? std::string(remedy)
         : !near.empty() ? "did you mean '" + std::string(near) + "'?"
                         : "choose one of them");
  return std::nullopt;
}

std::optional<std::size_t> Table::need_one_of(std::string_view key, const std::vector<std::string>& names,
                                              std::string_view remedy) {
  return choice(key, true, {names.begin(), names.end()}, remedy);
}

std::optional<std::vector<double>> Table::numbers(std::string_view key, bool needed, std::size_t count_low,
                                                  std::size_t count_high, Range range, std::string_view remedy) {
  const std::string count = count_low == count_high ? std::to_string(count_low)
                                                    : std::to_string(count_low) + ".." + std::to_string(count_high);
  const std::string must = "an array of " + count + " numbers";
  known(key, KnownKey::Kind::numbers, count + " numbers, each " + show(range, "finite"), "", needed);
  const void* node = find_or_miss(key, needed, must, remedy);
  if (!node) return std::nullopt;
  const auto* array = as_node(node)->as_array();
  if (!array || array->size() < count_low || array->size() > count_high) {
    reject(key, must, or_default(remedy, ""));
    return std::nullopt;
  }
  std::vector<double> out;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const toml::node& item = *array->get(i);
    const auto value = as_number(item);
    if (!value || !contains(range, *value)) {
      state_->note(line_of(item, line_of(*as_node(node), line_)),
                   "key '" + full(key) + "[" + std::to_string(i) + "]' is " + show(item) + ", must be " +
                       show(range, "a finite number") + ": " + or_default(remedy, ""));
      return std::nullopt;
    }
    out.push_back(*value);
  }
  return out;
}

std::vector<double> Table::get_numbers(std::string_view key, std::size_t count_low, std::size_t count_high, Range range,
                                       std::string_view remedy) {
  return numbers(key, false, count_low, count_high, range, remedy).value_or(std::vector<double>());
}

std::vector<double> Table::need_numbers(std::string_view key, std::size_t count_low, std::size_t count_high,
                                        Range range, std::string_view remedy) {
  return numbers(key, true, count_low, count_high, range, remedy).value_or(std::vector<double>());
}

Vec3 Table::get_vec3(std::string_view key, Vec3 fallback, Range range, std::string_view remedy) {
  const auto v = numbers(key, false, 3, 3, range, remedy);
  return v ? Vec3{(*v)[0], (*v)[1], (*v)[2]} : fallback;
}

Vec3 Table::need_vec3(std::string_view key, Range range, std::string_view remedy) {
  const auto v = numbers(key, true, 3, 3, range, remedy);
  return v ? Vec3{(*v)[0], (*v)[1], (*v)[2]} : Vec3{};
}

Vec3 Table::get_direction(std::string_view key, Vec3 fallback) {
  const auto v = numbers(key, false, 3, 3, between(-1e9, 1e9), {});
  if (!v) return fallback;
  const Vec3 d{(*v)[0], (*v)[1], (*v)[2]};
  const double length = norm(d);
  if (length < 1e-9) {
    reject_as(key, "of zero length", "a direction", "give a vector such as [0, 0, 1]");
    return fallback;
  }
  return std::abs(length - 1) < 1e-12 ? d : (1.0 / length) * d;
}

std::optional<Quat> Table::quat(std::string_view key, bool needed) {
  constexpr std::string_view remedy = "give x, y, z, w of a rotation; [0, 0, 0, 1] turns nothing";
  const auto v = numbers(key, needed, 4, 4, between(-1.0 - kQuaternionTolerance, 1.0 + kQuaternionTolerance), remedy);
  if (!v) return std::nullopt;
  const Quat q{(*v)[0], (*v)[1], (*v)[2], (*v)[3]};
  const double length = std::sqrt(q.x * q.x + q.y * q.y + q.z * q.z + q.w * q.w);
  if (std::abs(length - 1) > kQuaternionTolerance) {
    reject_as(key, "of norm " + show(length), "a quaternion of norm 1 within " + show(kQuaternionTolerance), remedy);
    return std::nullopt;
  }
  // One that is already unit to rounding stays bit for bit, so that saving and loading changes nothing.
  return std::abs(length - 1) < 1e-14 ? q : normalized(q);
}

Quat Table::get_quat(std::string_view key, Quat fallback) {
  return quat(key, false).value_or(fallback);
}
Quat Table::need_quat(std::string_view key) {
  return quat(key, true).value_or(Quat{});
}

std::vector<Vec3> Table::get_points(std::string_view key, std::size_t count_low, std::size_t count_high) {
  known(key, KnownKey::Kind::points, "points [x, y, z]", "", false);
  const void* node = find(key);
  if (!node) return {};
  const auto* array = as_node(node)->as_array();
  if (!array || array->size() < count_low || array->size() > count_high) {
    reject(key, "an array of " + std::to_string(count_low) + ".." + std::to_string(count_high) + " points [x, y, z]",
           "give points like [[0, 0, 0], [10, 0, 0]]");
    return {};
  }
  std::vector<Vec3> out;
  for (std::size_t i = 0; i < array->size(); ++i) {
    const auto* point = array->get(i)->as_array();
    bool good = point && point->size() == 3;
    std::array<double, 3> v{};
    for (std::size_t k = 0; good && k < 3; ++k) {
      const auto value = as_number(*point->get(k));
      good = value && std::isfinite(*value) && std::abs(*value) <= 1e6;
      v[k] = value.value_or(0);
    }
    if (!good) {
      state_->note(line_of(*array->get(i), line_of(*as_node(node), line_)),
                   "key '" + full(key) + "[" + std::to_string(i) + "]' is " +
                       (point && point->size() == 3 ? "not three finite numbers" : show(*array->get(i))) +
                       ", must be [x, y, z] within 1e6: give three numbers in mm");
      return {};
    }
    out.push_back({v[0], v[1], v[2]});
  }
  return out;
}

fs::path Table::path(std::string_view key, bool needed, PathKind kind, std::string_view remedy) {
  const std::string_view must = kind == PathKind::directory ? "an existing directory"
                                : kind == PathKind::file    ? "an existing file"
                                                            : "a path";
  known(key, KnownKey::Kind::path, must, "", needed);
  const auto value = text(key, needed, must, remedy);
  if (!value) return {};
  if (value->empty()) {
    reject_as(key, "empty", must, "name it, or leave the line out");
    return {};
  }
  const fs::path full_path = (state_->folder / *value).lexically_normal();
  std::error_code error;
  const fs::file_status status = fs::status(full_path, error);
  const bool good = kind == PathKind::any || (kind == PathKind::directory && fs::is_directory(status)) ||
                    (kind == PathKind::file && fs::exists(status) && !fs::is_directory(status));
  if (!good) {
    reject(key, must,
           !remedy.empty()
               ? std::string(remedy)
               : "looked at " + one_line(full_path.string(), 4 * kMaxShown) + "; paths are relative to this file");
    return {};
  }
  return full_path;
}

fs::path Table::get_path(std::string_view key, PathKind kind, std::string_view remedy) {
  return path(key, false, kind, remedy);
}
fs::path Table::need_path(std::string_view key, PathKind kind, std::string_view remedy) {
  return path(key, true, kind, remedy);
}

Table Table::get_table(std::string_view key) {
  known(key, KnownKey::Kind::table, "a table", "", false);
  const void* node = find(key);
  if (!node) return Table(state_, nullptr, full(key), line_);
  const auto* table = as_node(node)->as_table();
  if (!table) {
    reject(key, "a table", "write [" + full(key) + "] above its keys");
    return Table(state_, nullptr, full(key), line_);
  }
  state_->asked.try_emplace(table, Document::State::Asked{full(key), {}});
  return Table(state_, as_void(table), full(key), line_of(*table, line_));
}

Table Table::need_table(std::string_view key, std::string_view remedy) {
  find_or_miss(key, true, "a table [" + full(key) + "]", remedy);
  return get_table(key);
}

std::vector<Table> Table::get_tables(std::string_view key, std::size_t count_low, std::size_t count_high,
                                     std::string_view remedy) {
  const void* node = find(key);
  const std::string count = count_low == count_high ? std::to_string(count_low)
                                                    : std::to_string(count_low) + ".." + std::to_string(count_high);
  const std::string must = count + " tables [[" + full(key) + "]]";
  const std::string cure = remedy.empty() ? "add or remove tables" : std::string(remedy);
  known(key, KnownKey::Kind::tables, must, "", count_low > 0);
  if (!node) {
    if (count_low > 0 && node_) reject_as(key, "missing", must, cure);
    return {};
  }
  const auto* array = as_node(node)->as_array();
  const bool tables =
      array && std::all_of(array->begin(), array->end(), [](const toml::node& n) { return n.is_table(); });
  if (!tables || array->size() < count_low) {
    reject(key, must, cure);
    return {};
  }
  if (array->size() > count_high) {
    const toml::node& surplus = *array->get(count_high);
    state_->note(line_of(surplus, line_), "key '" + full(key) + "' is given " + std::to_string(array->size()) +
                                              " times, must be " + must + ": " + cure);
    return {};
  }
  std::vector<Table> out;
  for (const toml::node& item : *array) {
    const auto* table = item.as_table();
    state_->asked.try_emplace(table, Document::State::Asked{full(key), {}});
    out.push_back(Table(state_, as_void(table), full(key), line_of(*table, line_)));
  }
  return out;
}

}  // namespace ligature::config
