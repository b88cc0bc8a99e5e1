#include "config/store/store.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>

#include "config/atomic_file.hpp"

namespace ligature::store {

namespace fs = std::filesystem;
using nlohmann::json;

std::int64_t Clock::wall_s() const {
  timespec t{};
  clock_gettime(CLOCK_REALTIME, &t);
  return t.tv_sec;
}

std::int64_t Clock::running_s() const {
  timespec t{};
  clock_gettime(CLOCK_BOOTTIME, &t);
  return t.tv_sec;
}

std::string Clock::boot() const {
  const auto id = config::read_file("/proc/sys/kernel/random/boot_id", 100);
  return id ? id->substr(0, id->find('\n')) : std::string("unknown");
}

std::string utc(std::int64_t wall_s) {
  const auto seconds = static_cast<std::time_t>(wall_s);
  std::tm t{};
  gmtime_r(&seconds, &t);
  std::array<char, 32> out{};
  std::strftime(out.data(), out.size(), "%Y-%m-%dT%H:%M:%SZ", &t);
  return out.data();
}

namespace {

Unexpected disk_error(const fs::path& path, const std::string& what) {
  return failure(path.string() + ": cannot " + what + " (" + std::strerror(errno) +
                 "), the configuration is unchanged: look at the disk and the folder's permissions");
}

bool flush_folder(const fs::path& folder) {
  const int fd = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return false;
  const bool good = ::fsync(fd) == 0;
  ::close(fd);
  return good;
}

/// A file that nobody sees yet, flushed.
bool write_fresh(const fs::path& path, const std::string& content) {
  const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (fd < 0) return false;
  std::size_t done = 0;
  bool good = true;
  while (good && done < content.size()) {
    const ssize_t n = ::write(fd, content.data() + done, content.size() - done);
    if (n < 0 && errno == EINTR) continue;
    good = n > 0;
    if (good) done += static_cast<std::size_t>(n);
  }
  good = good && ::fsync(fd) == 0;
  const int code = errno;
  ::close(fd);
  errno = code;
  return good;
}

/// The JSON object in a file; discarded where there is none.
json read_json(const fs::path& path) {
  const auto text = config::read_file(path, 4 * kMostText);
  return text ? json::parse(*text, nullptr, false) : json(json::value_t::discarded);
}

template <class T>
T field(const json& object, const char* key, T fallback) {
  const auto at = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || at == object.end()) return fallback;
  if constexpr (std::is_same_v<T, std::string>)
    return at->is_string() ? at->template get<std::string>() : fallback;
  else if constexpr (std::is_same_v<T, bool>)
    return at->is_boolean() ? at->template get<bool>() : fallback;
  else
    return at->is_number_integer() ? static_cast<T>(at->template get<std::int64_t>()) : fallback;
}

/// Whether all files of a commit are there: it was written to its end.
bool is_whole(const fs::path& commit) {
  for (const char* name : {"profile.toml", kRigFile, "commit.json"})
    if (!fs::is_regular_file(commit / name)) return false;
  return commit.filename().string().front() != '.';
}

std::string dump(const json& object) {
  return object.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace

Store::~Store() {
  if (lock_ >= 0) ::close(lock_);
}

fs::path Store::commit_folder(int number) const {
  std::array<char, 16> name{};
  std::snprintf(name.data(), name.size(), "%06d", number);
  return folder_ / "commits" / name.data();
}

fs::path Store::running_profile() const {
  return commit_folder(running_commit().number) / "profile.toml";
}

Result<std::unique_ptr<Store>> Store::open(const fs::path& folder, const Clock& clock) {
  std::error_code wrong;
  const fs::path absolute = fs::absolute(folder, wrong).lexically_normal();
  fs::create_directories(absolute / "commits", wrong);
  if (wrong)
    return unavailable(absolute.string() + ": the folder of the configuration cannot be made, " + wrong.message() +
                       ": name one that can be written");
  std::unique_ptr<Store> store(new Store(absolute, clock));
  const fs::path lock = absolute / "lock";
  store->lock_ = ::open(lock.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
  if (store->lock_ < 0)
    return unavailable(lock.string() + ": cannot be opened, " + std::strerror(errno) +
                       ": run as the user that owns the configuration");
  if (::flock(store->lock_, LOCK_EX | LOCK_NB) != 0) {
    std::array<char, 32> pid{};
    const ssize_t n = ::pread(store->lock_, pid.data(), pid.size() - 1, 0);
    const std::string who = n > 0 ? std::string(pid.data()).substr(0, std::string(pid.data()).find('\n')) : "";
    return usage_error(absolute.string() + ": another process" + (who.empty() ? "" : ", pid " + who + ",") +
                       " serves this configuration: stop it first, or use `ligature shell`");
  }
  const std::string pid = std::to_string(::getpid()) + "\n";
  if (::ftruncate(store->lock_, 0) != 0 || ::pwrite(store->lock_, pid.data(), pid.size(), 0) < 0)
    return unavailable(lock.string() + ": cannot be written, " + std::strerror(errno));
  if (auto loaded = store->load(); !loaded) return unexpected(loaded.error());
  return store;
}

Result<void> Store::set_aside(const fs::path& commit) {
  std::error_code wrong;
  fs::create_directories(folder_ / "aside", wrong);
  const std::string name = commit.filename().string();
  fs::path to = folder_ / "aside" / name;
  for (int k = 2; fs::exists(to); ++k) to = folder_ / "aside" / (name + "-" + std::to_string(k));
  fs::rename(commit, to, wrong);
  if (wrong)
    return unavailable(commit.string() + ": a commit behind the one that runs cannot be moved to " + to.string() +
                       ", " + wrong.message() + ": move it away");
  mended_.push_back("commit " + name + " came after the one that runs: moved to " + to.string());
  return {};
}

Result<void> Store::load() {
  std::error_code wrong;
  int now = 0;
  if (const fs::path target = fs::read_symlink(folder_ / "running", wrong); !wrong) {
    const std::string name = target.filename().string();
    now = std::atoi(name.c_str());
    if (now <= 0 || target != fs::path("commits") / name)
      return unavailable((folder_ / "running").string() + ": points to " + target.string() +
                         ", must point to one of commits/: point it to a good one with `ln -sfn`");
  }
  std::vector<int> numbers;
  std::vector<fs::path> cut_short, beyond;
  for (fs::directory_iterator it(folder_ / "commits", wrong), end; !wrong && it != end; it.increment(wrong)) {
    const std::string name = it->path().filename().string();
    const int number = std::atoi(name.c_str());
    if (number > 0 && number <= now && commit_folder(number) == it->path()) {
      numbers.push_back(number);
      continue;
    }
    (is_whole(it->path()) ? beyond : cut_short).push_back(it->path());
  }
  if (wrong) return unavailable((folder_ / "commits").string() + ": cannot be read, " + wrong.message());
  std::sort(beyond.begin(), beyond.end());
  // Who lost the link, in a copy of the folder for one, has not lost what it pointed to.
  if (now == 0 && beyond.size() > 1)
    return unavailable((folder_ / "running").string() + ": is missing, though commits/ holds " +
                       std::to_string(beyond.size()) + ": point it to a good one with `ln -s commits/" +
                       beyond.back().filename().string() + " " + (folder_ / "running").string() + "`");
  for (const fs::path& half : cut_short) {  // it did not happen
    std::error_code ignored;
    fs::remove_all(half, ignored);
    mended_.push_back("removed " + half.filename().string() + ", a commit that was cut short");
  }
  // Never made to run, or what runs was chosen by hand.
  for (const fs::path& whole : beyond)
    if (auto aside = set_aside(whole); !aside) return aside;
  if (now == 0) return {};

  std::sort(numbers.rbegin(), numbers.rend());
  for (const int number : numbers) {
    const json meta = read_json(commit_folder(number) / "commit.json");
    Commit c;
    c.number = number;
    c.time = field(meta, "time", std::string("unknown"));
    c.user = field(meta, "user", std::string("unknown"));
    c.comment = field(meta, "comment", std::string());
    c.confirm_min = field(meta, "confirm_min", 0);
    c.undoes = field(meta, "undoes", 0);
    history_.push_back(std::move(c));
  }
  if (history_.empty() || history_.front().number != now)
    return unavailable((folder_ / "running").string() + ": points to a commit that is not there: point it to a good " +
                       "one with `ln -sfn`");
  auto texts = texts_back(0);
  if (!texts) return unavailable(texts.error().message);
  running_ = *texts;
  reset_candidate();

  json waiting = read_json(folder_ / "pending.json");
  // A file that cannot be read must not confirm what nobody did.
  if (waiting.is_discarded() && fs::exists(folder_ / "pending.json") && history_.front().confirm_min > 0 &&
      history_.size() > 1) {
    waiting = json{{"commit", now}, {"back_to", history_[1].number}, {"user", history_.front().user}};
    mended_.push_back("pending.json could not be read: commit " + std::to_string(now) + " goes back");
  }
  if (!waiting.is_discarded()) {
    Pending p;
    p.commit = field(waiting, "commit", 0);
    p.back_to = field(waiting, "back_to", 0);
    p.minutes = field(waiting, "minutes", 0);
    p.user = field(waiting, "user", std::string());
    p.wall_until_s = field(waiting, "wall_until_s", std::int64_t{0});
    p.running_until_s = field(waiting, "running_until_s", std::int64_t{0});
    p.boot = field(waiting, "boot", std::string());
    const bool can = std::find(numbers.begin(), numbers.end(), p.back_to) != numbers.end();
    if (p.commit == now && history_.front().confirm_min > 0 && can) {
      pending_ = p;
    } else {  // its commit did not come to run, or was followed by another
      fs::remove(folder_ / "pending.json", wrong);
    }
  }
  // Confirmed are all that had to be, but the one that waits and those that were undone.
  for (Commit& c : history_) {
    const bool undone =
        std::any_of(history_.begin(), history_.end(), [&](const Commit& other) { return other.undoes == c.number; });
    c.confirmed = c.confirm_min > 0 && !undone && !(pending_ && pending_->commit == c.number);
  }

  const json prepared = read_json(folder_ / "candidate.json");
  if (!prepared.is_discarded()) {
    Candidate c;
    c.texts = {field(prepared, "profile", std::string()), field(prepared, "rig", std::string())};
    c.base = field(prepared, "base", 0);
    c.user = field(prepared, "user", std::string("unknown"));
    c.time = field(prepared, "time", std::string());
    const bool whole = Tree::parse(c.texts.profile, "candidate") && Tree::parse(c.texts.rig, "candidate");
    // One that is what runs was committed; the process ended before it could remove the file.
    if (whole && c.texts != running_)
      candidate_ = std::move(c);
    else
      fs::remove(folder_ / "candidate.json", wrong);
    if (!whole) mended_.push_back("the prepared changes could not be read and are gone");
  }
  if (auto back = tick(); !back) mended_.push_back(back.error().message);
  return {};
}

void Store::reset_candidate() {
  candidate_ = Candidate{running_, history_.empty() ? 0 : history_.front().number, "", ""};
}

Result<Texts> Store::texts_back(int back) const {
  if (back < 0 || static_cast<std::size_t>(back) >= history_.size())
    return usage_error("there is no commit " + std::to_string(back) + " back, must be 0.." +
                       std::to_string(history_.empty() ? 0 : history_.size() - 1) + ": see `show history`");
  const fs::path where = commit_folder(history_[static_cast<std::size_t>(back)].number);
  auto profile = config::read_file(where / "profile.toml", kMostText);
  if (!profile) return unexpected(profile.error());
  auto rig = config::read_file(where / kRigFile, kMostText);
  if (!rig) return unexpected(rig.error());
  return Texts{std::move(*profile), std::move(*rig)};
}

Result<Commit> Store::create(const Texts& texts, const std::string& user, const std::string& comment) {
  if (!empty()) return usage_error(folder_.string() + ": has a configuration already");
  // Judged where a rig file lies beside it, as it will.
  const fs::path stage = folder_ / "commits" / ".judged";
  std::error_code wrong;
  fs::create_directories(stage, wrong);
  if (!write_fresh(stage / kRigFile, texts.rig)) return disk_error(stage, "write");
  const Judgement judgement = judge(texts, stage);
  fs::remove_all(stage, wrong);
  if (!judgement.good()) return usage_error(judgement.problems.front().message);
  Commit c;
  c.user = user;
  c.comment = comment;
  auto made = write_commit(texts, c, std::nullopt);
  if (made) reset_candidate();
  return made;
}

Result<void> Store::prepare(const Texts& texts, const std::string& user) {
  if (texts.profile.size() > kMostText || texts.rig.size() > kMostText)
    return usage_error("the configuration is larger than " + std::to_string(kMostText) + " bytes: delete something");
  if (texts == running_) return discard();
  const std::string time = utc(clock_.wall_s());
  const json object{{"base", running_commit().number},
                    {"user", user},
                    {"time", time},
                    {"profile", texts.profile},
                    {"rig", texts.rig}};
  if (auto written = config::write_file_atomically(folder_ / "candidate.json", dump(object)); !written) return written;
  candidate_ = {texts, running_commit().number, user, time};
  return {};
}

Result<void> Store::discard() {
  if (::unlink((folder_ / "candidate.json").c_str()) != 0 && errno != ENOENT)
    return disk_error(folder_ / "candidate.json", "remove it");
  reset_candidate();
  return {};
}

Result<void> Store::write_pending(const std::optional<Pending>& pending) {
  const fs::path file = folder_ / "pending.json";
  if (!pending) {
    if (::unlink(file.c_str()) != 0 && errno != ENOENT) return disk_error(file, "remove it");
    flush_folder(folder_);
    return {};
  }
  const Pending& p = *pending;
  return config::write_file_atomically(file, dump(json{{"commit", p.commit},
                                                       {"back_to", p.back_to},
                                                       {"minutes", p.minutes},
                                                       {"user", p.user},
                                                       {"wall_until_s", p.wall_until_s},
                                                       {"running_until_s", p.running_until_s},
                                                       {"boot", p.boot}}));
}

Result<Commit> Store::write_commit(const Texts& texts, Commit c, const std::optional<Pending>& waits) {
  c.number = history_.empty() ? 1 : history_.front().number + 1;
  c.time = utc(clock_.wall_s());
  const fs::path final = commit_folder(c.number), fresh = folder_ / "commits" / ".new";
  std::error_code wrong;
  fs::remove_all(fresh, wrong);
  fs::remove_all(final, wrong);  // a commit that failed after it got its name
  if (::mkdir(fresh.c_str(), 0755) != 0) return disk_error(fresh, "be made");
  const json meta{{"number", c.number},           {"time", c.time},    {"user", c.user}, {"comment", c.comment},
                  {"confirm_min", c.confirm_min}, {"undoes", c.undoes}};
  if (!write_fresh(fresh / "profile.toml", texts.profile) || !write_fresh(fresh / kRigFile, texts.rig) ||
      !write_fresh(fresh / "commit.json", dump(meta)) || !flush_folder(fresh))
    return disk_error(fresh, "be written");
  if (::rename(fresh.c_str(), final.c_str()) != 0 || !flush_folder(folder_ / "commits"))
    return disk_error(final, "be named");
  if (waits) {
    Pending p = *waits;
    p.commit = c.number;
    if (auto written = write_pending(p); !written) return unexpected(written.error());
  }
  const fs::path link = folder_ / ".running.new";
  ::unlink(link.c_str());
  if (::symlink((fs::path("commits") / final.filename()).c_str(), link.c_str()) != 0 ||
      ::rename(link.c_str(), (folder_ / "running").c_str()) != 0)
    return disk_error(folder_ / "running", "be replaced");
  flush_folder(folder_);

  // From here on it runs, whatever else fails.
  running_ = texts;
  history_.insert(history_.begin(), c);
  if (waits) {
    pending_ = waits;
    pending_->commit = c.number;
  } else {
    if (pending_) {
      for (Commit& old : history_)
        if (old.number == pending_->commit) old.confirmed = old.number != c.undoes;
    }
    (void)write_pending(std::nullopt);  // one that stays does not fit `running`, and is void
    pending_.reset();
  }
  forget_old();
  return c;
}

void Store::forget_old() {
  while (history_.size() > kKept) {
    const int number = history_.back().number;
    if (pending_ && pending_->back_to == number) break;
    std::error_code ignored;
    fs::remove_all(commit_folder(number), ignored);
    history_.pop_back();
  }
}

Result<Commit> Store::commit(const std::string& user, const std::string& comment, int confirm_min) {
  if (!changed()) return usage_error("nothing differs from what runs: set something first");
  if (confirm_min < 0 || confirm_min > kLongestConfirm_min)
    return usage_error("confirmed " + std::to_string(confirm_min) + ", must be 1.." +
                       std::to_string(kLongestConfirm_min) + " minutes");
  const Judgement judgement = check();
  if (!judgement.good()) return usage_error(judgement.problems.front().message);
  Commit c;
  c.user = user;
  c.comment = comment;
  c.confirm_min = confirm_min;
  std::optional<Pending> waits;
  if (confirm_min > 0) {
    Pending p;
    // Several in a row go back to the last that was good.
    p.back_to = pending_ ? pending_->back_to : running_commit().number;
    p.minutes = confirm_min;
    p.user = user;
    p.wall_until_s = clock_.wall_s() + 60 * confirm_min;
    p.running_until_s = clock_.running_s() + 60 * confirm_min;
    p.boot = clock_.boot();
    waits = p;
  }
  auto made = write_commit(candidate_.texts, c, waits);
  if (made) (void)discard();
  return made;
}

std::int64_t Store::pending_s() const {
  if (!pending_) return 0;
  // After a restart of the machine only the wall clock is left; one that was set back must not prolong it.
  const std::int64_t left = pending_->boot == clock_.boot() ? pending_->running_until_s - clock_.running_s()
                                                            : pending_->wall_until_s - clock_.wall_s();
  return std::clamp<std::int64_t>(left, 0, 60 * static_cast<std::int64_t>(pending_->minutes));
}

Result<void> Store::confirm() {
  if (!pending_) return usage_error("no commit waits for a confirmation");
  if (auto removed = write_pending(std::nullopt); !removed) return removed;
  for (Commit& c : history_)
    if (c.number == pending_->commit) c.confirmed = true;
  pending_.reset();
  return {};
}

Result<std::optional<Commit>> Store::tick() {
  if (!pending_ || pending_s() > 0) return std::optional<Commit>();
  auto back = go_back();
  if (!back) return unexpected(back.error());
  return std::optional<Commit>(*back);
}

Result<Commit> Store::go_back() {
  const Pending was = *pending_;
  const auto at =
      std::find_if(history_.begin(), history_.end(), [&](const Commit& c) { return c.number == was.back_to; });
  if (at == history_.end()) return failure("the commit to go back to is gone");
  auto texts = texts_back(static_cast<int>(at - history_.begin()));
  if (!texts) return unexpected(texts.error());
  Commit c;
  c.user = "system";
  c.comment = "commit " + std::to_string(was.commit) + " by " + was.user + " was not confirmed within " +
              std::to_string(was.minutes) + " min: back to commit " + std::to_string(was.back_to);
  c.undoes = was.commit;
  const bool candidate_was_running = !changed();
  auto made = write_commit(*texts, c, std::nullopt);
  if (!made) return made;
  went_back_ = *made;
  if (candidate_was_running || candidate_.texts == running_) (void)discard();
  return made;
}

}  // namespace ligature::store
