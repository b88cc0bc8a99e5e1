#include "rt_guard.hpp"

#include <dlfcn.h>
#include <execinfo.h>
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "appliance/rt/rt_section.hpp"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define LIGATURE_SANITIZED 1
#endif

namespace ligature::guard {
namespace {

constexpr std::size_t kKept = 32, kDepth = 24, kCalls = 3;

struct Kept {
  std::atomic<bool> complete{false};
  Call call = Call::allocate;
  const char* section = nullptr;
  int depth = 0;
  std::array<void*, kDepth> stack{};
};
struct ExemptRow {
  std::atomic<const char*> name{nullptr};
  std::array<std::atomic<std::uint64_t>, kCalls> counts{};
};

// Constant-initialised: malloc runs before any constructor.
constinit std::array<std::atomic<std::uint64_t>, kCalls> counts{};
constinit std::array<Kept, kKept> kept{};
constinit std::atomic<std::size_t> kept_count{0};
constinit std::array<ExemptRow, rt::kMaxExemptions> exempt_rows{};
// Set while this thread is inside the guard, whose own calls (backtrace) may allocate.
constinit thread_local bool inside __attribute__((tls_model("initial-exec"))) = false;

void note_exempt(Call call, const char* name) {
  for (std::size_t i = 0; i < exempt_rows.size(); ++i) {
    const char* there = exempt_rows[i].name.load();
    if (there == nullptr && exempt_rows[i].name.compare_exchange_strong(there, name)) there = name;
    if (there == name || std::strcmp(there, name) == 0 || i + 1 == exempt_rows.size()) {
      exempt_rows[i].counts[static_cast<std::size_t>(call)].fetch_add(1);
      return;
    }
  }
}

void note(Call call) {
  const rt::RtState state = rt::rt_state;
  if (state.section == nullptr || inside) return;
  inside = true;
  if (state.exempt != nullptr) {
    note_exempt(call, state.exempt);
  } else {
    counts[static_cast<std::size_t>(call)].fetch_add(1);
    const std::size_t slot = kept_count.fetch_add(1);
    if (slot < kKept) {
      Kept& record = kept[slot];
      record.call = call;
      record.section = state.section;
      record.depth = backtrace(record.stack.data(), static_cast<int>(kDepth));
      record.complete.store(true, std::memory_order_release);
    }
  }
  inside = false;
}

/// dlsym() frees its last error text: not the caller's doing.
[[maybe_unused]] void* next_symbol(const char* name) {
  const bool outer = std::exchange(inside, true);
  void* symbol = dlsym(RTLD_NEXT, name);
  inside = outer;
  return symbol;
}

const char* name_of(Call call) {
  switch (call) {
    case Call::allocate:
      return "allocation";
    case Call::release:
      return "release of memory";
    case Call::lock:
      return "lock";
  }
  return "";
}

std::string where(const Kept& record) {
  std::string text;
  char** symbols = backtrace_symbols(record.stack.data(), record.depth);
  if (symbols == nullptr) return text;
  // The first two frames are the guard and the interposed function.
  for (int i = 2; i < record.depth; ++i) text += std::string(text.empty() ? "" : "\n") + "    " + symbols[i];
  std::free(symbols);
  return text;
}

#ifdef LIGATURE_SANITIZED
void on_malloc(const volatile void*, std::size_t) {
  note(Call::allocate);
}
void on_free(const volatile void* block) {
  if (block != nullptr) note(Call::release);
}
#endif

}  // namespace
}  // namespace ligature::guard

#ifdef LIGATURE_SANITIZED
extern "C" int __sanitizer_install_malloc_and_free_hooks(void (*)(const volatile void*, std::size_t),
                                                         void (*)(const volatile void*));
#endif

