// The trace: mapped once, written under the lock.
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

#include "crash/recorder.hpp"
#include "profile/runtime/loaded_file.hpp"

namespace nearfar::crash {

namespace {

char* trace = nullptr;
// Where there is no trace.
std::uint32_t no_lock = 0;
std::uint32_t self = 0;
// A lock so long held may be of a process that was killed with it.
constexpr unsigned look_every = 1000;
__attribute__((tls_model("initial-exec"))) thread_local std::uint32_t thread_number = 0;
__attribute__((tls_model("initial-exec"))) thread_local bool holding = false;

void tell_module(const dl_phdr_info& info) {
  char own[4096];
  const char* name = profile::name_of(info, own);
  append(NF_CRASH_MODULE, info.dlpi_addr, profile::extent_of(info).end, nullptr, name,
         static_cast<std::uint32_t>(strlen(name)));
}

}  // namespace

nf_crash_header* header() { return reinterpret_cast<nf_crash_header*>(trace); }

Lock::Lock() {
  holding = true;  // before it is, so that a handler in between never waits for its own thread
  if (self == 0) self = static_cast<std::uint32_t>(syscall(SYS_getpid));
  std::uint32_t* const word = trace == nullptr ? &no_lock : &header()->locked;
  for (unsigned tries = 1;; ++tries) {
    std::uint32_t holder = 0;
    if (__atomic_compare_exchange_n(word, &holder, self, false, __ATOMIC_ACQUIRE,
                                    __ATOMIC_RELAXED)) {
      return;
    }
    syscall(SYS_sched_yield);
    if (tries % look_every != 0 || syscall(SYS_kill, holder, 0) == 0) continue;
    __atomic_compare_exchange_n(word, &holder, 0u, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
  }
}

bool Lock::held_here() { return holding; }

Lock::~Lock() {
  __atomic_store_n(trace == nullptr ? &no_lock : &header()->locked, 0u, __ATOMIC_RELEASE);
  holding = false;
}

void name_child() {
  self = static_cast<std::uint32_t>(syscall(SYS_getpid));
  thread_number = 0;
}

void tell_modules() { profile::visit_loaded_files<tell_module>(); }

bool open_trace() {
  const char* path = getauxval(AT_SECURE) != 0 ? nullptr : getenv(NF_CRASH_VARIABLE);
  if (path == nullptr || *path == '\0') return false;
  const int file = open(path, O_RDWR | O_CLOEXEC);
  if (file < 0) return false;
  struct stat status {};
  if (fstat(file, &status) == 0 && status.st_size > NF_CRASH_HEADER_BYTES) {
    const long got = syscall(SYS_mmap, nullptr, status.st_size, PROT_READ | PROT_WRITE,
                             MAP_SHARED | MAP_NORESERVE, file, 0L);
    if (got != -1) trace = reinterpret_cast<char*>(got);
  }
  close(file);
  if (trace == nullptr) return false;
  const nf_crash_header& head = *header();
  const bool ours = memcmp(head.magic, NF_CRASH_MAGIC, sizeof head.magic) == 0 &&
                    head.limit <= static_cast<std::uint64_t>(status.st_size);
  if (!ours) trace = nullptr;
  return ours;
}

std::uint32_t this_thread() {
  // The lock is held.
  if (thread_number == 0) thread_number = ++header()->met;
  return thread_number - 1;
}

void append(nf_crash_kind kind, std::uint64_t a, std::uint64_t b, const Stack* stack,
            const void* payload, std::uint32_t bytes, std::uint32_t c) {
  nf_crash_header& head = *header();
  if (head.full != 0) return;
  const std::uint64_t frames = stack == nullptr ? 0 : stack->count;
  const std::uint64_t whole =
      sizeof(nf_crash_record) + frames * 8 + (std::uint64_t{bytes} + 7) / 8 * 8;
  if (head.used + whole > head.limit) {
    head.full = 1;
    return;
  }
  char* place = trace + head.used;
  const nf_crash_record record{static_cast<std::uint16_t>(kind),
                               static_cast<std::uint16_t>(frames),
                               bytes,
                               a,
                               b,
                               this_thread(),
                               c};
  memcpy(place, &record, sizeof record);
  if (frames != 0) memcpy(place + sizeof record, stack->frames, frames * 8);
  if (bytes != 0) memcpy(place + sizeof record + frames * 8, payload, bytes);
  __atomic_store_n(&head.used, head.used + whole, __ATOMIC_RELEASE);
}

}  // namespace nearfar::crash
