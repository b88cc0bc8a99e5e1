#include "config/store/tree.hpp"

#include <toml++/toml.h>
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <sstream>

#include "config/document.hpp"

namespace ligature::store {
namespace {

using Order = std::map<std::string, std::size_t>;

std::string number(double v) {
  if (std::isnan(v)) return "nan";
  if (std::isinf(v)) return v > 0 ? "inf" : "-inf";
  std::array<char, 40> buffer{};
  const auto [end, code] = std::to_chars(buffer.data(), buffer.data() + buffer.size(), v);
  std::string out(buffer.data(), code == std::errc{} ? end : buffer.data());
  if (out.find_first_of(".e") == std::string::npos) out += ".0";
  return out;
}

std::string bare_or_quoted(std::string_view key) {
  const bool bare = !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '-';
  });
  return bare ? std::string(key) : toml_string(key);
}

std::string show(const toml::node& node) {
  switch (node.type()) {
    case toml::node_type::string:
      return toml_string(node.as_string()->get());
    case toml::node_type::integer:
      return std::to_string(node.as_integer()->get());
    case toml::node_type::floating_point:
      return number(node.as_floating_point()->get());
    case toml::node_type::boolean:
      return node.as_boolean()->get() ? "true" : "false";
    case toml::node_type::array: {
      std::string out = "[";
      for (const toml::node& item : *node.as_array()) out += (out.size() > 1 ? ", " : "") + show(item);
      return out + "]";
    }
    case toml::node_type::table: {
      std::string out = "{";
      for (const auto& [key, item] : *node.as_table())
        out += (out.size() > 1 ? ", " : " ") + bare_or_quoted(key.str()) + " = " + show(item);
      return out + " }";
    }
    default: {
      std::ostringstream out;
      node.visit([&out](const auto& value) {
        if constexpr (!toml::is_table<decltype(value)> && !toml::is_array<decltype(value)>) out << value.get();
      });
      return out.str();
    }
  }
}

bool is_list(const toml::node& node) {
  const auto* array = node.as_array();
  return array && !array->empty() &&
         std::all_of(array->begin(), array->end(), [](const toml::node& item) { return item.is_table(); });
}

std::string name_of(const toml::array& list, std::size_t i) {
  const auto* table = list.get(i)->as_table();
  const auto* name = table ? table->get_as<std::string>("name") : nullptr;
  return name && !name->get().empty() ? name->get() : std::to_string(i);
}

std::optional<std::size_t> number_of(std::string_view item) {
  std::size_t n = 0;
  const auto [end, code] = std::from_chars(item.data(), item.data() + item.size(), n);
  if (code != std::errc{} || end != item.data() + item.size()) return std::nullopt;
  return n;
}

std::optional<std::size_t> find_item(const toml::array& list, std::string_view item) {
  for (std::size_t i = 0; i < list.size(); ++i)
    if (name_of(list, i) == item) return i;
  if (const auto n = number_of(item); n && *n < list.size()) return n;
  return std::nullopt;
}

/// What stands at the path; null when nothing does.
const toml::node* find(const toml::table& root, const Path& path) {
  const toml::node* node = &root;
  for (const Step& step : path) {
    const auto* table = node->as_table();
    node = table ? table->get(step.key) : nullptr;
    if (!node) return nullptr;
    if (!step.item) continue;
    if (!is_list(*node)) return nullptr;
    const auto at = find_item(*node->as_array(), *step.item);
    if (!at) return nullptr;
    node = node->as_array()->get(*at);
  }
  return node;
}

struct Entry {
  std::string key;
  const toml::node* node;
};

/// Values first, then tables, then [[tables]]: what TOML needs; inside of these as asked.
std::vector<Entry> in_order(const toml::table& table, const std::string& prefix, const Order& order) {
  std::vector<Entry> entries;
  for (const auto& [key, node] : table) entries.push_back({std::string(key.str()), &node});
  const auto rank = [&](const Entry& e) {
    const auto at = order.find(prefix.empty() ? e.key : prefix + "." + e.key);
    const int kind = e.node->is_table() ? 1 : is_list(*e.node) ? 2 : 0;
    return std::pair{kind, at == order.end() ? order.size() : at->second};
  };
  std::stable_sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) { return rank(a) < rank(b); });
  return entries;
}

std::string joined(const std::string& prefix, const std::string& key) {
  return prefix.empty() ? key : prefix + "." + key;
}

