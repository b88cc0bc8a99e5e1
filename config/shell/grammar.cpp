#include "config/shell/grammar.hpp"

#include <algorithm>
#include <array>
#include <charconv>

namespace ligature::shell {
namespace {

using Kind = Argument::Kind;

constexpr std::array kArguments{
    Argument{"back", Kind::number, "commits back; 0 is what runs", 0, 49},
    Argument{"lines", Kind::number, "so many of the last lines", 1, 1000},
    Argument{"minutes", Kind::number, "until it goes back by itself", 1, 1440},
    Argument{"comment", Kind::text, "why, to the end of the line"},
    Argument{"job", Kind::name, "its number"},
    Argument{"session", Kind::name, "its number"},
    Argument{"recording", Kind::name, "a session's folder"},
    Argument{"control", Kind::name, "what is asked of it"},
    Argument{"profile", Kind::name, "a shipped profile"},
    Argument{"camera", Kind::name, "C0, C1, C2 or C3"},
    Argument{"board", Kind::name, "checkerboard:COLSxROWS:SQUAREmm or charuco:COLSxROWS:SQUAREmm:MARKERmm[:DICT]"},
    Argument{"images", Kind::name, "a folder of the board's images"},
    Argument{"folder", Kind::name, "a folder with C0..C3"},
    Argument{"instrument", Kind::name, "left or right"},
    Argument{"opening", Kind::name, "a folder with C0..C3: opened and closed"},
    Argument{"length", Kind::name, "mm between the centres of the bar's balls"},
    Argument{"frame", Kind::number, "in it the board lies flat on the floor", 0, 999999},
    Argument{"command", Kind::name, "its first word"},
    Argument{"path", Kind::path, "a key of the configuration"},
    Argument{"value", Kind::value, "what it shall be"},
};

const Argument& argument(std::string_view name) {
  return *std::find_if(kArguments.begin(), kArguments.end(), [&](const Argument& a) { return a.name == name; });
}

/// Explanations of words that are no command by themselves.
std::string_view word_help(std::string_view word) {
  struct Line {
    std::string_view word, help;
  };
  static constexpr std::array kLines{
      Line{"show", "look at something"},
      Line{"commit", "make the candidate what runs"},
      Line{"comment", "say why; kept in the history"},
      Line{"confirmed", "goes back by itself unless confirmed by another commit"},
      Line{"calibrate", "a calibration as a job in the background"},
      Line{"job", "work in the background"},
      Line{"exercise", "the trainee's exercise"},
      Line{"export", "pack something to be carried away"},
      Line{"load", "take a whole into the candidate"},
      Line{"board", "the calibration board"},
      Line{"camera", "which camera"},
      Line{"images", "where its images are"},
      Line{"frames", "where the images of all cameras are"},
      Line{"origin", "the frame that defines the floor"},
      Line{"intrinsics", "how one camera sees"},
      Line{"rig", "where the cameras are"},
      Line{"instrument", "where a forceps' markers are"},
      Line{"pivot", "a recording: turned about the closed tip in a divot"},
      Line{"opening", "a recording: opened and closed"},
      Line{"bar", "its known length"},
      Line{"live", "go on showing it"},
  };
  const auto at = std::find_if(kLines.begin(), kLines.end(), [&](const Line& l) { return l.word == word; });
  return at == kLines.end() ? std::string_view() : at->help;
}

struct Piece {  // of a pattern
  std::string_view text;
  const Argument* argument = nullptr;
};

std::vector<Piece> pieces_of(std::string_view pattern) {
  std::vector<Piece> out;
  std::size_t at = 0;
  while (at < pattern.size()) {
    const auto end = std::min(pattern.find(' ', at), pattern.size());
    const std::string_view word = pattern.substr(at, end - at);
    if (word.front() == '<')
      out.push_back({word, &argument(word.substr(1, word.size() - 2))});
    else
      out.push_back({word, nullptr});
    at = end + 1;
  }
  return out;
}

struct Compiled {
  const Rule* rule;
  std::vector<Piece> pieces;
};

const std::vector<Compiled>& compiled() {
  static const std::vector<Compiled> all = [] {
    std::vector<Compiled> out;
    for (const Rule& rule : rules()) out.push_back({&rule, pieces_of(rule.pattern)});
    return out;
  }();
  return all;
}

struct Word {
  std::string text;
  std::size_t begin = 0, end = 0;
  bool quoted = false;
};

/// Words between blanks; "..." holds blanks, \" and \\ in it. Nothing: a quote is open (from mistake.column on).
std::optional<std::vector<Word>> words_of(std::string_view line, Mistake& mistake) {
  std::vector<Word> out;
  std::size_t i = 0;
  while (i < line.size()) {
    if (line[i] == ' ' || line[i] == '\t') {
      ++i;
      continue;
    }
    Word w;
    w.begin = i;
    while (i < line.size() && line[i] != ' ' && line[i] != '\t') {
      if (line[i] != '"') {
        w.text += line[i++];
        continue;
      }
      const std::size_t open = i++;
      w.quoted = true;
      while (i < line.size() && line[i] != '"') {
        if (line[i] == '\\' && i + 1 < line.size() && (line[i + 1] == '"' || line[i + 1] == '\\')) ++i;
        w.text += line[i++];
      }
      if (i == line.size()) {
        mistake = {open, "the quote is not closed: end it with \""};
        return std::nullopt;
      }
      ++i;
    }
    w.end = i;
    out.push_back(std::move(w));
  }
  return out;
}

std::string not_printable(std::string_view line, std::size_t& column) {
  for (std::size_t i = 0; i < line.size();) {
    const auto lead = static_cast<unsigned char>(line[i]);
    column = i;
    if ((lead < 0x20 && lead != '\t') || lead == 0x7f) return "a control character";
    const std::size_t more = lead < 0x80                    ? 0
                             : lead >= 0xc2 && lead <= 0xdf ? 1
                             : lead >= 0xe0 && lead <= 0xef ? 2
                             : lead >= 0xf0 && lead <= 0xf4 ? 3
                                                            : 4;
    if (more == 4 || i + more >= line.size()) return "a byte that is not UTF-8";
    for (std::size_t k = 1; k <= more; ++k)
      if ((static_cast<unsigned char>(line[i + k]) & 0xc0) != 0x80) return "a byte that is not UTF-8";
    i += more + 1;
  }
  return "";
}

std::string listed(const std::vector<std::string>& words) {
  std::string out;
  for (const auto& w : words) out += (out.empty() ? "" : " | ") + w;
  return out;
}

/// The rules that the words so far leave, and what these words gave.
struct Narrowed {
  std::vector<const Compiled*> left;
  std::size_t depth = 0;  ///< pieces used
  Parsed parsed;
  bool in_path = false;   ///< the path may go on
  bool in_value = false;  ///< the path is whole, its value comes
  bool in_text = false;
  std::optional<Mistake> mistake;
};

bool path_adds(const std::vector<const Compiled*>& left) {
  return std::any_of(left.begin(), left.end(), [](const Compiled* c) { return c->rule->action == Action::set; });
}

Narrowed narrow(std::string_view line, const std::vector<Word>& words, const Context& context) {
  Narrowed n;
  for (const Compiled& c : compiled()) n.left.push_back(&c);
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Word& word = words[i];
    // keywords first
    std::vector<std::string> keywords, fits;
    std::vector<const Compiled*> with_argument;
    for (const Compiled* c : n.left) {
      if (n.depth >= c->pieces.size()) continue;
      const Piece& piece = c->pieces[n.depth];
      if (piece.argument) {
        with_argument.push_back(c);
        continue;
      }
      const std::string k(piece.text);
      if (std::find(keywords.begin(), keywords.end(), k) == keywords.end()) keywords.push_back(k);
    }
    std::string chosen;
    if (!word.quoted)
      for (const auto& k : keywords) {
        if (k == word.text) chosen = k;
        if (!word.text.empty() && k.starts_with(word.text)) fits.push_back(k);
      }
    if (chosen.empty() && fits.size() == 1) chosen = fits.front();
    if (!chosen.empty()) {
      std::erase_if(n.left, [&](const Compiled* c) {
        return n.depth >= c->pieces.size() || c->pieces[n.depth].argument || c->pieces[n.depth].text != chosen;
      });
      ++n.depth;
      continue;
    }
    if (with_argument.empty()) {
      if (fits.size() > 1)
        n.mistake = Mistake{word.begin, "'" + word.text + "' is ambiguous: " + listed(fits)};
      else if (keywords.empty())
        n.mistake = Mistake{word.begin, "nothing may follow here"};
      else
        n.mistake =
            Mistake{word.begin, "'" + word.text.substr(0, 60) + "' is unknown here, must be " + listed(keywords)};
      return n;
    }
    n.left = with_argument;
    const Argument& a = *n.left.front()->pieces[n.depth].argument;
    ++n.depth;
    switch (a.kind) {
      case Kind::number: {
        long value = 0;
        const auto [end, code] = std::from_chars(word.text.data(), word.text.data() + word.text.size(), value);
        if (code != std::errc{} || end != word.text.data() + word.text.size() || value < a.low || value > a.high) {
          n.mistake =
              Mistake{word.begin, "<" + std::string(a.name) + "> is '" + word.text.substr(0, 60) + "', must be " +
                                      std::to_string(a.low) + ".." + std::to_string(a.high) +
                                      (keywords.empty() ? "" : " or " + listed(keywords)) + ": " + std::string(a.help)};
          return n;
        }
        n.parsed.given.push_back({a.name, word.text, value});
        break;
      }
      case Kind::name: {
        const auto names = context.names(a.name);
        std::string name = word.text;
        if (!names.empty()) {
          std::vector<std::string> near;
          bool exact = false;
          for (const Choice& c : names) {
            if (c.word == word.text) exact = true;
            if (!word.text.empty() && c.word.starts_with(word.text) && c.word.front() != '<') near.push_back(c.word);
          }
          const bool open = std::any_of(names.begin(), names.end(), [](const Choice& c) { return c.word[0] == '<'; });
          if (!exact && near.size() == 1) {
            name = near.front();
          } else if (!exact && !open) {
            std::vector<std::string> all;
            for (const Choice& c : names) all.push_back(c.word);
            n.mistake = Mistake{word.begin, "<" + std::string(a.name) + "> is '" + word.text.substr(0, 60) +
                                                "', must be " + listed(near.size() > 1 ? near : all)};
            return n;
          }
        }
        n.parsed.given.push_back({a.name, name, 0});
        break;
      }
      case Kind::text: {
        const bool whole = words.size() == i + 1 && word.quoted;
        const std::string text =
            whole ? word.text : std::string(line.substr(word.begin, words.back().end - word.begin));
        n.parsed.given.push_back({a.name, text, 0});
        n.in_text = true;
        return n;
      }
      case Kind::path: {
        std::vector<std::string> rest;
        for (std::size_t k = i; k < words.size(); ++k) rest.push_back(words[k].text);
        n.parsed.walk = context.walk(rest, path_adds(n.left));
        const store::Walk& walk = n.parsed.walk;
        if (!walk.error.empty()) {
          n.mistake = Mistake{words[i + walk.used].begin, walk.error};
          return n;
        }
        i += walk.used;
        n.in_path = !walk.value;
        const bool wants_value =
            std::any_of(n.left.begin(), n.left.end(), [&](const Compiled* c) { return n.depth < c->pieces.size(); });
        if (i < words.size() && !wants_value) {
          n.mistake = Mistake{words[i].begin, "nothing may follow here"};
          return n;
        }
        if (walk.value && wants_value) {
          n.in_value = true;
          n.parsed.value_column = i < words.size() ? words[i].begin : line.size();
          if (i < words.size()) ++n.depth;
          for (; i < words.size(); ++i) {
            n.parsed.value.push_back(words[i].text);
            n.parsed.value_quoted = n.parsed.value_quoted || words[i].quoted;
          }
        }
        return n;
      }
      case Kind::value:
        break;  // comes with its path
    }
  }
  return n;
}

}  // namespace

