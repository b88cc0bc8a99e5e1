#include "config/shell/shell.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "config/rig_file.hpp"
#include "config/shell/table.hpp"

namespace ligature::shell {

namespace fs = std::filesystem;
using nlohmann::json;
using store::Part;
using store::Store;
using store::Texts;
using store::Tree;
using Status = Answer::Status;

namespace {

constexpr std::size_t kMostNotices = 100;
// $1 file, $2 folder of $3. Locked, so that it is not removed as an old session meanwhile. One that runs is packed as
// far as it is written: tar's 1 says that files grew.
constexpr const char* kPack = R"(trap 'rm -f -- "$1.part"; exit 143' TERM INT
flock --shared "$2/$3" tar czf "$1.part" --warning=no-file-changed -C "$2" -- "$3"
code=$?
if [ $code -le 1 ]; then mv -- "$1.part" "$1"; else rm -f -- "$1.part"; exit $code; fi)";
constexpr std::size_t kDoors = 4096;

Answer say_ok(std::string text, const json& data = nullptr) {
  return {Status::ok, std::move(text), data.dump(-1, ' ', false, json::error_handler_t::replace), false, {}, {}};
}
Answer wrong(std::string text) {
  return {Status::error, std::move(text), "null", false, {}, {}};
}
Answer refused(std::string text) {
  return {Status::refused, std::move(text), "null", false, {}, {}};
}
Answer of_error(const Error& error) {
  return {error.kind == Error::Kind::usage ? Status::error : Status::failed, error.message, "null", false, {}, {}};
}
Answer of_view(const View& view) {
  return {Status::ok, view.text, view.json, false, {}, {}};
}
/// The same again, twice a second.
Answer repeated(std::function<View()> look) {
  Answer a = of_view(look());
  a.live = [look = std::move(look)]() -> std::optional<Answer> { return of_view(look()); };
  return a;
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string numbered(const std::string& text) {
  std::string out;
  std::size_t line = 0, at = 0;
  while (at < text.size()) {
    const auto end = std::min(text.find('\n', at), text.size() - 1);
    const std::string number = std::to_string(++line);
    out += std::string(number.size() < 4 ? 4 - number.size() : 0, ' ') + number + "  " + text.substr(at, end + 1 - at);
    at = end + 1;
  }
  return out;
}

const std::string& text_of(const Texts& texts, Part part) {
  return part == Part::profile ? texts.profile : texts.rig;
}

std::string minutes_text(std::int64_t seconds) {
  const std::int64_t s = seconds % 60;
  return std::to_string(seconds / 60) + ":" + (s < 10 ? "0" : "") + std::to_string(s);
}

json of_commit(const store::Commit& c, std::size_t back) {
  json o{{"back", back}, {"commit", c.number}, {"time", c.time}, {"user", c.user}, {"comment", c.comment}};
  if (c.confirm_min > 0) o["confirm_min"] = c.confirm_min, o["confirmed"] = c.confirmed;
  if (c.undoes > 0) o["undoes"] = c.undoes;
  return o;
}

std::string all_problems(const store::Judgement& judgement) {
  std::string out;
  for (const auto& problem : judgement.problems) out += problem.message + "\n";
  return out;
}

/// `show ?`, `?`: a question mark as the last word.
bool asks_for_help(std::string_view line) {
  const auto last = line.find_last_not_of(" \t\r");
  return last != std::string_view::npos && line[last] == '?' && (last == 0 || line[last - 1] == ' ');
}

Answer choices_text(const Suggestions& s) {
  if (s.choices.empty() && !s.complete) return wrong(s.mistake.empty() ? "nothing fits here" : s.mistake);
  std::vector<std::vector<std::string>> rows;
  json data = json::array();
  for (const Choice& c : s.choices) {
    rows.push_back({c.word, c.help});
    data.push_back({{"word", c.word}, {"help", c.help}});
  }
  if (s.complete) rows.push_back({"<Enter>", "the command as it stands"});
  return say_ok(aligned(rows), data);
}

bool printable_comment(const std::string& text) {
  return text.size() <= store::kMostComment;
}

}  // namespace

const char* name_of(Answer::Status status) {
  return status == Status::ok        ? "ok"
         : status == Status::error   ? "error"
         : status == Status::refused ? "refused"
                                     : "failed";
}

// ---------------------------------------------------------------------------------------------------------------------

Shell::Shell(Parts parts)
    : parts_(std::move(parts)),
      audit_(parts_.state, parts_.settings.limits.audit_bytes, parts_.settings.limits.audit_files, parts_.clock),
      jobs_(parts_.state / "jobs") {
  AuditEntry entry;
  entry.user = "system";
  entry.command = "start";
  entry.status = "ok";
  entry.answer = parts_.store.empty() ? "no configuration yet"
                                      : "commit " + std::to_string(parts_.store.running_commit().number) + " runs";
  audit_.write(entry);
  std::vector<std::string> mended = parts_.store.mended();
  if (const auto& back = parts_.store.went_back()) mended.push_back(back->comment);
  for (const std::string& line : mended) {
    entry.command = "mend";
    entry.answer = line;
    entry.flush = true;
    audit_.write(entry);
  }
}

const Tree& Shell::tree(Part part) {
  const Texts& now = parts_.store.candidate().texts;
  if (!trees_[0] || trees_of_ != now) {
    for (const Part p : {Part::profile, Part::rig}) {
      auto parsed = Tree::parse(text_of(now, p), name_of(p));
      if (!parsed) parsed = Tree::parse("a = 0\n", "nothing");
      trees_[static_cast<std::size_t>(p)] = std::move(*parsed);
    }
    trees_of_ = now;
  }
  return *trees_[static_cast<std::size_t>(part)];
}

const store::Schema& Shell::schema() {
  // What a loader asks for hardly depends on the values: one lesson per commit is enough.
  if (!schema_ || schema_of_ != parts_.store.running().profile) {
    schema_ = store::Schema::learn(parts_.store.running(), parts_.store.folder() / "running");
    schema_of_ = parts_.store.running().profile;
  }
  return *schema_;
}

void Shell::say(const std::string& text, std::uint64_t except) {
  if (notices_.size() < kMostNotices) notices_.push_back({0, except, text, false});
}

std::vector<Shell::Notice> Shell::take_notices() {
  return std::exchange(notices_, {});
}

void Shell::refuse(const Peer& peer, const std::string& why) {
  AuditEntry entry;
  entry.user = peer.user;
  entry.uid = static_cast<long>(peer.uid);
  entry.pid = peer.pid;
  entry.command = "connect";
  entry.status = "refused";
  entry.answer = why;
  audit_.write_refusal(entry);
}

Result<std::unique_ptr<Session>> Shell::admit(Peer peer) {
  const Limits& limit = parts_.settings.limits;
  const auto no = [&](const std::string& why) -> Result<std::unique_ptr<Session>> {
    refuse(peer, why);
    return usage_error("refused: " + why);
  };
  const double now = static_cast<double>(parts_.clock.running_s());
  if (doors_.size() > kDoors) doors_.clear();
  Bucket& bucket = doors_.try_emplace(peer.uid, Bucket{2 * limit.connections_per_s, now, peer.user}).first->second;
  bucket.tokens = std::min(2 * limit.connections_per_s, bucket.tokens + (now - bucket.at_s) * limit.connections_per_s);
  bucket.at_s = now;
  if (bucket.tokens < 1) {
    if (peer.user.empty()) peer.user = bucket.user;
    return no("too many connections a second");
  }
  bucket.tokens -= 1;

  if (peer.user.empty()) peer.user = user_name(peer.uid);
  bucket.user = peer.user;
  const auto role = parts_.roles.role_of(peer);
  if (!role) return no("user " + peer.user + " is in none of the groups that may use this shell");

  const auto of_user = static_cast<std::size_t>(
      std::count_if(sessions_.begin(), sessions_.end(), [&](const Session* s) { return s->peer().uid == peer.uid; }));
  if (of_user >= limit.sessions_per_user)
    return no("user " + peer.user + " has " + std::to_string(of_user) + " sessions already: end one");
  const std::size_t most = *role == Role::admin ? limit.sessions : limit.sessions - 2;
  if (sessions_.size() >= most) return no("all " + std::to_string(most) + " sessions are taken: try again later");

  auto session = std::make_unique<Session>(*this, ++last_session_, peer, *role);
  Answer welcome = say_ok("connected");
  write_audit(*session, "connect", welcome, false);
  return session;
}

void Shell::write_audit(const Session& session, std::string_view line, const Answer& answer, bool flush,
                        const std::string& said) {
  AuditEntry entry;
  entry.session = session.number();
  entry.user = session.peer().user;
  entry.uid = static_cast<long>(session.peer().uid);
  entry.pid = session.peer().pid;
  entry.role = name_of(session.role());
  entry.command = line;
  entry.status = name_of(answer.status);
  entry.answer = said.empty() ? first_line(answer.text) : said;
  entry.flush = flush;
  audit_.write(entry);
}

void Shell::tick() {
  for (const int number : jobs_.poll()) {
    const Job& job = *jobs_.find(number);
    const std::string text = "job " + std::to_string(number) + " (" + job.kind + "): " + name_of(job.state);
    AuditEntry entry;
    entry.user = job.user;
    entry.command = job.kind;
    entry.status = job.state == Job::State::done ? "ok" : "failed";
    entry.answer = text;
    audit_.write(entry);
    const bool loads = job.state == Job::State::done && job.kind.starts_with("calibrate");
    say(text + (loads ? ": `load calibration " + std::to_string(number) + "` takes it into the candidate" : ""));
  }
  const std::int64_t now = parts_.clock.running_s();
  if (now == last_tick_s_) return;
  last_tick_s_ = now;
  if (!parts_.store.pending()) return;
  const Texts before = parts_.store.running();
  const auto back = parts_.store.tick();
  if (!back) {
    say("the unconfirmed commit could not be taken back: " + back.error().message);
    return;
  }
  if (!*back) {
    const std::int64_t left = parts_.store.pending_s();
    if (left == 60 || left == 30 || left == 10)
      say("commit " + std::to_string(parts_.store.pending()->commit) + " goes back in " + std::to_string(left) +
          " s unless confirmed by `commit`");
    return;
  }
  const auto judgement = store::judge(parts_.store.running(), parts_.store.folder() / "running");
  std::string what = effects(before, parts_.store.running(), judgement);
  // What was not confirmed shall not go on running either.
  const bool ran = parts_.machine.session_runs();
  if (!ran || (parts_.machine.started_from() >= (*back)->undoes && !waiting().empty()))
    if (parts_.machine.restart()) what = "the session is started again";
  AuditEntry entry;
  entry.user = "system";
  entry.command = "rollback";
  entry.status = "ok";
  entry.answer = (*back)->comment;
  entry.flush = true;
  audit_.write(entry);
  say("ROLLED BACK: " + (*back)->comment + " (commit " + std::to_string((*back)->number) + ")" +
      (what.empty() ? "" : "\n" + what));
}

/// Keys that are committed and that the running session was not started with.
std::vector<std::string> Shell::waiting() const {
  const int from = parts_.machine.started_from();
  const auto& history = parts_.store.history();
  const auto at =
      std::find_if(history.begin(), history.end(), [&](const store::Commit& c) { return c.number == from; });
  if (from == 0) return {};
  if (at == history.end()) return {"everything"};
  const auto before = parts_.store.texts_back(static_cast<int>(at - history.begin()));
  std::vector<std::string> out;
  if (!before) return {"everything"};
  for (const Part part : {Part::profile, Part::rig}) {
    const auto old_tree = Tree::parse(text_of(*before, part), "old"),
               new_tree = Tree::parse(text_of(parts_.store.running(), part), "new");
    if (!old_tree || !new_tree) continue;
    for (const auto& key : store::changed_keys(old_tree->lines({}), new_tree->lines({})))
      if (!store::is_live(part, key)) out.push_back(name_of(part) + " " + key);
  }
  return out;
}

/// Puts a commit to work and tells what takes effect when. `before` ran until now.
std::string Shell::effects(const Texts& before, const Texts& after, const store::Judgement& judgement) {
  std::vector<std::string> live;
  for (const Part part : {Part::profile, Part::rig}) {
    const auto old_tree = Tree::parse(text_of(before, part), "old"),
               new_tree = Tree::parse(text_of(after, part), "new");
    if (!old_tree || !new_tree) continue;
    for (const auto& key : store::changed_keys(old_tree->lines({}), new_tree->lines({})))
      if (store::is_live(part, key)) live.push_back(name_of(part) + " " + key);
  }
  if (!parts_.machine.session_runs() || !judgement.profile || !judgement.rig)
    return "no session runs: takes effect when one starts";
  if (!live.empty() && !parts_.machine.apply(*judgement.profile, *judgement.rig))
    return "no session runs: takes effect when one starts";
  const std::vector<std::string> later = waiting();
  const auto list = [](const std::vector<std::string>& keys) {
    std::string out;
    for (std::size_t i = 0; i < keys.size() && i < 12; ++i) out += (i > 0 ? ", " : "") + keys[i];
    return out + (keys.size() > 12 ? ", and " + std::to_string(keys.size() - 12) + " more" : "");
  };
  std::string out;
  if (!live.empty()) out += "in effect now: " + list(live);
  if (!later.empty()) out += (out.empty() ? "" : "\n") + std::string("needs `restart`: ") + list(later);
  return out;
}

// ---------------------------------------------------------------------------------------------------------------------

Session::Session(Shell& shell, std::uint64_t number, Peer peer, Role role)
    : shell_(shell),
      number_(number),
      peer_(std::move(peer)),
      role_(role),
      since_(store::utc(shell.parts_.clock.wall_s())) {
  shell_.sessions_.insert(this);
}

Session::~Session() {
  shell_.sessions_.erase(this);
  if (shell_.editor_ == number_) shell_.editor_ = 0;
  shell_.write_audit(*this, "disconnect", say_ok(""), false);
}

std::string Session::prompt() const {
  Store& store = shell_.parts_.store;
  std::string state;
  if (const auto& pending = store.pending())
    state += " [confirm " + std::to_string(pending->commit) + ": " + minutes_text(store.pending_s()) + "]";
  if (store.changed()) state += " [changed]";
  return name_of(role_) + std::string("@") + shell_.parts_.host + state + (role_ == Role::viewer ? "> " : "# ");
}

std::string Session::greeting() const {
  Store& store = shell_.parts_.store;
  const auto& running = store.running_commit();
  std::string out = "Ligature. You are " + peer_.user + ", role " + name_of(role_) + ". Commit " +
                    std::to_string(running.number) + " of " + running.time + " by " + running.user + " runs; " +
                    shell_.parts_.machine.state() + ".\nType ? for help, Tab to complete.";
  if (running.undoes > 0) out += "\nROLLED BACK: " + running.comment;
  if (const auto& pending = store.pending())
    out += "\nCommit " + std::to_string(pending->commit) + " by " + pending->user + " goes back in " +
           minutes_text(store.pending_s()) + " min unless confirmed by `commit`.";
  if (store.changed())
    out += "\nThe candidate holds changes by " + store.candidate().user + " of " + store.candidate().time +
           ": see `compare`.";
  return out;
}

store::Walk Session::walk(const std::vector<std::string>& words, bool add) const {
  return shell_.schema().walk(words, shell_.tree(Part::profile), shell_.tree(Part::rig), add);
}

std::string Session::describe(const store::Walk& walk) const {
  if (!walk.value) return "";
  std::string out = shell_.schema().describe(walk.part, *walk.value);
  const auto now = shell_.tree(walk.part).value(walk.path);
  if (now)
    out += (out.empty() ? "" : "; ") + std::string("now ") + (now->size() > 60 ? now->substr(0, 60) + "..." : *now);
  return out.empty() ? "a value" : out;
}

std::vector<Choice> Session::names(std::string_view argument) const {
  std::vector<Choice> out;
  if (argument == "job") {
    for (const Job& job : shell_.jobs_.all()) out.push_back({std::to_string(job.number), job.what});
    if (out.empty()) out.push_back({"<number>", "there are no jobs"});
  } else if (argument == "session") {
    for (const Session* s : shell_.sessions_) out.push_back({std::to_string(s->number()), s->peer().user});
  } else if (argument == "recording") {
    for (const auto& name : shell_.parts_.machine.sessions()) out.push_back({name, "a session's folder"});
    if (out.empty()) out.push_back({"<name>", "there are no sessions' folders"});
  } else if (argument == "profile") {
    for (const auto& name : shell_.parts_.profiles) out.push_back({name, "shipped"});
  } else if (argument == "camera") {
    for (const char* name : {"C0", "C1", "C2", "C3"}) out.push_back({name, ""});
  } else if (argument == "instrument") {
    for (const char* name : {"left", "right"}) out.push_back({name, ""});
  } else if (argument == "control") {
    out = {{"start", "begin, or go on"},
           {"pause", "halt the scene"},
           {"cut", "cut what the closed jaws hold"},
           {"reset", "begin anew with a fresh scene"},
           {"next", "go on to the profile's next exercise"}};
  } else if (argument == "command") {
    for (const Rule& rule : rules()) {
      const std::string word(rule.pattern.substr(0, rule.pattern.find(' ')));
      const bool there = std::any_of(out.begin(), out.end(), [&](const Choice& c) { return c.word == word; });
      if (rule.least <= role_ && !there) out.push_back({word, ""});
    }
  }
  return out;
}

Suggestions Session::suggest(std::string_view line) const {
  if (line.size() > shell_.limits().line_bytes) return {};
  return shell::suggest(line, *this);
}

Answer Session::run(std::string_view line) {
  if (line.size() > shell_.limits().line_bytes) {
    const Answer a = wrong("the line has " + std::to_string(line.size()) + " bytes, must be at most " +
                           std::to_string(shell_.limits().line_bytes));
    shell_.write_audit(*this, line.substr(0, 100), a, false);
    return a;
  }
  const Reading reading = read_line(line, *this);
  if (reading.empty) return say_ok("");
  Answer answer;
  bool changes = false;
  const bool only_asked =
      reading.parsed && reading.parsed->value == std::vector<std::string>{"?"} && !reading.parsed->value_quoted;
  if ((!reading.parsed || only_asked) && asks_for_help(line)) {  // a script has no key for it
    answer = choices_text(suggest(line.substr(0, line.rfind('?'))));
  } else if (!reading.parsed) {
    answer = reading.mistake.role ? refused(reading.mistake.message) : wrong(with_caret(line, reading.mistake));
  } else {
    const Role least = reading.parsed->rule->least;
    changes = least > Role::viewer;
    if (changes && !shell_.audit_.good())
      answer = {Status::failed,
                "the audit cannot be written, so nothing may be changed: free some space",
                "null",
                false,
                {},
                {}};
    else
      answer = execute(*reading.parsed);
  }
  shell_.write_audit(*this, line, answer, changes && answer.status == Status::ok, reading.mistake.message);
  return answer;
}

/// The candidate is changed by one session at a time.
std::optional<Answer> Session::not_editor() {
  if (shell_.editor_ != 0 && shell_.editor_ != number_) {
    std::string who = "another session";
    for (const Session* s : shell_.sessions_)
      if (s->number() == shell_.editor_) who = s->peer().user;
    return refused("session " + std::to_string(shell_.editor_) + " (" + who +
                   ") changes the candidate: it ends that with commit, discard or exit, an admin with `disconnect " +
                   std::to_string(shell_.editor_) + "`");
  }
  return std::nullopt;
}

Answer Session::change(Part part, Tree tree, const std::string& key, bool refuse_own_problems) {
  Store& store = shell_.parts_.store;
  Texts texts = store.candidate().texts;
  (part == Part::profile ? texts.profile : texts.rig) = tree.text(shell_.schema().order(part));
  const auto judgement = store::judge(texts, store.folder() / "running", false);
  if (refuse_own_problems)
    for (const auto& problem : judgement.problems)
      if (problem.part == part && problem.key == key) return wrong(problem.message);
  std::string others;  // what somebody left there would be committed along
  if (shell_.editor_ == 0 && store.changed())
    others = "the candidate holds changes by " + store.candidate().user + " of " + store.candidate().time +
             " already: see `compare`, or `discard` them first\n";
  if (auto prepared = store.prepare(texts, peer_.user); !prepared) return of_error(prepared.error());
  shell_.editor_ = store.changed() ? number_ : 0;
  if (judgement.problems.empty()) return say_ok(others);
  return say_ok(others + "changed; a commit would be refused so far:\n" + all_problems(judgement));
}

Answer Session::set(const Parsed& parsed) {
  if (auto no = not_editor()) return *no;
  const store::Walk& walk = parsed.walk;
  const std::string key = store::dotted(walk.path);
  if (store::is_for_admins(walk.part, key) && role_ != Role::admin)
    return refused("'" + key + "' can make the machine misbehave: needs the role admin, yours is " + name_of(role_));
  auto tree = Tree::parse(text_of(shell_.parts_.store.candidate().texts, walk.part), name_of(walk.part));
  if (!tree) return of_error(tree.error());
  if (!walk.value) return wrong("'" + store::spoken(walk.path) + "' is no value: name a key in it");
  const std::string value = shell_.schema().as_value(*walk.value, parsed.value, parsed.value_quoted);
  if (auto done = tree->set(walk.path, value); !done) return of_error(done.error());
  return change(walk.part, std::move(*tree), key, true);
}

Answer Session::erase(const Parsed& parsed) {
  if (auto no = not_editor()) return *no;
  const store::Walk& walk = parsed.walk;
  const std::string key = store::dotted(walk.path);
  if (walk.path.empty()) return wrong("name what to delete in it");
  if (store::is_for_admins(walk.part, key) && role_ != Role::admin)
    return refused("'" + key + "' can make the machine misbehave: needs the role admin, yours is " + name_of(role_));
  auto tree = Tree::parse(text_of(shell_.parts_.store.candidate().texts, walk.part), name_of(walk.part));
  if (!tree) return of_error(tree.error());
  if (!tree->erase(walk.path)) return wrong("'" + store::spoken(walk.path) + "' is not set");
  return change(walk.part, std::move(*tree), key, false);
}

Answer Session::take(const Texts& texts, const std::string& what) {
  if (auto no = not_editor()) return *no;
  Store& store = shell_.parts_.store;
  if (auto prepared = store.prepare(texts, peer_.user); !prepared) return of_error(prepared.error());
  shell_.editor_ = store.changed() ? number_ : 0;
  return say_ok(store.changed() ? what + " is in the candidate: see `compare`, then `commit`" : what + " is what runs");
}

Answer Session::commit(const Parsed& parsed) {
  Store& store = shell_.parts_.store;
  const auto* minutes = parsed.find("minutes");
  const auto* comment = parsed.find("comment");
  if (comment && !printable_comment(comment->text))
    return wrong("the comment has " + std::to_string(comment->text.size()) + " bytes, must be at most " +
                 std::to_string(store::kMostComment));
  if (!store.changed() && store.pending() && !minutes) {
    const int number = store.pending()->commit;
    if (auto done = store.confirm(); !done) return of_error(done.error());
    shell_.say("commit " + std::to_string(number) + " was confirmed by " + peer_.user, number_);
    return say_ok("commit " + std::to_string(number) + " is confirmed", json{{"confirmed", number}});
  }
  if (auto no = not_editor()) return *no;
  if (role_ != Role::admin) {  // whoever put it there, it is this commit that makes it run
    for (const Part part : {Part::profile, Part::rig}) {
      const auto before = Tree::parse(text_of(store.running(), part), "running"),
                 after = Tree::parse(text_of(store.candidate().texts, part), "candidate");
      if (!before || !after) continue;
      for (const auto& key : store::changed_keys(before->lines({}), after->lines({})))
        if (store::is_for_admins(part, key))
          return refused("'" + key + "' is changed, which needs the role admin, yours is " + name_of(role_) +
                         ": let an admin commit, or set it back");
    }
  }
  const auto judgement = store.check();
  if (!judgement.good())
    return wrong("nothing is committed, " + std::to_string(judgement.problems.size()) +
                 (judgement.problems.size() == 1 ? " thing is" : " things are") + " wrong:\n" +
                 all_problems(judgement));
  if (auto accepted = shell_.parts_.machine.accept(*judgement.profile, *judgement.rig); !accepted)
    return wrong("nothing is committed: " + accepted.error().message);
  const Texts before = store.running();
  const auto waited = store.pending();
  std::string left;  // by a session that is gone, and nobody said so in this one
  if (shell_.editor_ == 0 && store.changed())
    left = "; it has the changes that " + store.candidate().user + " left in the candidate at " +
           store.candidate().time + ": see `compare 1`";
  auto made = store.commit(peer_.user, comment ? comment->text : "", minutes ? static_cast<int>(minutes->number) : 0);
  if (!made) return of_error(made.error());
  shell_.editor_ = 0;
  std::string text = "commit " + std::to_string(made->number) + " runs";
  if (minutes)
    text += "; it goes back in " + std::to_string(minutes->number) + " min unless confirmed by another `commit`";
  else if (waited)
    text += ", and confirms commit " + std::to_string(waited->commit);
  text += left;
  const std::string what = shell_.effects(before, store.running(), judgement);
  if (!what.empty()) text += "\n" + what;
  shell_.say("commit " + std::to_string(made->number) + " by " + peer_.user +
                 (made->comment.empty() ? "" : ": " + made->comment),
             number_);
  return say_ok(text, of_commit(*made, 0));
}

Answer Session::configuration(const Texts& texts, const Parsed& parsed, const std::string& what) const {
  const store::Walk& walk = parsed.walk;
  if (!walk.part_named) {
    const json data{{"profile", texts.profile}, {"rig", texts.rig}};
    return say_ok(
        "profile of " + what + "\n" + numbered(texts.profile) + "\nrig of " + what + "\n" + numbered(texts.rig), data);
  }
  if (walk.path.empty())
    return say_ok(numbered(text_of(texts, walk.part)), json{{name_of(walk.part), text_of(texts, walk.part)}});
  const auto tree = Tree::parse(text_of(texts, walk.part), name_of(walk.part));
  if (!tree) return of_error(tree.error());
  std::string out;
  json data = json::object();
  for (const Tree::Line& line : tree->lines(shell_.schema().order(walk.part))) {
    bool below = line.path.size() >= walk.path.size();
    for (std::size_t i = 0; below && i < walk.path.size(); ++i) {
      below = line.path[i].key == walk.path[i].key;
      if (below && walk.path[i].item) below = line.path[i].item == walk.path[i].item;
    }
    if (!below) continue;
    out += name_of(walk.part) + " " + store::spoken(line.path) + " " + line.value + "\n";
    data[store::spoken(line.path)] = line.value;
  }
  if (out.empty()) return say_ok("nothing is set there");
  return say_ok(out, data);
}

Answer Session::calibrate(const Parsed& parsed) {
  const auto text = [&parsed](const char* name) {
    const auto* given = parsed.find(name);
    return given ? given->text : std::string();
  };
  std::vector<std::string> argv{shell_.parts_.program.string(), "calibrate"};
  const auto add = [&argv](std::initializer_list<std::string> words) { argv.insert(argv.end(), words); };
  // A word that looks like an option must not become one, and folders are told before anything starts.
  for (const char* name : {"board", "folder", "images", "opening", "length"})
    if (text(name).starts_with("-"))
      return wrong("<" + std::string(name) + "> is '" + text(name) + "', must not begin with -");
  std::error_code gone;
  for (const char* name : {"folder", "images", "opening"})
    if (!text(name).empty() && !fs::is_directory(text(name), gone))
      return wrong(text(name) + ": is no folder, must hold the cameras' images: check the path");
  const auto folder = [&](const char* name) { return fs::absolute(text(name), gone).string(); };
  const std::string picture = "{}/calibration.png", rig = "{}/rig.toml";
  std::string kind, what;
  if (!text("images").empty()) {
    kind = "calibrate intrinsics";
    what = text("camera") + ", images of " + folder("images");
    add({"intrinsics", "--board", text("board"), "--camera", text("camera"), "--images", folder("images"), "--out", rig,
         "--picture", picture});
  } else if (!text("instrument").empty()) {
    kind = "calibrate instrument";
    what = text("instrument") + ", " + folder("folder");
    add({"instrument", "--instrument", text("instrument"), "--rig", rig, "--pivot", folder("folder"), "--out", rig});
    if (!text("opening").empty()) add({"--opening", folder("opening")});
  } else if (!text("length").empty()) {
    kind = "check";  // nothing to load from it
    what = folder("folder");
    add({"check", "--rig", rig, "--frames", folder("folder"), "--bar-mm", text("length")});
  } else {
    kind = "calibrate rig";
    what = folder("folder");
    add({"rig", "--board", text("board"), "--frames", folder("folder"), "--out", rig, "--picture", picture});
    if (!text("frame").empty()) add({"--origin", text("frame")});
  }
  // What the candidate knows of the rig is where it begins, what drift is told against, and what stays of the rest.
  auto started =
      shell_.jobs_.start(kind, what, peer_.user, std::move(argv), rig, shell_.parts_.store.candidate().texts.rig);
  if (!started) return of_error(started.error());
  return say_ok("job " + std::to_string(*started) + " runs: `job watch " + std::to_string(*started) + "` follows it",
                json{{"job", *started}});
}

Answer Session::load_calibration(const Parsed& parsed) {
  const Job* job = shell_.jobs_.find(std::atoi(parsed.find("job")->text.c_str()));
  if (!job) return wrong("there is no such job");
  if (!job->kind.starts_with("calibrate")) return wrong("job " + std::to_string(job->number) + " is no calibration");
  if (job->state != Job::State::done)
    return refused("job " + std::to_string(job->number) + " is " + name_of(job->state) + ", must be done");
  const auto text = config::read_file(job->result, store::kMostText);
  if (!text) return of_error(text.error());
  if (const auto rig = config::parse_rig(*text, job->result); !rig) return of_error(rig.error());
  auto tree = Tree::parse(*text, job->result);
  if (!tree) return of_error(tree.error());
  Texts texts = shell_.parts_.store.candidate().texts;
  texts.rig = tree->text(shell_.schema().order(Part::rig));
  return take(texts, "the calibration of job " + std::to_string(job->number));
}

Answer Session::export_session(const Parsed& parsed) {
  const auto all = shell_.parts_.machine.sessions();
  if (all.empty()) return wrong("there is no session's folder to export");
  const auto* given = parsed.find("recording");
  const std::string name = given ? given->text : all.back();
  if (std::find(all.begin(), all.end(), name) == all.end()) return wrong("'" + name + "' is no session's folder");
  const fs::path folder = shell_.parts_.machine.session_folder(name), exports = shell_.parts_.state / "exports";
  std::error_code gone;
  fs::create_directories(exports, gone);
  const std::string file = (exports / (name + ".tar.gz")).string();
  auto started = shell_.jobs_.start(
      "export", name + " to " + file, peer_.user,
      {"/bin/sh", "-c", kPack, "export", file, folder.parent_path().string(), folder.filename().string()}, file);
  if (!started) return of_error(started.error());
  return say_ok("job " + std::to_string(*started) + " packs " + name + " into " + file,
                json{{"job", *started}, {"file", file}});
}

Answer Session::execute(const Parsed& parsed) {
  Store& store = shell_.parts_.store;
  Machine& machine = shell_.parts_.machine;
  const bool live = parsed.rule->live;
  switch (parsed.rule->action) {
    case Action::show_status: {
      const auto& running = store.running_commit();
      std::string text = machine.state() + "\ncommit " + std::to_string(running.number) + " of " + running.time +
                         " by " + running.user + (running.comment.empty() ? "" : ": " + running.comment) + "\n";
      json data{{"session", machine.session_runs()}, {"commit", running.number}, {"changed", store.changed()}};
      if (const auto& pending = store.pending()) {
        text += "commit " + std::to_string(pending->commit) + " goes back in " + minutes_text(store.pending_s()) +
                " min unless confirmed by `commit`\n";
        data["goes_back_in_s"] = store.pending_s();
      }
      if (store.changed())
        text += "the candidate holds changes by " + store.candidate().user + " of " + store.candidate().time + "\n";
      if (const auto keys = shell_.waiting(); !keys.empty()) {
        text += "committed, but needs `restart`:";
        for (const auto& key : keys) text += " " + key + ",";
        text.back() = '\n';
        data["needs_restart"] = keys;
      }
      int busy = 0;
      for (const Job& job : shell_.jobs_.all()) busy += job.over() ? 0 : 1;
      text += std::to_string(busy) + " jobs run, " + std::to_string(shell_.sessions_.size()) + " sessions\n";
      if (!shell_.audit_.good()) text += "THE AUDIT CANNOT BE WRITTEN: nothing may be changed until it can\n";
      return say_ok(text, data);
    }
    case Action::show_cameras:
      return of_view(machine.cameras());
    case Action::show_markers:
      return live ? repeated([&machine] { return machine.markers(); }) : of_view(machine.markers());
    case Action::show_tracking:
      return live ? repeated([&machine] { return machine.tracking(); }) : of_view(machine.tracking());
    case Action::show_exercise:
      return live ? repeated([&machine] { return machine.exercise(); }) : of_view(machine.exercise());
    case Action::show_watchdog:
      return live ? repeated([&machine] { return machine.watchdog(); }) : of_view(machine.watchdog());
    case Action::show_threads:
      return of_view(machine.threads());
    case Action::show_version:
      return of_view(machine.version());
    case Action::show_configuration:
      return configuration(store.running(), parsed, "commit " + std::to_string(store.running_commit().number));
    case Action::show_candidate:
      return configuration(store.candidate().texts, parsed, "the candidate");
    case Action::show_rollback: {
      const auto texts = store.texts_back(static_cast<int>(parsed.find("back")->number));
      if (!texts) return of_error(texts.error());
      return configuration(*texts, parsed, parsed.find("back")->text + " back");
    }
    case Action::show_differences: {
      const auto* back = parsed.find("back");
      const auto texts = store.texts_back(back ? static_cast<int>(back->number) : 0);
      if (!texts) return of_error(texts.error());
      std::string out;
      for (const Part part : {Part::profile, Part::rig}) {
        const auto before = Tree::parse(text_of(*texts, part), "before"),
                   after = Tree::parse(text_of(store.candidate().texts, part), "after");
        if (!before || !after) return wrong("one of the two cannot be read");
        const auto& order = shell_.schema().order(part);
        out += store::difference(before->lines(order), after->lines(order), name_of(part));
      }
      return say_ok(out.empty() ? "nothing differs" : out, json{{"differs", !out.empty()}, {"difference", out}});
    }
    case Action::show_history: {
      std::vector<std::vector<std::string>> rows{{"back", "commit", "time", "user", "comment"}};
      json data = json::array();
      for (std::size_t i = 0; i < store.history().size(); ++i) {
        const auto& c = store.history()[i];
        std::string comment = c.comment;
        if (c.confirm_min > 0) {
          const bool waits = store.pending() && store.pending()->commit == c.number;
          comment += (comment.empty() ? "" : " ") + std::string(waits         ? "[waits for confirmation]"
                                                                : c.confirmed ? "[confirmed]"
                                                                              : "[not confirmed]");
        }
        rows.push_back({std::to_string(i), std::to_string(c.number), c.time, c.user, comment});
        data.push_back(of_commit(c, i));
      }
      return say_ok(aligned(rows), data);
    }
    case Action::show_sessions: {
      std::vector<std::vector<std::string>> rows{{"session", "user", "role", "since", ""}};
      json data = json::array();
      for (const Session* s : shell_.sessions_) {
        const bool edits = shell_.editor_ == s->number();
        rows.push_back({std::to_string(s->number()), s->peer().user, name_of(s->role()), s->since(),
                        std::string(s == this ? "you" : "") + (edits ? " changes the candidate" : "")});
        data.push_back({{"session", s->number()},
                        {"user", s->peer().user},
                        {"role", name_of(s->role())},
                        {"since", s->since()},
                        {"edits", edits}});
      }
      return say_ok(aligned(rows), data);
    }
    case Action::show_jobs: {
      std::vector<std::vector<std::string>> rows{{"job", "state", "user", "started", "what", "progress"}};
      json data = json::array();
      for (const Job& job : shell_.jobs_.all()) {
        rows.push_back({std::to_string(job.number), name_of(job.state), job.user, store::utc(job.started_s),
                        job.kind + ": " + job.what, job.over() ? "" : job.progress});
        data.push_back({{"job", job.number},
                        {"state", name_of(job.state)},
                        {"user", job.user},
                        {"kind", job.kind},
                        {"what", job.what},
                        {"exit", job.exit_code},
                        {"result", job.result.string()}});
      }
      return say_ok(rows.size() == 1 ? "there were no jobs" : aligned(rows), data);
    }
    case Action::show_job: {
      const Job* job = shell_.jobs_.find(std::atoi(parsed.find("job")->text.c_str()));
      if (!job) return wrong("there is no such job");
      std::string text = "job " + std::to_string(job->number) + ", " + job->kind + ": " + job->what + "\n" +
                         name_of(job->state) + (job->over() ? ", exit " + std::to_string(job->exit_code) : "") + "\n";
      for (const auto& line : job->lines) text += "  " + line + "\n";
      if (!job->over() && !job->progress.empty()) text += "  " + job->progress + "\n";
      return say_ok(text, json{{"job", job->number},
                               {"state", name_of(job->state)},
                               {"exit", job->exit_code},
                               {"lines", job->lines},
                               {"result", job->result.string()}});
    }
    case Action::show_log: {
      std::uint64_t next = 0;
      const auto* lines = parsed.find("lines");
      std::string text;
      const auto got = machine.log(0, lines ? static_cast<std::size_t>(lines->number) : 20, next);
      for (const auto& line : got) text += line + "\n";
      Answer a = say_ok(text.empty() && !live ? "the log is empty" : text, got);
      if (live)
        a.live = [&machine, next]() mutable -> std::optional<Answer> {
          std::string more;
          const auto fresh = machine.log(next, 200, next);
          for (const auto& line : fresh) more += line + "\n";
          return say_ok(more, fresh);
        };
      return a;
    }
    case Action::show_audit: {
      const auto* lines = parsed.find("lines");
      std::string text;
      json data = json::array();
      for (const auto& line : shell_.audit_.tail(lines ? static_cast<std::size_t>(lines->number) : 20)) {
        text += line + "\n";
        json entry = json::parse(line, nullptr, false);
        data.push_back(entry.is_discarded() ? json(line) : entry);
      }
      return say_ok(text, data);
    }
    case Action::show_exports: {
      std::string text;
      json data = json::array();
      std::error_code gone;
      for (fs::directory_iterator it(shell_.parts_.state / "exports", gone), end; !gone && it != end;
           it.increment(gone)) {
        if (it->path().extension() == ".part") continue;  // being packed
        text += it->path().string() + "\n";
        data.push_back(it->path().string());
      }
      return say_ok(text.empty() ? "nothing was exported" : text, data);
    }
    case Action::set:
      return set(parsed);
    case Action::erase:
      return erase(parsed);
    case Action::check: {
      const auto judgement = store.check();
      if (!judgement.good()) return wrong(all_problems(judgement));
      if (auto accepted = machine.accept(*judgement.profile, *judgement.rig); !accepted)
        return wrong(accepted.error().message);
      return say_ok(store.changed() ? "the candidate would be accepted" : "nothing differs from what runs");
    }
    case Action::discard: {
      if (auto no = not_editor()) return *no;
      const bool changed = store.changed();
      if (auto done = store.discard(); !done) return of_error(done.error());
      shell_.editor_ = 0;
      return say_ok(changed ? "the candidate is what runs again" : "there was nothing to discard");
    }
    case Action::commit:
      return commit(parsed);
    case Action::rollback: {
      const auto texts = store.texts_back(static_cast<int>(parsed.find("back")->number));
      if (!texts) return of_error(texts.error());
      return take(*texts, "the configuration of " + parsed.find("back")->text + " back");
    }
    case Action::load_profile: {
      const auto file = shell_.parts_.profile(parsed.find("profile")->text);
      if (!file) return of_error(file.error());
      const auto texts = store::import_profile(*file);
      if (!texts) return of_error(texts.error());
      return take(*texts, "the profile " + parsed.find("profile")->text);
    }
    case Action::load_calibration:
      return load_calibration(parsed);
    case Action::calibrate:
      return calibrate(parsed);
    case Action::job_watch: {
      const int number = std::atoi(parsed.find("job")->text.c_str());
      const Job* job = shell_.jobs_.find(number);
      if (!job) return wrong("there is no such job");
      Shell* shell = &shell_;
      const auto look = [shell, number](std::uint64_t& seen, std::string& progress) {
        std::string text;
        const Job* now = shell->jobs_.find(number);
        if (!now) return text;
        const std::uint64_t fresh = std::min<std::uint64_t>(now->lines_seen - seen, now->lines.size());
        for (std::size_t i = now->lines.size() - fresh; i < now->lines.size(); ++i) text += now->lines[i] + "\n";
        seen = now->lines_seen;
        if (!now->over() && now->progress != progress) text += (progress = now->progress) + "\n";
        return text;
      };
      std::uint64_t seen = 0;
      std::string progress;
      Answer a = say_ok(look(seen, progress));
      a.live = [shell, number, look, seen, progress]() mutable -> std::optional<Answer> {
        const Job* now = shell->jobs_.find(number);
        if (!now) return std::nullopt;
        const std::string text = look(seen, progress);
        if (!now->over() || !text.empty()) return say_ok(text);
        return std::nullopt;
      };
      a.verdict = [shell, number] {
        const Job* now = shell->jobs_.find(number);
        return now && now->over() && now->state != Job::State::done ? Status::failed : Status::ok;
      };
      return a;
    }
    case Action::job_cancel: {
      const auto done = shell_.jobs_.cancel(std::atoi(parsed.find("job")->text.c_str()));
      if (!done) return of_error(done.error());
      return say_ok("job " + parsed.find("job")->text + " is interrupted");
    }
    case Action::export_session:
      return export_session(parsed);
    case Action::control: {
      const std::string& name = parsed.find("control")->text;
      if (const auto done = machine.control(name); !done) return of_error(done.error());
      return say_ok("exercise: " + name + " asked for");
    }
    case Action::restart: {
      const std::uint64_t settled = machine.settled();
      const auto done = machine.restart();
      if (!done) return of_error(done.error());
      shell_.say("the session is started again by " + peer_.user, number_);
      Answer a =
          say_ok("the session ends and starts again from commit " + std::to_string(store.running_commit().number));
      constexpr int kLooks = 120;  // a minute
      a.live = [&machine, settled, looks = 0]() mutable -> std::optional<Answer> {
        if (looks > kLooks) return std::nullopt;
        if (++looks < kLooks && machine.settled() == settled) return say_ok("");
        looks = kLooks + 1;
        return say_ok(machine.state());
      };
      return a;
    }
    case Action::disconnect: {
      const std::uint64_t number = std::strtoull(parsed.find("session")->text.c_str(), nullptr, 10);
      const bool there = std::any_of(shell_.sessions_.begin(), shell_.sessions_.end(),
                                     [&](const Session* s) { return s->number() == number; });
      if (!there) return wrong("there is no such session");
      shell_.notices_.push_back({number, 0, "this session was ended by " + peer_.user, true});
      return say_ok("session " + std::to_string(number) + " is ended");
    }
    case Action::help: {
      const auto* word = parsed.find("command");
      return say_ok(help_text(role_, word ? word->text : ""));
    }
    case Action::exit: {
      Answer a = say_ok(store.changed() ? "the candidate keeps its changes" : "");
      a.leave = true;
      return a;
    }
  }
  return wrong("not known");
}

}  // namespace ligature::shell
