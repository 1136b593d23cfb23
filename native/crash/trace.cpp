// The trace file: mapped once, written under the lock.
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/bare.hpp"
#include "crash/recorder.hpp"
#include "profile/runtime/loaded_file.hpp"

namespace nearfar::crash {

namespace {

char* trace = nullptr;
// Used outside `nearfar crash`.
std::uint32_t no_lock = 0;
std::uint32_t self = 0;
// After this many attempts, checks whether the lock's holder was killed.
constexpr unsigned check_every = 1000;
__attribute__((tls_model("initial-exec"))) thread_local std::uint32_t thread_number = 0;
__attribute__((tls_model("initial-exec"))) thread_local bool holding = false;
__attribute__((tls_model("initial-exec"))) thread_local bool unfenced_store = false;
__attribute__((tls_model("initial-exec"))) thread_local bool unfenced_flush = false;

void record_module(const dl_phdr_info& info) {
  char path_buffer[4096];
  const char* name = profile::name_of(info, path_buffer);
  watch_code(info, name);
  append(NF_CRASH_MODULE, info.dlpi_addr, profile::extent_of(info).end, nullptr, name,
         static_cast<std::uint32_t>(strlen(name)));
}

}  // namespace

nf_crash_header* header() { return reinterpret_cast<nf_crash_header*>(trace); }

Lock::Lock() {
  holding = true;  // set first, so that a signal handler never waits for its own thread
  if (self == 0) self = static_cast<std::uint32_t>(syscall(SYS_getpid));
  std::uint32_t* const word = trace == nullptr ? &no_lock : &header()->locked;
  for (unsigned tries = 1;; ++tries) {
    std::uint32_t holder = 0;
    if (__atomic_compare_exchange_n(word, &holder, self, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return;
    }
    syscall(SYS_sched_yield);
    if (tries % check_every != 0 || syscall(SYS_kill, holder, 0) == 0) continue;
    __atomic_compare_exchange_n(word, &holder, 0u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

bool Lock::held_here() { return holding; }

Lock::~Lock() {
  __atomic_store_n(trace == nullptr ? &no_lock : &header()->locked, 0u, __ATOMIC_RELEASE);
  holding = false;
}

void reset_in_child() {
  self = static_cast<std::uint32_t>(syscall(SYS_getpid));
  thread_number = 0;
}

void record_modules() { profile::visit_loaded_files<record_module>(); }

bool open_trace() {
  const char* path = getauxval(AT_SECURE) != 0 ? nullptr : getenv(NF_CRASH_VARIABLE);
  if (path == nullptr || *path == '\0') return false;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > NF_CRASH_HEADER_BYTES) {
    const long mapped = syscall(SYS_mmap, nullptr, status.st_size, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_NORESERVE, file, 0L);
    if (mapped != -1) trace = reinterpret_cast<char*>(mapped);
  }
  close(file);
  if (trace == nullptr) return false;
  const nf_crash_header& trace_header = *header();
  const bool valid = memcmp(trace_header.magic, NF_CRASH_MAGIC, sizeof trace_header.magic) == 0 &&
                     trace_header.limit <= static_cast<std::uint64_t>(status.st_size);
  if (!valid) trace = nullptr;
  return valid;
}

bool has_unfenced_store() { return unfenced_store; }
bool has_unfenced_flush() { return unfenced_flush; }

std::uint32_t this_thread() {
  // The caller holds the lock.
  if (thread_number == 0) thread_number = ++header()->thread_count;
  return thread_number - 1;
}

void append(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack* stack,
            const void* payload, std::uint32_t bytes, std::uint32_t c) {
  nf_crash_header& trace_header = *header();
  const bool is_flush = kind == NF_CRASH_FLUSH || kind == NF_CRASH_STREAM;
  const bool is_fence = kind == NF_CRASH_FENCE && b == 0;
  unfenced_flush = (unfenced_flush || is_flush) && !is_fence;
  unfenced_store = (unfenced_store || is_flush || kind == NF_CRASH_STORE) && !is_fence;
  if (trace_header.full != 0) return;
  const std::uint64_t frames = stack == nullptr ? 0 : stack->count;
  const std::uint64_t record_bytes =
      sizeof(nf_crash_record) + frames * 8 + (std::uint64_t{bytes} + 7) / 8 * 8;
  if (trace_header.used + record_bytes > trace_header.limit) {
    trace_header.full = 1;
    return;
  }
  char* begin = trace + trace_header.used;
  const nf_crash_record record{static_cast<std::uint16_t>(kind),
                               static_cast<std::uint16_t>(frames),
                               bytes,
                               a,
                               b,
                               this_thread(),
                               c};
  memcpy(begin, &record, sizeof record);
  if (frames != 0) memcpy(begin + sizeof record, stack->frames, frames * 8);
  if (bytes != 0) memcpy(begin + sizeof record + frames * 8, payload, bytes);
  __atomic_store_n(&trace_header.used, trace_header.used + record_bytes, __ATOMIC_RELEASE);
}

}  // namespace nearfar::crash
