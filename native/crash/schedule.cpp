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

constexpr int most_threads = 256;
// How long a turn may last while others wait and its owner sleeps in the system: two looks.
constexpr long look_every_ns = 20000000;
constexpr unsigned looks_asleep = 2;
// And while it computes, of its own processor time: 20 ticks of 10 ms. libpmemobj spins for a lock
// of its own that another thread sets up; few programs compute so long without touching the pool or
// a lock.
constexpr unsigned long ticks_busy = 20;

enum class Is : std::uint8_t { nothing, ready, waiting, away, ended };

struct Thread {
  Is is = Is::nothing;
  bool timed = false;
  bool timed_out = false;
  const void* what = nullptr;
  std::uint32_t turn = 0;  // futex: 1 while it is its turn
  long id = 0;
  unsigned long handle = 0;
};

Thread threads[most_threads];
int thread_count = 0;
int current = -1;
std::uint64_t events = 0;  // that were taken; a turn without any may be stuck
std::uint64_t dice = 0;
std::uint64_t switch_one_in = 8;
std::uint32_t gate = 0;
__attribute__((tls_model("initial-exec"))) thread_local int own = -1;

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
  // Few switches find what needs long runs, many what needs short ones.
  constexpr std::uint64_t rates[] = {8, 2, 32};
  switch_one_in = rates[header()->schedule % 3];
  threads[0] = {};
  threads[0].is = Is::ready;
  threads[0].id = syscall(SYS_gettid);
  threads[0].turn = 1;
  thread_count = 1;
  own = current = 0;
}

// One that is ready, drawn; -1 if there is none. `but` only if it is the only one.
int draw_ready(int but) {
  int count = 0;
  int chosen = -1;
  for (int i = 0; i < thread_count; ++i) {
    if (i == but || threads[i].is != Is::ready) continue;
    count += 1;
    if (draw() % static_cast<std::uint64_t>(count) == 0) chosen = i;
  }
  if (chosen < 0 && but >= 0 && threads[but].is == Is::ready) chosen = but;
  return chosen;
}

bool any_ready() {
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].is == Is::ready && i != current) return true;
  }
  return false;
}

// Where nothing can go on, time passes for those that wait until some time.
int draw_timed() {
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].is != Is::waiting || !threads[i].timed) continue;
    threads[i].is = Is::ready;
    threads[i].timed_out = true;
    return i;
  }
  return -1;
}

