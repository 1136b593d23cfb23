// Calls that make stores durable: libpmem's functions, and the program's own marks
// (nearfar/crash.h).

#include "base/hooks.hpp"
#include "crash/recorder.hpp"
#include "crash/schedule.hpp"
#include "nearfar/crash.h"

using namespace nearfar::crash;

namespace {

// libpmem calls itself and msync, but only the outermost call is recorded.
__attribute__((tls_model("initial-exec"))) thread_local unsigned depth = 0;
class Inside {
 public:
  Inside() { ++depth; }
  ~Inside() { --depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;
};

#define NEARFAR_REAL(name)                     \
  NEARFAR_NEXT(name);                          \
  const bool seen = recording() && depth == 0; \
  Inside const inside

// libpmem.h: flags of pmem_memcpy and similar functions.
constexpr unsigned no_drain = 1u << 0;
constexpr unsigned no_flush = 1u << 5;

void record_persist(const void* address, std::size_t bytes, unsigned flags, const Stack& stack) {
  if ((flags & no_flush) != 0) return;
  record_flush(address, bytes, stack);
  if ((flags & no_drain) == 0) record_fence(stack);
}

}  // namespace

bool nearfar::crash::inside_libpmem() { return depth != 0; }

#pragma GCC visibility push(default)
extern "C" {

void pmem_flush(const void* address, std::size_t bytes) {
  NEARFAR_REAL(pmem_flush);
  real(address, bytes);
  if (seen) record_flush(address, bytes, NEARFAR_CRASH_STACK);
}

void pmem_deep_flush(const void* address, std::size_t bytes) {
  NEARFAR_REAL(pmem_deep_flush);
  real(address, bytes);
  if (seen) record_flush(address, bytes, NEARFAR_CRASH_STACK);
}

void pmem_drain() {
  NEARFAR_REAL(pmem_drain);
  real();
  if (seen) record_fence(NEARFAR_CRASH_STACK);
}

int pmem_deep_drain(const void* address, std::size_t bytes) {
  NEARFAR_REAL(pmem_deep_drain);
  const int result = real(address, bytes);
  if (seen) record_fence(NEARFAR_CRASH_STACK);
  return result;
}

void pmem_persist(const void* address, std::size_t bytes) {
  NEARFAR_REAL(pmem_persist);
  real(address, bytes);
  if (seen) record_persist(address, bytes, 0, NEARFAR_CRASH_STACK);
}

int pmem_deep_persist(const void* address, std::size_t bytes) {
  NEARFAR_REAL(pmem_deep_persist);
  const int result = real(address, bytes);
  if (seen) record_persist(address, bytes, 0, NEARFAR_CRASH_STACK);
  return result;
}

// The hook of msync records the msync inside; recording it here too would add a fence.
int pmem_msync(const void* address, std::size_t bytes) {
  NEARFAR_NEXT(pmem_msync);
  return real(address, bytes);
}

#define NEARFAR_COPY(kind, source)                                              \
  void* pmem_##kind(void* to, source from, std::size_t bytes, unsigned flags) { \
    NEARFAR_REAL(pmem_##kind);                                                  \
    real(to, from, bytes, flags);                                               \
    if (seen) record_persist(to, bytes, flags, NEARFAR_CRASH_STACK);            \
    return to;                                                                  \
  }                                                                             \
  void* pmem_##kind##_persist(void* to, source from, std::size_t bytes) {       \
    NEARFAR_REAL(pmem_##kind##_persist);                                        \
    real(to, from, bytes);                                                      \
    if (seen) record_persist(to, bytes, 0, NEARFAR_CRASH_STACK);                \
    return to;                                                                  \
  }                                                                             \
  void* pmem_##kind##_nodrain(void* to, source from, std::size_t bytes) {       \
    NEARFAR_REAL(pmem_##kind##_nodrain);                                        \
    real(to, from, bytes);                                                      \
    if (seen) record_persist(to, bytes, no_drain, NEARFAR_CRASH_STACK);         \
    return to;                                                                  \
  }
NEARFAR_COPY(memcpy, const void*)
NEARFAR_COPY(memmove, const void*)
NEARFAR_COPY(memset, int)

void nearfar_crash_begin(unsigned long operation) {
  may_switch({});
  Lock const lock;
  if (!recording()) return;
  record_pending();
  append(NF_CRASH_BEGIN, operation, 0, nullptr, nullptr, 0);
}

void nearfar_crash_end(unsigned long operation) {
  may_switch({});
  Lock const lock;
  if (!recording()) return;
  record_pending();
  append(NF_CRASH_END, operation, 0, nullptr, nullptr, 0);
}
}
#pragma GCC visibility pop
