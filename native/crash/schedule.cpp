#include "crash/schedule.hpp"

#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

constexpr int max_threads = 256;
// A turn whose owner sleeps in the kernel while others wait ends after two checks.
constexpr long check_period_ns = 20000000;
constexpr unsigned max_checks_asleep = 2;
// A turn that computes ends after 20 ticks (10 ms each) of CPU time without an event: libpmemobj
// spins for its own locks, and few programs compute so long without touching the pool or a lock.
constexpr unsigned long max_busy_ticks = 20;

enum class ThreadState : std::uint8_t { nothing, ready, waiting, away, ended };

struct Thread {
  ThreadState state = ThreadState::nothing;
  bool timed = false;
  bool timed_out = false;
  const void* awaited = nullptr;
  std::uint32_t turn = 0;  // futex: 1 while the thread has the turn
  long id = 0;
  unsigned long handle = 0;
};

Thread threads[max_threads];
int thread_count = 0;
int current = -1;
std::uint64_t events = 0;  // events so far; a turn without any may be stuck
std::uint64_t dice = 0;
std::uint64_t switch_one_in = 8;
std::uint32_t gate = 0;
__attribute__((tls_model("initial-exec"))) thread_local int own_number = -1;

class Gate {
 public:
  Gate() {
    while (__atomic_exchange_n(&gate, 1u, __ATOMIC_ACQUIRE) != 0) syscall(SYS_sched_yield);
  }
  ~Gate() { __atomic_store_n(&gate, 0u, __ATOMIC_RELEASE); }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
};

// SplitMix64 (Steele, Lea, Flood 2014).
std::uint64_t draw() {
  dice += 0x9e3779b97f4a7c15ULL;
  std::uint64_t x = dice;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

void begin_schedule() {
  dice = header()->schedule;
  // Rare switches find bugs that need long runs of a thread, frequent ones those that need short
  // runs.
  constexpr std::uint64_t rates[] = {8, 2, 32};
  switch_one_in = rates[header()->schedule % 3];
  threads[0] = {};
  threads[0].state = ThreadState::ready;
  threads[0].id = syscall(SYS_gettid);
  threads[0].turn = 1;
  thread_count = 1;
  own_number = current = 0;
}

// Draws a ready thread, `last_choice` only if no other is ready; -1 if there is none.
int draw_ready(int last_choice) {
  int count = 0;
  int chosen = -1;
  for (int i = 0; i < thread_count; ++i) {
    if (i == last_choice || threads[i].state != ThreadState::ready) continue;
    count += 1;
    if (draw() % static_cast<std::uint64_t>(count) == 0) chosen = i;
  }
  if (chosen < 0 && last_choice >= 0 && threads[last_choice].state == ThreadState::ready)
    chosen = last_choice;
  return chosen;
}

bool any_ready() {
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].state == ThreadState::ready && i != current) return true;
  }
  return false;
}

// If no thread can continue, a timed wait ends.
int draw_timed() {
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].state != ThreadState::waiting || !threads[i].timed) continue;
    threads[i].state = ThreadState::ready;
    threads[i].timed_out = true;
    return i;
  }
  return -1;
}

