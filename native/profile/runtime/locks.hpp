// A lock that survives signal handlers, longjmp and killed threads.
#pragma once

#include <errno.h>
#include <sched.h>
#include <sys/single_threaded.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

// A word that names its holder. A holder that comes again was interrupted inside the lock by a
// signal, whose handler runs to its end or jumps away: it may go on. A holder that is gone
// (killed, or this is a fork's child) is overridden: the tables hold integers, so the worst is one
// count too few. One that lives is waited for: a hypervisor may take its processor away for long.
//
// Not for ever: its number may be another's by now, a debugger may have stopped it, or it jumped
// out of the lock for good. These cases look like a holder that is only descheduled, so each such
// lock costs the first waiter ten seconds, once, and works again afterwards. A holder that returns
// after all does not release the lock of the thread that has it then.
enum class Shared { by_threads, by_processes };

class Lock {
 public:
  Lock(std::uint32_t& word, std::uint32_t self, Shared shared = Shared::by_threads)
      : word_(word), self_(self) {
    if (shared == Shared::by_threads && __libc_single_threaded != 0) {
      word_ = self;
      return;
    }
    std::uint32_t holder = 0;
    for (unsigned wait = 0; wait < most_waits; ++wait) {
      for (unsigned turn = 0; turn < most_turns; ++turn) {
        holder = 0;
        if (__atomic_compare_exchange_n(&word_, &holder, self, false, __ATOMIC_ACQUIRE,
                                        __ATOMIC_RELAXED) ||
            holder == self) {
          return;
        }
        // A descheduled holder on a busy machine comes back within a time slice.
        if (turn % turns_per_yield == turns_per_yield - 1) sched_yield();
      }
      if (!rests_while_alive(holder, shared)) break;
    }
    __atomic_exchange_n(&word_, self, __ATOMIC_ACQUIRE);
  }
  ~Lock() {
    if (__atomic_load_n(&word_, __ATOMIC_RELAXED) == self_) {
      __atomic_store_n(&word_, 0, __ATOMIC_RELEASE);
    }
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;

 private:
  // False if that thread is gone; otherwise waits a millisecond. A fork's parent's threads are
  // gone.
  static bool rests_while_alive(std::uint32_t thread, Shared shared) {
    const int error = errno;
    const long asked = shared == Shared::by_threads ? syscall(SYS_tgkill, getpid(), thread, 0)
                                                    : syscall(SYS_tkill, thread, 0);
    const bool gone = asked != 0 && errno == ESRCH;
    constexpr timespec millisecond{0, 1'000'000};
    if (!gone) nanosleep(&millisecond, nullptr);
    errno = error;
    return !gone;
  }

  // Where processors are free, less than a millisecond.
  static constexpr unsigned most_turns = 1u << 14;
  static constexpr unsigned turns_per_yield = 1u << 7;
  // Ten seconds and what trying takes.
  static constexpr unsigned most_waits = 10'000;
  std::uint32_t& word_;
  std::uint32_t self_;
};

// Adds to a counter that other threads may be adding to; returns the sum.
template <typename Integer>
Integer add(Integer& counter, Integer amount) {
  if (__libc_single_threaded != 0) return counter += amount;
  return __atomic_add_fetch(&counter, amount, __ATOMIC_RELAXED);
}

}  // namespace nearfar::profile