namespace ligature::guard {
namespace {

/// backtrace() loads libgcc at its first call, and a sanitizer's hooks must be asked for.
struct Install {
  Install() {
    void* frame[1];
    backtrace(frame, 1);
#ifdef LIGATURE_SANITIZED
    __sanitizer_install_malloc_and_free_hooks(&on_malloc, &on_free);
#endif
  }
} install;

}  // namespace

void reset() {
  for (auto& count : counts) count = 0;
  for (Kept& record : kept) record.complete = false;
  kept_count = 0;
  for (ExemptRow& row : exempt_rows)
    for (auto& count : row.counts) count = 0;
}

std::uint64_t violations(Call call) {
  return counts[static_cast<std::size_t>(call)];
}
std::uint64_t violations() {
  return violations(Call::allocate) + violations(Call::release) + violations(Call::lock);
}

std::vector<Violation> first_violations() {
  std::vector<Violation> list;
  for (const Kept& record : kept)
    if (record.complete.load(std::memory_order_acquire)) list.push_back({record.call, record.section, where(record)});
  return list;
}

std::vector<Exempted> exempted() {
  std::vector<Exempted> list;
  for (const ExemptRow& row : exempt_rows) {
    const char* name = row.name.load();
    if (name == nullptr || row.counts[0] + row.counts[1] + row.counts[2] == 0) continue;
    list.push_back({name, row.counts[0], row.counts[1], row.counts[2]});
  }
  return list;
}

std::string report() {
  std::string text = std::to_string(violations(Call::allocate)) + " allocations, " +
                     std::to_string(violations(Call::release)) + " releases, " +
                     std::to_string(violations(Call::lock)) + " locks in real-time code\n";
  for (const Violation& violation : first_violations())
    text += std::string("  ") + name_of(violation.call) + " in '" + violation.section + "'\n" + violation.where + "\n";
  for (const Exempted& row : exempted())
    text += "  exempt '" + row.name + "': " + std::to_string(row.allocations) + " allocations, " +
            std::to_string(row.releases) + " releases, " + std::to_string(row.locks) + " locks\n";
  return text;
}

bool active() {
  const std::uint64_t before = violations();
  const std::size_t kept_before = kept_count;
  {
    const rt::RtSection section("guard self-test");
    void* volatile block = std::malloc(8);
    std::free(block);
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&mutex);
    pthread_mutex_unlock(&mutex);
  }
  const bool seen = violations() == before + 3;
  // Take the plant back: it was no one's fault.
  for (auto& count : counts) count.fetch_sub(seen ? 1 : 0);
  kept_count = kept_before;
  for (std::size_t i = kept_before; i < kKept; ++i) kept[i].complete = false;
  return seen;
}

ForbidAlloc::ForbidAlloc(const char* name)
    : outer_section_(rt::rt_state.section), outer_exempt_(rt::rt_state.exempt), before_(violations()) {
  rt::rt_state = {name, nullptr};
  rt::keep_marks();
}
ForbidAlloc::~ForbidAlloc() {
  rt::rt_state = {outer_section_, outer_exempt_};
}
std::uint64_t ForbidAlloc::count() const {
  return violations() - before_;
}

}  // namespace ligature::guard

using ligature::guard::Call;

#ifndef LIGATURE_SANITIZED

// The whole family, or glibc's and ours would mix. operator new and delete end up here too.
extern "C" {
void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) {
  ligature::guard::note(Call::allocate);
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ligature::guard::note(Call::allocate);
  return __libc_calloc(count, size);
}
void* realloc(void* block, std::size_t size) {
  ligature::guard::note(Call::allocate);
  return __libc_realloc(block, size);
}
void free(void* block) {
  if (block != nullptr) ligature::guard::note(Call::release);
  __libc_free(block);
}
void* memalign(std::size_t alignment, std::size_t size) {
  ligature::guard::note(Call::allocate);
  return __libc_memalign(alignment, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ligature::guard::note(Call::allocate);
  return __libc_memalign(alignment, size);
}
int posix_memalign(void** out, std::size_t alignment, std::size_t size) {
  ligature::guard::note(Call::allocate);
  if (alignment % sizeof(void*) != 0 || (alignment & (alignment - 1)) != 0 || alignment == 0) return EINVAL;
  void* block = __libc_memalign(alignment, size);
  if (block == nullptr) return ENOMEM;
  *out = block;
  return 0;
}
}

#endif

#ifdef __SANITIZE_THREAD__
extern "C" int __interceptor_pthread_mutex_lock(pthread_mutex_t*);
extern "C" int __interceptor_pthread_rwlock_rdlock(pthread_rwlock_t*);
extern "C" int __interceptor_pthread_rwlock_wrlock(pthread_rwlock_t*);
#define LIGATURE_NEXT(name) (&__interceptor_##name)
#else
#define LIGATURE_NEXT(name) (reinterpret_cast<decltype(&(name))>(ligature::guard::next_symbol(#name)))
#endif

// A constant-initialised atomic instead of a static initialised by a call: that one would lock.
#define LIGATURE_LOCK_FUNCTION(name, Lock)                                           \
  extern "C" int name(Lock* lock) noexcept {                                         \
    static constinit std::atomic<int (*)(Lock*)> next{nullptr};                      \
    if (next.load(std::memory_order_relaxed) == nullptr) next = LIGATURE_NEXT(name); \
    ligature::guard::note(Call::lock);                                               \
    return next.load(std::memory_order_relaxed)(lock);                               \
  }
LIGATURE_LOCK_FUNCTION(pthread_mutex_lock, pthread_mutex_t)
LIGATURE_LOCK_FUNCTION(pthread_rwlock_rdlock, pthread_rwlock_t)
LIGATURE_LOCK_FUNCTION(pthread_rwlock_wrlock, pthread_rwlock_t)
