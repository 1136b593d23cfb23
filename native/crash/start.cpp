// How the library wakes up, forks and ends.
#include <pthread.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

bool open_trace();
void tell_modules();

namespace {

__attribute__((constructor(101))) void wake() {
  if (open_trace()) pthread_atfork(nullptr, nullptr, in_child);
}

__attribute__((destructor(101))) void end() {
  if (header() == nullptr) return;
  Lock const lock;
  if (!recording()) return;
  sweep();
  tell_modules();
}

}  // namespace

}  // namespace nearfar::crash
