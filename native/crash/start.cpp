// How the library wakes up, forks and ends.
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/hooks.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

bool open_trace();
void tell_modules();

namespace {

// What a page left open holds must be told before another process maps the pool and takes it for
// what was there.
void before_fork() {
  if (Lock::held_here()) return;
  Lock const lock;
  if (recording()) sweep();
}

__attribute__((constructor(101))) void wake() {
  if (open_trace()) pthread_atfork(before_fork, nullptr, in_child);
}

// Tells what is not told yet: pages that were left open.
__attribute__((destructor(101))) void end() {
  // A signal handler may call _exit while its thread tells: what is not told yet stays untold.
  if (header() == nullptr || Lock::held_here()) return;
  Lock const lock;
  if (!recording()) return;
  sweep();
  tell_modules();
}

}  // namespace

}  // namespace nearfar::crash

// Ends without destructors.
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
