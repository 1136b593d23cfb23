// Start, fork and end of the library.
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/bare.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

bool open_trace();
void record_modules();

namespace {

// Changes on open pages must be recorded before another process maps the pool and uses them as its
// baseline.
void before_fork() {
  if (Lock::held_here()) return;
  Lock const lock;
  if (recording()) record_pending();
}

__attribute__((constructor(101))) void wake() {
  if (open_trace()) pthread_atfork(before_fork, nullptr, in_child);
}

// Records the remaining changes on open pages.
__attribute__((destructor(101))) void end() {
  // A signal handler may call _exit while its thread records; the remaining changes are lost then.
  if (header() == nullptr || Lock::held_here()) return;
  Lock const lock;
  if (!recording()) return;
  record_pending();
  note_late_loading();
  record_modules();
}

}  // namespace

}  // namespace nearfar::crash

// These functions end the process without running destructors.
#pragma GCC visibility push(default)
extern "C" {

void _exit(int status) {
  nearfar::crash::end();
  for (;;) syscall(SYS_exit_group, status);
}

void _Exit(int status) noexcept { _exit(status); }

void abort() noexcept {
  nearfar::crash::end();
  NEARFAR_NEXT_AS(void (*)(), abort);
  real();
  for (;;) syscall(SYS_exit_group, 127);
}
}
#pragma GCC visibility pop