void hand_to(int next) {
  current = next;
  events += 1;
  if (next < 0) return;
  __atomic_store_n(&threads[next].turn, 1u, __ATOMIC_RELEASE);
  syscall(SYS_futex, &threads[next].turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

// Of the thread that has the turn: S sleeping, R running, and its ticks of processor time.
char state_of(long id, unsigned long* ticks) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/task/%ld/stat", id);
  const long file = syscall(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return 'X';
  char text[512] = {};
  const long got = syscall(SYS_read, file, text, sizeof text - 1);
  syscall(SYS_close, file);
  // proc(5): pid (name) state ...; utime and stime are fields 14 and 15.
  const char* at = got > 0 ? strrchr(text, ')') : nullptr;
  if (at == nullptr) return 'X';
  char state = 'X';
  unsigned long user = 0;
  unsigned long system = 0;
  sscanf(at + 2, "%c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &state, &user, &system);
  *ticks = user + system;
  return state;
}

// Takes the turn from a thread that waits in a way that is not known here.
class Watch {
 public:
  void look() {
    Gate const held;
    if (current < 0) {
      hand_to(draw_ready(-1));
      return;
    }
    // Nobody else could go on: it may sleep.
    if (!any_ready()) return;
    if (current != whose_ || events != seen_) {
      whose_ = current;
      seen_ = events;
      asleep_ = 0;
      state_of(threads[current].id, &first_ticks_);
      return;
    }
    unsigned long ticks = 0;
    const char state = state_of(threads[current].id, &ticks);
    asleep_ = state == 'S' || state == 'X' ? asleep_ + 1 : 0;
    if (asleep_ < looks_asleep && ticks - first_ticks_ < ticks_busy) return;
    threads[current].is = state == 'X' ? Is::ended : Is::away;
    threads[current].turn = 0;
    header()->stolen += 1;
    hand_to(draw_ready(-1));
  }

 private:
  int whose_ = -1;
  std::uint64_t seen_ = 0;
  unsigned asleep_ = 0;
  unsigned long first_ticks_ = 0;
};

void await_turn() {
  Watch watch;
  while (__atomic_load_n(&threads[own].turn, __ATOMIC_ACQUIRE) == 0) {
    const timespec patience{0, look_every_ns};
    const long woken =
        syscall(SYS_futex, &threads[own].turn, FUTEX_WAIT_PRIVATE, 0, &patience, nullptr, 0);
    if (woken != 0 && __atomic_load_n(&threads[own].turn, __ATOMIC_ACQUIRE) == 0) watch.look();
  }
}

// What is open for this thread's stores would hide another's.
void close_loose() {
  Lock const lock;
  if (recording()) sweep();
}

void switch_to_any(bool stay_ready) {
  close_loose();
  {
    Gate const held;
    Thread& mine = threads[own];
    mine.turn = 0;
    if (stay_ready) mine.is = Is::ready;
    int next = draw_ready(stay_ready ? own : -1);
    if (next < 0) next = draw_timed();
    hand_to(next);
  }
  await_turn();
}

// Its turn was taken while it was away: it waits for another.
void come_back() {
  if (__atomic_load_n(&threads[own].turn, __ATOMIC_ACQUIRE) != 0) return;
  {
    Gate const held;
    threads[own].is = Is::ready;
    if (current < 0) hand_to(own);
  }
  await_turn();
}

}  // namespace

bool scheduled() { return own >= 0; }

int expect_thread() {
  if (header() == nullptr) return -1;
  if (thread_count == 0) begin_schedule();
  if (own < 0) return -1;
  Gate const held;
  if (thread_count == most_threads) return -1;
  threads[thread_count] = {};
  return thread_count++;
}

void forget_thread(int number) {
  Gate const held;
  threads[number].is = Is::ended;
}

void enter_thread(int number, unsigned long handle) {
  own = number;
  {
    Gate const held;
    threads[number].id = syscall(SYS_gettid);
    threads[number].handle = handle;
    threads[number].is = Is::ready;
  }
  await_turn();
}

void await_begin(int number) {
  for (;;) {
    {
      Gate const held;
      if (threads[number].is != Is::nothing) return;
      events += 1;  // its turn is not stuck
    }
    const timespec moment{0, 20000};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
}

void leave_thread() {
  if (own < 0) return;
  come_back();
  close_loose();
  const void* const end = end_of(own);
  {
    Gate const held;
    threads[own].is = Is::ended;
    threads[own].turn = 0;
    for (int i = 0; i < thread_count; ++i) {
      if (threads[i].is == Is::waiting && threads[i].what == end) threads[i].is = Is::ready;
    }
    int next = draw_ready(-1);
    if (next < 0) next = draw_timed();
    hand_to(next);
  }
  own = -1;
}

int number_of(unsigned long handle) {
  Gate const held;
  for (int i = thread_count; i-- > 0;) {
    if (threads[i].handle == handle && threads[i].is != Is::nothing) return i;
  }
  return -1;
}

void may_switch() {
  if (own < 0) return;
  come_back();
  bool leaves = false;
  {
    Gate const held;
    events += 1;
    leaves = draw() % switch_one_in == 0;
  }
  if (leaves) switch_to_any(true);
}

void give_way() {
  if (own < 0) return;
  come_back();
  switch_to_any(true);
}

bool wait_for(const void* what, bool timed) {
  come_back();
  {
    Gate const held;
    Thread& mine = threads[own];
    mine.is = Is::waiting;
    mine.what = what;
    mine.timed = timed;
    mine.timed_out = false;
  }
  switch_to_any(false);
  return !threads[own].timed_out;
}

void wake(const void* what, bool one) {
  if (thread_count == 0) return;
  Gate const held;
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].is != Is::waiting || threads[i].what != what) continue;
    threads[i].is = Is::ready;
    if (one) return;
  }
}

const void* end_of(int number) { return &threads[number].handle; }

bool has_ended(int number) {
  Gate const held;
  return threads[number].is == Is::ended;
}

void end_schedule() {
  gate = 0;
  thread_count = 0;
  current = own = -1;
}

}  // namespace nearfar::crash