const std::vector<Rule>& rules() {
  using enum Action;
  constexpr Role V = Role::viewer, S = Role::service, A = Role::admin;
  static const std::vector<Rule> all{
      {show_status, V, "show status", "session, configuration, jobs in a few lines"},
      {show_cameras, V, "show cameras", "images and gaps of each camera"},
      {show_markers, V, "show markers", "what each camera sees of the six markers"},
      {show_markers, V, "show markers live", "twice a second, until stopped", true},
      {show_tracking, V, "show tracking", "where both forceps are, and how well that is known"},
      {show_tracking, V, "show tracking live", "twice a second, until stopped", true},
      {show_exercise, V, "show exercise", "what the trainee has done, step by step, and the mistakes"},
      {show_exercise, V, "show exercise live", "twice a second, until stopped", true},
      {show_watchdog, V, "show watchdog", "every thread against its deadline, causes of misses"},
      {show_watchdog, V, "show watchdog live", "twice a second, until stopped", true},
      {show_threads, V, "show threads", "what the machine granted each thread"},
      {show_version, V, "show version", "commit, compiler, libraries"},
      {show_configuration, V, "show configuration", "what runs, with the lines that messages name"},
      {show_configuration, V, "show configuration <path>", "a part of it"},
      {show_candidate, V, "show candidate", "what is prepared"},
      {show_candidate, V, "show candidate <path>", "a part of it"},
      {show_rollback, V, "show rollback <back>", "an earlier commit's configuration"},
      {show_differences, V, "show differences", "candidate against what runs"},
      {show_differences, V, "show differences <back>", "candidate against an earlier commit"},
      {show_history, V, "show history", "commits: who, when, why"},
      {show_sessions, V, "show sessions", "who is connected"},
      {show_jobs, V, "show jobs", "work in the background"},
      {show_job, V, "show job <job>", "what it said"},
      {show_log, V, "show log", "the last 20 lines"},
      {show_log, V, "show log <lines>", "the last lines"},
      {show_log, V, "show log live", "as they come, until stopped", true},
      {show_audit, A, "show audit", "the last 20 lines of who did what"},
      {show_audit, A, "show audit <lines>", "the last lines"},
      {show_exports, V, "show exports", "what was packed to be carried away"},
      {set, S, "set <path> <value>", "change the candidate"},
      {erase, S, "delete <path>", "remove a key, a table or an item from the candidate"},
      {show_differences, V, "compare", "candidate against what runs"},
      {show_differences, V, "compare <back>", "candidate against an earlier commit"},
      {check, S, "commit check", "would the candidate be accepted?"},
      {discard, S, "discard", "forget the candidate's changes"},
      {commit, S, "commit", "make the candidate what runs; or confirm the last commit"},
      {commit, S, "commit comment <comment>", "the same, and say why"},
      {commit, S, "commit confirmed <minutes>", "goes back by itself unless confirmed in time"},
      {commit, S, "commit confirmed <minutes> comment <comment>", "the same, and say why"},
      {rollback, S, "rollback <back>", "take an earlier commit into the candidate"},
      {load_profile, S, "load profile <profile>", "take a shipped profile, with its rig, into the candidate"},
      {load_calibration, S, "load calibration <job>", "take a calibration's result into the candidate"},
      {calibrate, S, "calibrate intrinsics <camera> board <board> images <images>", "how one camera sees"},
      {calibrate, S, "calibrate rig board <board> frames <folder>", "where the cameras are"},
      {calibrate, S, "calibrate rig board <board> frames <folder> origin <frame>", "and where the floor is"},
      {calibrate, S, "calibrate instrument <instrument> pivot <folder>", "where its markers are, turned in a divot"},
      {calibrate, S, "calibrate instrument <instrument> pivot <folder> opening <opening>", "and how it opens"},
      {calibrate, S, "calibrate check frames <folder> bar <length>", "the daily check: pass, note, alert or fail"},
      {job_watch, V, "job watch <job>", "follow what it says, until it is over or stopped", true},
      {job_cancel, S, "job cancel <job>", "interrupt it"},
      {export_session, S, "export session", "pack the newest session's files, as a job"},
      {export_session, S, "export session <recording>", "pack that session's files, as a job"},
      {control, S, "exercise <control>", "as from the trainee's own keys"},
      {restart, S, "restart", "end the session and start it from what is committed"},
      {disconnect, A, "disconnect <session>", "end somebody's session"},
      {help, V, "help", "all commands"},
      {help, V, "help <command>", "those that begin so"},
      {Action::exit, V, "exit", "leave"},
      {Action::exit, V, "quit", "leave"},
  };
  return all;
}