void write(const toml::table& table, const std::string& dots, const std::string& head, const Order& order,
           std::string& out) {
  for (const Entry& e : in_order(table, dots, order)) {
    const std::string below = joined(head, bare_or_quoted(e.key));
    if (const auto* inner = e.node->as_table()) {
      out += "\n[" + below + "]\n";
      write(*inner, joined(dots, e.key), below, order, out);
    } else if (is_list(*e.node)) {
      for (const toml::node& item : *e.node->as_array()) {
        out += "\n[[" + below + "]]\n";
        write(*item.as_table(), joined(dots, e.key), below, order, out);
      }
    } else {
      out += bare_or_quoted(e.key) + " = " + show(*e.node) + "\n";
    }
  }
}

void flatten(const toml::table& table, const std::string& dots, Path& at, const Order& order,
             std::vector<Tree::Line>& out) {
  for (const Entry& e : in_order(table, dots, order)) {
    at.push_back({e.key, std::nullopt});
    if (const auto* inner = e.node->as_table()) {
      flatten(*inner, joined(dots, e.key), at, order, out);
    } else if (is_list(*e.node)) {
      const auto& list = *e.node->as_array();
      for (std::size_t i = 0; i < list.size(); ++i) {
        at.back().item = name_of(list, i);
        flatten(*list.get(i)->as_table(), joined(dots, e.key), at, order, out);
      }
    } else {
      out.push_back({at, show(*e.node)});
    }
    at.pop_back();
  }
}

Order order_of(const std::vector<std::string>& keys) {
  Order order;
  for (const auto& key : keys) order.try_emplace(key, order.size());
  return order;
}

}  // namespace

struct Tree::State {
  toml::table root;
};

std::string spoken(const Path& path) {
  std::string out;
  for (const Step& step : path) {
    out += (out.empty() ? "" : " ") + step.key;
    if (step.item) out += " " + *step.item;
  }
  return out;
}

std::string dotted(const Path& path) {
  std::string out;
  for (const Step& step : path) out += (out.empty() ? "" : ".") + step.key;
  return out;
}

std::string toml_string(std::string_view text) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string out = "\"";
  for (const char c : text) {
    const auto u = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (u < 0x20 || u == 0x7f) {
      out += std::string("\\u00") + kHex[u >> 4] + kHex[u & 15];
    } else {
      out += c;
    }
  }
  return out + "\"";
}

Tree::Tree(std::unique_ptr<State> state) : state_(std::move(state)) {}
Tree::Tree(Tree&&) noexcept = default;
Tree& Tree::operator=(Tree&&) noexcept = default;
Tree::~Tree() = default;

Result<Tree> Tree::parse(std::string_view text, const std::string& file) {
  // Document looks first: it refuses with a line what the parser would choke on.
  if (auto document = config::Document::parse(text, file); !document) return unexpected(document.error());
  auto state = std::make_unique<State>();
  try {
    state->root = toml::parse(text, std::string_view(file));
  } catch (const std::exception& wrong) {
    return usage_error(file + ": " + wrong.what());
  }
  return Tree(std::move(state));
}

std::string Tree::text(const std::vector<std::string>& order) const {
  std::string out;
  write(state_->root, "", "", order_of(order), out);
  return out;
}

std::vector<Tree::Line> Tree::lines(const std::vector<std::string>& order) const {
  std::vector<Line> out;
  Path at;
  flatten(state_->root, "", at, order_of(order), out);
  return out;
}

bool Tree::has(const Path& path) const {
  return find(state_->root, path) != nullptr;
}

std::optional<std::string> Tree::value(const Path& path) const {
  const toml::node* node = find(state_->root, path);
  if (!node || node->is_table() || is_list(*node)) return std::nullopt;
  return show(*node);
}

std::vector<std::string> Tree::keys(const Path& path) const {
  const toml::node* node = find(state_->root, path);
  std::vector<std::string> out;
  if (node && node->is_table())
    for (const auto& [key, value] : *node->as_table()) out.emplace_back(key.str());
  return out;
}

std::vector<std::string> Tree::items(const Path& path) const {
  const toml::node* node = find(state_->root, path);
  std::vector<std::string> out;
  if (node && is_list(*node))
    for (std::size_t i = 0; i < node->as_array()->size(); ++i) out.push_back(name_of(*node->as_array(), i));
  return out;
}

