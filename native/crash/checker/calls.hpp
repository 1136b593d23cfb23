// Stops the calling thread at page faults and system calls for a tracked check (Linux,
// Documentation/admin-guide/syscall-user-dispatch.rst).
#pragma once

#include <signal.h>

namespace nearfar::crash {

using SignalHandler = void(int, siginfo_t*, void*);

// From now on, faults go to `on_fault` and system calls to `on_call` instead of the checker's own
// handlers; null ends this. Returns false if the system does not support it.
bool stop_calls(SignalHandler* on_fault, SignalHandler* on_call);

// While an instance exists, system calls are not stopped: they are this library's.
class Unstopped {
 public:
  Unstopped();
  ~Unstopped();
  Unstopped(const Unstopped&) = delete;
  Unstopped& operator=(const Unstopped&) = delete;

 private:
  char before_;
};

// Makes a system call that is never stopped. Returns the kernel's result: -errno on failure.
extern "C" long nearfar_crash_unstopped_call(long number, long a, long b, long c, long d, long e,
                                             long f);
inline long unstopped_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                           long f = 0) {
  return nearfar_crash_unstopped_call(number, a, b, c, d, e, f);
}

}  // namespace nearfar::crash
