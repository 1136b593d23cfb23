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

// A lock word contains its holder's ID.
//
// If the holder tries to lock again, a signal handler has interrupted it. The handler runs to its
// end or jumps away, so it may continue. If the holder has ended (killed, or this is the child of a
// fork), its lock is taken over: the tables hold integers, so at worst a count is lost. A live
// holder is waited for, because a hypervisor may deschedule it for long.
//
// The wait is bounded, because the holder's ID may be reused, a debugger may have stopped the
// holder, or it may have jumped out of the lock and never return. These cases look like a
// descheduled holder, so each costs the first waiter ten seconds once; then the lock works again. A
// holder that returns later does not release the new holder's lock.
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
    for (unsigned wait = 0; wait < max_waits; ++wait) {
      for (unsigned turn = 0; turn < max_turns; ++turn) {
        // Only reads while the lock is held: each attempt to take it would move the word's line
        // away from the holder.
        holder = turn == 0 ? 0 : __atomic_load_n(&word_, __ATOMIC_RELAXED);
        if (holder == self ||
            (holder == 0 && (__atomic_compare_exchange_n(&word_, &holder, self, false,
                                                         __ATOMIC_ACQUIRE, __ATOMIC_RELAXED) ||
                             holder == self))) {
          return;
        }
        pause();
        // A descheduled holder on a busy machine continues within a time slice.
        if (turn % turns_per_yield == turns_per_yield - 1) sched_yield();
      }
      if (!wait_if_alive(holder, shared)) break;
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
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb");
#endif
  }

  // Returns false if the thread has ended, as a parent's threads have in the child of a fork;
  // otherwise waits for a millisecond.
  static bool wait_if_alive(std::uint32_t thread, Shared shared) {
    const int error = errno;
    const long result = shared == Shared::by_threads ? syscall(SYS_tgkill, getpid(), thread, 0)
                                                     : syscall(SYS_tkill, thread, 0);
    const bool ended = result != 0 && errno == ESRCH;
    constexpr timespec millisecond{0, 1'000'000};
    if (!ended) nanosleep(&millisecond, nullptr);
    errno = error;
    return !ended;
  }

  // Takes less than a millisecond if processors are free.
  static constexpr unsigned max_turns = 1u << 14;
  static constexpr unsigned turns_per_yield = 1u << 7;
  // Ten seconds plus the attempts.
  static constexpr unsigned max_waits = 10'000;
  std::uint32_t& word_;
  std::uint32_t self_;
};

// Whether no other thread runs.
inline bool alone() { return __libc_single_threaded != 0; }

// Adds to a counter to which other threads may add; returns the sum. A signal handler of this
// thread may add too.
template <typename Integer>
[[gnu::always_inline]] inline Integer add(Integer& counter, Integer amount,
                                          bool is_alone = alone()) {
#if defined(__x86_64__)
  if (is_alone) {
    // One instruction, but not locked.
    asm("add %1, %0" : "+m"(counter) : "r"(amount) : "cc");
    return counter;
  }
#endif
  return __atomic_add_fetch(&counter, amount, __ATOMIC_RELAXED);
}

}  // namespace nearfar::profile
