// The file of one contact problem: a line of words that say what follows, then the numbers, blank-separated.
//
//   ligature cone problem 1
//   contacts 2
//   mu        one line of m numbers
//   q         m lines of three
//   warm      m lines of three
//   w         3m lines of 3m
//   end
#include <charconv>
#include <cmath>
#include <limits>
#include <string>
#include <string_view>

#include "sim/contact/cone_problem.hpp"

namespace ligature::contact {
namespace {

constexpr std::string_view kTitle = "ligature cone problem 1";
constexpr std::size_t kMostContacts = 2048;  // whose W has 300 MB

void print_number(std::string& out, double x) {
  char digits[40];
  char* end = digits;
  if (std::isnan(x)) {
    out += "nan";
    return;
  }
  if (std::isinf(x)) {
    out += x < 0 ? "-inf" : "inf";
    return;
  }
  if (std::signbit(x)) *end++ = '-';
  *end++ = '0', *end++ = 'x';
  const std::to_chars_result written = std::to_chars(end, digits + sizeof digits, std::abs(x), std::chars_format::hex);
  out.append(digits, written.ptr);
}

void print_row(std::string& out, const double* x, std::size_t n) {
  for (std::size_t j = 0; j < n; ++j) {
    if (j > 0) out += ' ';
    print_number(out, x[j]);
  }
  out += '\n';
}

/// Line after line, word after word; blank lines and what follows a # do not count.
class Reader {
 public:
  explicit Reader(std::string_view text) : rest_(text) {}

  /// @returns false at the end
  bool next_line() {
    while (!rest_.empty()) {
      const std::size_t end = rest_.find('\n');
      words_ = rest_.substr(0, end);
      rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
      ++number_;
      words_ = words_.substr(0, words_.find('#'));
      while (!words_.empty() && blank(words_.back())) words_.remove_suffix(1);
      if (!words_.empty()) return true;
    }
    ++number_;
    return false;
  }
  std::string_view line() const { return words_; }
  std::string_view word() {
    while (!words_.empty() && blank(words_.front())) words_.remove_prefix(1);
    std::size_t n = 0;
    while (n < words_.size() && !blank(words_[n])) ++n;
    const std::string_view w = words_.substr(0, n);
    words_.remove_prefix(n);
    return w;
  }
  Unexpected wrong(const std::string& what) const {
    return usage_error("line " + std::to_string(number_) + ": " + what);
  }

 private:
  static bool blank(char c) { return c == ' ' || c == '\t' || c == '\r'; }
  std::string_view rest_, words_;
  std::size_t number_ = 0;
};

std::string quoted(std::string_view word) {
  std::string out(1, '\'');
  out.append(word.substr(0, 40));
  return out += '\'';
}

/// Decimal or hexadecimal (0x1.8p-3), any case of the letters that from_chars takes.
bool parse_number(std::string_view word, double& x) {
  bool negative = false;
  if (!word.empty() && (word.front() == '-' || word.front() == '+')) {
    negative = word.front() == '-';
    word.remove_prefix(1);
  }
  std::chars_format format = std::chars_format::general;
  if (word.size() > 2 && word[0] == '0' && (word[1] == 'x' || word[1] == 'X')) {
    format = std::chars_format::hex;
    word.remove_prefix(2);
  }
  if (word.empty() || word.front() == '-') return false;
  const std::from_chars_result read = std::from_chars(word.data(), word.data() + word.size(), x, format);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size()) return false;
  if (negative) x = -x;
  return true;
}

/// `rows` lines of `columns` numbers each, after a line that says `name`.
Result<void> read_block(Reader& in, std::string_view name, std::size_t rows, std::size_t columns,
                        std::vector<double>& out) {
  if (!in.next_line() || in.line() != name)
    return in.wrong("expected the word '" + std::string(name) + "' alone, found " + quoted(in.line()));
  for (std::size_t i = 0; i < rows; ++i) {
    if (!in.next_line())
      return in.wrong("the file ends in '" + std::string(name) + "', where row " + std::to_string(i + 1) + " of " +
                      std::to_string(rows) + " should stand");
    for (std::size_t j = 0; j < columns; ++j) {
      const std::string_view word = in.word();
      double x = 0;
      if (word.empty())
        return in.wrong("row " + std::to_string(i + 1) + " of '" + std::string(name) + "' has " + std::to_string(j) +
                        " numbers, must have " + std::to_string(columns));
      if (!parse_number(word, x)) return in.wrong(quoted(word) + " is not a number that fits a double");
      out.push_back(x);
    }
    if (const std::string_view more = in.word(); !more.empty())
      return in.wrong("row " + std::to_string(i + 1) + " of '" + std::string(name) + "' has more than " +
                      std::to_string(columns) + " numbers: " + quoted(more));
  }
  return {};
}

}  // namespace

ConeProblem StoredConeProblem::view() const {
  return {mu.size(), w.data(), 3 * mu.size(), q.data(), mu.data()};
}

Result<StoredConeProblem> parse_cone_problem(const std::string& text) {
  Reader in(text);
  if (!in.next_line() || in.line() != kTitle)
    return in.wrong("not a contact problem: the first line must be '" + std::string(kTitle) + "'");
  if (!in.next_line() || in.word() != "contacts") return in.wrong("expected 'contacts N'");
  const std::string_view word = in.word();
  std::size_t m = 0;
  const std::from_chars_result read = std::from_chars(word.data(), word.data() + word.size(), m);
  if (read.ec != std::errc() || read.ptr != word.data() + word.size() || m > kMostContacts || !in.word().empty())
    return in.wrong("contacts is " + quoted(word) + ", must be 0.." + std::to_string(kMostContacts));
  StoredConeProblem problem;
  if (Result<void> part = read_block(in, "mu", m == 0 ? 0 : 1, m, problem.mu); !part) return unexpected(part.error());
  if (Result<void> part = read_block(in, "q", m, 3, problem.q); !part) return unexpected(part.error());
  if (Result<void> part = read_block(in, "warm", m, 3, problem.warm); !part) return unexpected(part.error());
  if (Result<void> part = read_block(in, "w", 3 * m, 3 * m, problem.w); !part) return unexpected(part.error());
  if (!in.next_line() || in.line() != "end") return in.wrong("expected the word 'end', found " + quoted(in.line()));
  if (in.next_line()) return in.wrong("expected the end of the file, found " + quoted(in.line()));
  return problem;
}

std::string print_cone_problem(const ConeProblem& problem, const double* warm) {
  const std::size_t m = problem.count;
  std::string out(kTitle);
  out += "\ncontacts " + std::to_string(m) + "\nmu\n";
  if (m > 0) print_row(out, problem.mu, m);
  out += "q\n";
  for (std::size_t i = 0; i < m; ++i) print_row(out, problem.q + 3 * i, 3);
  out += "warm\n";
  const double none[3] = {0, 0, 0};
  for (std::size_t i = 0; i < m; ++i) print_row(out, warm != nullptr ? warm + 3 * i : none, 3);
  out += "w\n";
  for (std::size_t j = 0; j < 3 * m; ++j) print_row(out, problem.w + j * problem.stride, 3 * m);
  out += "end\n";
  return out;
}

}  // namespace ligature::contact
