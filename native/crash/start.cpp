// How the library wakes up, forks and ends.
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

bool open_trace();
void tell_modules();

namespace {

__attribute__((constructor(101))) void wake() {
  if (open_trace()) pthread_atfork(nullptr, nullptr, in_child);
}

// Tells what is not told yet: pages that were left open.
__attribute__((destructor(101))) void end() {
  if (header() == nullptr) return;
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
  static auto* const real = reinterpret_cast<void (*)()>(dlsym(RTLD_NEXT, "abort"));
  real();
  for (;;) syscall(SYS_exit_group, 127);
}
}
#pragma GCC visibility pop
