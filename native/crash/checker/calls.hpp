// Stops this thread at faults and at its system calls (Linux, Documentation/admin-guide/
// syscall-user-dispatch.rst), as a tracked check needs it.
#pragma once

#include <signal.h>

namespace nearfar::crash {

using SignalHandler = void(int, siginfo_t*, void*);

// From here on, faults go to `on_fault` and system calls to `on_call`, in place of the checker's
// own handlers; null ends that. False: the system lacks it.
bool stop_calls(SignalHandler* on_fault, SignalHandler* on_call);

// Calls are not stopped while it exists: those of this library.
class Unstopped {
 public:
  Unstopped();
  ~Unstopped();
  Unstopped(const Unstopped&) = delete;
  Unstopped& operator=(const Unstopped&) = delete;

 private:
  char before_;
};

// A system call that is never stopped. Returns what the kernel does: -errno on failure.
extern "C" long nearfar_crash_unstopped_call(long number, long a, long b, long c, long d, long e,
                                             long f);
inline long unstopped_call(long number, long a = 0, long b = 0, long c = 0, long d = 0, long e = 0,
                           long f = 0) {
  return nearfar_crash_unstopped_call(number, a, b, c, d, e, f);
}

}  // namespace nearfar::crash