Result<void> Tree::add_item(const Path& path) {
  toml::table* table = &state_->root;
  for (const Step& step : path) {
    toml::node* node = table->get(step.key);
    if (step.item) {
      if (!node) node = &table->insert(step.key, toml::array{}).first->second;
      auto* list = node->as_array();
      if (!list || (!list->empty() && !is_list(*list)))
        return usage_error("'" + step.key + "' holds a value, not [[" + step.key + "]] tables: delete it first");
      auto at = find_item(*list, *step.item);
      if (!at) {
        const auto n = number_of(*step.item);
        if (n && *n != list->size())
          return usage_error("'" + step.key + " " + *step.item + "' is not there, the next is " +
                             std::to_string(list->size()) + ": add them in order");
        list->push_back(toml::table{});
        at = list->size() - 1;
        if (!n) list->get(*at)->as_table()->insert("name", *step.item);
      }
      table = list->get(*at)->as_table();
    } else {
      if (!node) node = &table->insert(step.key, toml::table{}).first->second;
      table = node->as_table();
      if (!table) return usage_error("'" + step.key + "' holds a value, not a table: delete it first");
    }
  }
  return {};
}

Result<void> Tree::set(const Path& path, std::string_view value) {
  if (path.empty() || path.back().item) return usage_error("name a key to set");
  if (value.find_first_of("\r\n") != std::string_view::npos) return usage_error("a value is one line");
  const auto text = std::string("v = ") + std::string(value) + "\n";
  auto document = config::Document::parse(text, "value");
  toml::table one;
  if (document) try {
      one = toml::parse(text);
    } catch (const std::exception&) {
      one.clear();
    }
  if (!document || one.size() != 1 || !one.contains("v"))
    return usage_error("'" + std::string(value.substr(0, 60)) +
                       "' is no value: write a number, \"text\", true, false or [1, 2, 3]");
  const Path above(path.begin(), path.end() - 1);
  if (auto made = add_item(above); !made) return made;
  auto* table = const_cast<toml::node*>(find(state_->root, above))->as_table();
  if (const auto* there = table->get(path.back().key); there && (there->is_table() || is_list(*there)))
    return usage_error("'" + path.back().key + "' is a table, not a value: name a key in it");
  one.get("v")->visit([&](auto& node) { table->insert_or_assign(path.back().key, std::move(node)); });
  return {};
}

bool Tree::erase(const Path& path) {
  if (path.empty() || !has(path)) return false;
  for (Path at = path; !at.empty(); at.pop_back()) {
    auto* parent = const_cast<toml::node*>(find(state_->root, Path(at.begin(), at.end() - 1)))->as_table();
    if (at.back().item) {
      auto* list = parent->get(at.back().key)->as_array();
      list->erase(list->begin() + static_cast<std::ptrdiff_t>(*find_item(*list, *at.back().item)));
      if (list->empty()) parent->erase(at.back().key);
      break;  // an item's table may lack keys; the item itself was asked for
    }
    parent->erase(at.back().key);
    if (!parent->empty() || (at.size() > 1 && at[at.size() - 2].item)) break;
  }
  return true;
}

std::vector<std::string> changed_keys(const std::vector<Tree::Line>& before, const std::vector<Tree::Line>& after) {
  std::map<std::string, std::pair<std::string, std::string>> all;  // by place: key, value
  for (const auto& line : before) all[spoken(line.path)] = {dotted(line.path), line.value};
  std::vector<std::string> out;
  const auto note = [&out](const std::string& key) {
    if (std::find(out.begin(), out.end(), key) == out.end()) out.push_back(key);
  };
  for (const auto& line : after) {
    const auto old = all.find(spoken(line.path));
    if (old == all.end() || old->second.second != line.value) note(dotted(line.path));
    if (old != all.end()) all.erase(old);
  }
  for (const auto& [place, gone] : all) note(gone.first);
  return out;
}

std::string difference(const std::vector<Tree::Line>& before, const std::vector<Tree::Line>& after,
                       const std::string& what) {
  std::map<std::string, std::string> old_values, new_values;
  for (const auto& line : before) old_values[spoken(line.path)] = line.value;
  for (const auto& line : after) new_values[spoken(line.path)] = line.value;
  std::string out, place_shown = "\n";
  const auto add = [&](const Tree::Line& line, char sign) {
    const Path above(line.path.begin(), line.path.end() - 1);
    if (const std::string place = spoken(above); place != place_shown) {
      place_shown = place;
      out += "[" + what + (place.empty() ? "" : " ") + place + "]\n";
    }
    out += std::string(1, sign) + "  " + line.path.back().key + " = " + line.value + "\n";
  };
  for (const auto& line : before)
    if (const auto now = new_values.find(spoken(line.path)); now == new_values.end()) add(line, '-');
  for (const auto& line : after) {
    const auto old = old_values.find(spoken(line.path));
    if (old == old_values.end()) {
      add(line, '+');
    } else if (old->second != line.value) {
      add({line.path, old->second}, '-');
      add(line, '+');
    }
  }
  return out;
}

}  // namespace ligature::store