void give_turn_to(int next) {
  current = next;
  events += 1;
  if (next < 0) return;
  __atomic_store_n(&threads[next].turn, 1u, __ATOMIC_RELEASE);
  syscall(SYS_futex, &threads[next].turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Returns a thread's state (S sleeping, R running, X unknown) and its ticks of CPU time.
char state_of(long id, unsigned long* ticks) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", id);
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'X';
  char text[512] = {};
  const long received = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  // proc(5): pid (name) state ...; utime and stime are fields 14 and 15.
  const char* at = received > 0 ? strrchr(text, ')') : nullptr;
  if (at == nullptr) return 'X';
  char code = 'X';
  unsigned long user = 0;
  unsigned long system = 0;
  sscanf(at + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &code, &user, &system);
  *ticks = user + system;
  return code;
}

// Takes the turn from a thread that waits in an unscheduled way.
class TurnMonitor {
 public:
  void check() {
    Gate const held;
    if (current < 0) {
      give_turn_to(draw_ready(-1));
      return;
    }
    // No other thread can continue, so the owner may sleep.
    if (!any_ready()) return;
    if (current != owner_ || events != seen_) {
      owner_ = current;
      seen_ = events;
      asleep_ = 0;
      state_of(threads[current].id, &first_ticks_);
      return;
    }
    unsigned long ticks = 0;
    const char code = state_of(threads[current].id, &ticks);
    asleep_ = code == 'S' || code == 'X' ? asleep_ + 1 : 0;
    if (asleep_ < max_checks_asleep && ticks - first_ticks_ < max_busy_ticks) return;
    threads[current].state = code == 'X' ? ThreadState::ended : ThreadState::away;
    threads[current].turn = 0;
    header()->unscheduled_waits += 1;
    give_turn_to(draw_ready(-1));
  }

 private:
  int owner_ = -1;
  std::uint64_t seen_ = 0;
  unsigned asleep_ = 0;
  unsigned long first_ticks_ = 0;
};

void await_turn() {
  TurnMonitor monitor;
  while (__atomic_load_n(&threads[own_number].turn, __ATOMIC_ACQUIRE) == 0) {
    const timespec timeout{0, check_period_ns};
    const long result =
        syscall(SYS_futex, &threads[own_number].turn, FUTEX_WAIT_PRIVATE, 0, &timeout, nullptr, 0);
    if (result != 0 && __atomic_load_n(&threads[own_number].turn, __ATOMIC_ACQUIRE) == 0)
      monitor.check();
  }
}

// Pages opened for this thread's stores would hide another thread's.
void close_open_pages() {
  Lock const lock;
  if (recording()) record_pending();
}

void switch_to_any(bool stay_ready) {
  close_open_pages();
  {
    Gate const held;
    Thread& thread = threads[own_number];
    thread.turn = 0;
    if (stay_ready) thread.state = ThreadState::ready;
    int next = draw_ready(stay_ready ? own_number : -1);
    if (next < 0) next = draw_timed();
    give_turn_to(next);
  }
  await_turn();
}

// Waits for a new turn if this thread's turn was taken meanwhile.
void regain_turn() {
  if (__atomic_load_n(&threads[own_number].turn, __ATOMIC_ACQUIRE) != 0) return;
  {
    Gate const held;
    threads[own_number].state = ThreadState::ready;
    if (current < 0) give_turn_to(own_number);
  }
  await_turn();
}

}  // namespace

bool scheduled() { return own_number >= 0; }

int expect_thread() {
  if (header() == nullptr) return -1;
  if (thread_count == 0) begin_schedule();
  if (own_number < 0) return -1;
  Gate const held;
  if (thread_count == max_threads) return -1;
  threads[thread_count] = {};
  return thread_count++;
}

void forget_thread(int number) {
  Gate const held;
  threads[number].state = ThreadState::ended;
}

void enter_thread(int number, unsigned long handle) {
  own_number = number;
  {
    Gate const held;
    threads[number].id = syscall(SYS_gettid);
    threads[number].handle = handle;
    threads[number].state = ThreadState::ready;
  }
  await_turn();
}

void await_begin(int number) {
  for (;;) {
    {
      Gate const held;
      if (threads[number].state != ThreadState::nothing) return;
      events += 1;  // the turn is not stuck
    }
    const timespec moment{0, 20000};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
}

void leave_thread() {
  if (own_number < 0) return;
  regain_turn();
  close_open_pages();
  const void* const end = end_of(own_number);
  {
    Gate const held;
    threads[own_number].state = ThreadState::ended;
    threads[own_number].turn = 0;
    for (int i = 0; i < thread_count; ++i) {
      if (threads[i].state == ThreadState::waiting && threads[i].awaited == end)
        threads[i].state = ThreadState::ready;
    }
    int next = draw_ready(-1);
    if (next < 0) next = draw_timed();
    give_turn_to(next);
  }
  own_number = -1;
}

int number_of(unsigned long handle) {
  Gate const held;
  for (int i = thread_count; i-- > 0;) {
    if (threads[i].handle == handle && threads[i].state != ThreadState::nothing) return i;
  }
  return -1;
}

void may_switch() {
  if (own_number < 0) return;
  regain_turn();
  bool switches = false;
  {
    Gate const held;
    events += 1;
    switches = draw() % switch_one_in == 0;
  }
  if (switches) switch_to_any(true);
}

void yield_turn() {
  if (own_number < 0) return;
  regain_turn();
  switch_to_any(true);
}

bool wait_for(const void* awaited, bool timed) {
  regain_turn();
  {
    Gate const held;
    Thread& thread = threads[own_number];
    thread.state = ThreadState::waiting;
    thread.awaited = awaited;
    thread.timed = timed;
    thread.timed_out = false;
  }
  switch_to_any(false);
  return !threads[own_number].timed_out;
}

void wake(const void* awaited, bool only_first) {
  if (thread_count == 0) return;
  Gate const held;
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].state != ThreadState::waiting || threads[i].awaited != awaited) continue;
    threads[i].state = ThreadState::ready;
    if (only_first) return;
  }
}

const void* end_of(int number) { return &threads[number].handle; }

bool has_ended(int number) {
  Gate const held;
  return threads[number].state == ThreadState::ended;
}

void end_schedule() {
  gate = 0;
  thread_count = 0;
  current = own_number = -1;
}

}  // namespace nearfar::crash