const Parsed::Given* Parsed::find(std::string_view name) const {
  const auto at = std::find_if(given.begin(), given.end(), [&](const Given& g) { return g.name == name; });
  return at == given.end() ? nullptr : &*at;
}

std::string with_caret(std::string_view line, const Mistake& mistake) {
  std::string shown;
  std::size_t column = 0, bytes = 0;
  for (const char c : line) {
    const auto u = static_cast<unsigned char>(c);
    const bool follows = (u & 0xc0) == 0x80;
    if (bytes < mistake.column && !follows) ++column;
    ++bytes;
    shown += u < 0x20 || u == 0x7f ? ' ' : c;
  }
  constexpr std::size_t kWidest = 200;
  if (shown.size() > kWidest || column > kWidest) return mistake.message;
  return shown + "\n" + std::string(column, ' ') + "^\n" + mistake.message;
}

Reading read_line(std::string_view line, const Context& context) {
  Reading r;
  if (const std::string what = not_printable(line, r.mistake.column); !what.empty()) {
    r.mistake.message = "the line holds " + what + ": type plain text";
    return r;
  }
  const auto words = words_of(line, r.mistake);
  if (!words) return r;
  if (words->empty() || words->front().text.starts_with("#")) {
    r.empty = true;
    return r;
  }
  Narrowed n = narrow(line, *words, context);
  const auto above = [&](const Compiled* c) { return context.role() < c->rule->least; };
  if (n.depth > 0 && !n.left.empty() && std::all_of(n.left.begin(), n.left.end(), above)) {
    r.mistake = {
        words->front().begin,
        "needs the role " + std::string(name_of(n.left.front()->rule->least)) + ", yours is " + name_of(context.role()),
        true};
    return r;
  }
  if (n.mistake) {
    r.mistake = *n.mistake;
    return r;
  }
  for (const Compiled* c : n.left)
    if (c->pieces.size() == n.depth && !(n.in_path && n.parsed.walk.list && c->rule->action == Action::set)) {
      if (context.role() < c->rule->least) {
        r.mistake = {words->front().begin,
                     "needs the role " + std::string(name_of(c->rule->least)) + ", yours is " + name_of(context.role()),
                     true};
        return r;
      }
      n.parsed.rule = c->rule;
      r.parsed = std::move(n.parsed);
      return r;
    }
  std::vector<std::string> next;
  for (const Compiled* c : n.left)
    if (n.depth < c->pieces.size()) {
      const std::string text(c->pieces[n.depth].text);
      if (std::find(next.begin(), next.end(), text) == next.end()) next.push_back(text);
    }
  r.mistake = {line.size(), n.in_path    ? "the key is not complete: type ? for what follows"
                            : n.in_value ? "a value is missing: " + context.describe(n.parsed.walk)
                                         : "the command is not complete, must go on with " + listed(next)};
  return r;
}

Suggestions suggest(std::string_view line, const Context& context) {
  Suggestions s;
  std::size_t column = 0;
  Mistake mistake;
  if (const std::string what = not_printable(line, column); !what.empty()) {
    s.mistake = "the line holds " + what;
    return s;
  }
  const bool fresh = line.empty() || line.back() == ' ' || line.back() == '\t';
  auto words = words_of(line, mistake);
  if (!words) {  // inside an open quote: nothing to say
    s.from = mistake.column;
    return s;
  }
  std::string part;
  s.from = line.size();
  if (!fresh && !words->empty()) {
    part = words->back().text;
    s.from = words->back().begin;
    words->pop_back();
  }
  const Narrowed n = narrow(line, *words, context);
  if (n.mistake) {
    s.mistake = n.mistake->message;
    return s;
  }
  const auto add = [&](const std::string& word, std::string_view help) {
    const bool fits = word.front() == '<' || word.starts_with(part);
    const bool there = std::any_of(s.choices.begin(), s.choices.end(), [&](const Choice& c) { return c.word == word; });
    if (fits && !there) s.choices.push_back({word, std::string(help)});
  };
  const auto add_walk = [&](const store::Walk& walk) {
    for (const Choice& c : walk.choices) add(c.word, c.help);
  };
  if (n.in_text) {
    add("<text>", "to the end of the line");
    s.complete = true;
    return s;
  }
  if (n.in_value) {
    add_walk(n.parsed.walk);
    add("<value>", context.describe(n.parsed.walk));
    s.complete = !n.parsed.value.empty();
    return s;
  }
  if (n.in_path) {
    add_walk(n.parsed.walk);
    const bool needs_value = path_adds(n.left);
    s.complete = !needs_value && fresh;
    return s;
  }
  for (const Compiled* c : n.left) {
    if (context.role() < c->rule->least) continue;
    if (n.depth == c->pieces.size()) {
      s.complete = s.complete || fresh;
      continue;
    }
    if (n.depth > c->pieces.size()) continue;
    const Piece& piece = c->pieces[n.depth];
    if (!piece.argument) {
      const bool last = n.depth + 1 == c->pieces.size();
      const std::string_view own = word_help(piece.text);
      add(std::string(piece.text), last && own.empty() ? c->rule->help : own.empty() ? c->rule->help : own);
      continue;
    }
    const Argument& a = *piece.argument;
    if (a.kind == Kind::path) {
      add_walk(context.walk({}, c->rule->action == Action::set));
    } else if (a.kind == Kind::number) {
      add("<" + std::to_string(a.low) + ".." + std::to_string(a.high) + ">", a.help);
    } else if (a.kind == Kind::name) {
      const auto names = context.names(a.name);
      for (const Choice& name : names) add(name.word, name.help);
      if (names.empty()) add("<" + std::string(a.name) + ">", a.help);
    } else {
      add("<" + std::string(a.name) + ">", a.help);
    }
  }
  return s;
}

std::string help_text(Role role, std::string_view word) {
  std::string out;
  std::size_t widest = 0;
  for (const Rule& rule : rules())
    if (rule.least <= role && rule.pattern.starts_with(word)) widest = std::max(widest, rule.pattern.size());
  widest = std::min<std::size_t>(widest, 48);
  for (const Rule& rule : rules()) {
    if (rule.least > role || !rule.pattern.starts_with(word)) continue;
    std::string line(rule.pattern);
    if (line.size() > widest)
      line += "\n" + std::string(widest, ' ');
    else
      line.resize(widest, ' ');
    out += line + "  " + std::string(rule.help) + "\n";
  }
  return out;
}

}  // namespace ligature::shell
