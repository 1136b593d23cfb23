#include "crash/schedule.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "crash/kernel_state.hpp"
#include "crash/order.hpp"
#include "crash/recorder.hpp"

namespace nearfar::crash {

namespace {

constexpr int max_threads = 256;
// A thread that sleeps in the kernel while others wait loses its turn after two checks.
constexpr long check_period_ns = 20000000;
constexpr unsigned max_checks_asleep = 2;
// A thread that computes without an event loses its turn after 20 ticks (10 ms each) of CPU time:
// libpmemobj spins for its own locks, and few programs compute so long without an event.
constexpr unsigned long max_busy_ticks = 20;

enum class ThreadState : std::uint8_t { nothing, ready, waiting, away, ended };

struct Thread {
  ThreadState state = ThreadState::nothing;
  bool timed = false;
  bool timed_out = false;
  const void* awaited = nullptr;
  Step next;               // the thread's first step in its next turn
  std::uint32_t turn = 0;  // futex: 1 while the thread has the turn
  long id = 0;
  unsigned long handle = 0;
};

Thread threads[max_threads];
int thread_count = 0;
int current = -1;
std::uint64_t events = 0;  // events so far; a turn without any may be stuck
std::uint32_t gate = 0;
__attribute__((tls_model("initial-exec"))) thread_local int own_number = -1;

// Wakes requested by a signal handler while its thread held the gate or waited for it.
constexpr unsigned max_late_wakes = 16;
__attribute__((tls_model("initial-exec"))) thread_local volatile bool at_gate = false;
__attribute__((tls_model("initial-exec"))) thread_local const void* late_wakes[max_late_wakes];
__attribute__((tls_model("initial-exec"))) thread_local volatile unsigned late_wake_count = 0;

void wake_waiting(const void* awaited, bool only_first) {
  for (int i = 0; i < thread_count; ++i) {
    if (threads[i].state != ThreadState::waiting || threads[i].awaited != awaited) continue;
    threads[i].state = ThreadState::ready;
    if (only_first) return;
  }
}

// Woken threads check again whether they must wait, so too many wakes do no harm.
void wake_late() {
  if (late_wake_count > max_late_wakes) {
    for (int i = 0; i < thread_count; ++i) {
      if (threads[i].state == ThreadState::waiting) threads[i].state = ThreadState::ready;
    }
  } else {
    for (unsigned i = 0; i < late_wake_count; ++i) wake_waiting(late_wakes[i], false);
  }
  late_wake_count = 0;
}

}  // namespace

Gate::Gate() {
  at_gate = true;  // set first, so that a signal handler never waits for its own thread
  while (__atomic_exchange_n(&gate, 1u, __ATOMIC_ACQUIRE) != 0) syscall(SYS_sched_yield);
}

Gate::~Gate() {
  __atomic_store_n(&gate, 0u, __ATOMIC_RELEASE);
  at_gate = false;
  if (late_wake_count == 0) return;
  Gate const held;
  wake_late();
}

bool Gate::held_here() { return at_gate; }

namespace {

void begin_schedule() {
  begin_order();
  threads[0] = {};
  threads[0].state = ThreadState::ready;
  threads[0].id = syscall(SYS_gettid);
  threads[0].turn = 1;
  thread_count = 1;
  own_number = current = 0;
}

// Returns which of the first 64 threads can continue, as bits.
std::uint64_t ready_threads() {
  std::uint64_t ready = 0;
  for (int i = 0; i < thread_count && i < 64; ++i) {
    if (threads[i].state == ThreadState::ready) ready |= std::uint64_t{1} << i;
  }
  return ready;
}

// Chooses a ready thread at random, `last_choice` only if no other is ready; -1 if there is none.
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

// Ends a timed wait, because no thread can continue; returns its thread, or -1.
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

// Takes the turn from a thread that waits in an unscheduled way.
class TurnMonitor {
 public:
  void check() {
    Gate const held;
    if (current < 0) {
      give_turn_to(draw_ready(-1));
      return;
    }
    // If no other thread can continue, the owner may sleep.
    if (!any_ready()) return;
    if (current != owner_ || events != seen_) {
      owner_ = current;
      seen_ = events;
      asleep_ = 0;
      kernel_state_of(threads[current].id, &first_ticks_);
      return;
    }
    unsigned long ticks = 0;
    const char code = kernel_state_of(threads[current].id, &ticks);
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

// Pages open for this thread's stores would hide another thread's. The caller holds the lock.
void close_open_pages() {
  if (recording()) record_pending();
}

// Returns the thread that gets the turn from this one, which keeps it only if no other can
// continue. The caller holds the recorder's lock.
int next_thread(bool stays_ready) {
  int next = -1;
  if (by_choice()) {
    const std::uint64_t ready = ready_threads();
    next = choose(own_number, true, ready);
    record_turn(next, ready, next < 0 ? Step{} : threads[next].next);
  } else {
    next = draw_ready(stays_ready ? own_number : -1);
  }
  return next < 0 ? draw_timed() : next;
}

void switch_to_any(bool stay_ready) {
  {
    Lock const lock;
    close_open_pages();
    Gate const held;
    Thread& thread = threads[own_number];
    thread.turn = 0;
    if (stay_ready) thread.state = ThreadState::ready;
    give_turn_to(next_thread(stay_ready));
  }
  await_turn();
}

// Gives the turn to the chosen thread, which may be this one.
void choose_next(const Step& step) {
  int chosen = -1;
  {
    Lock const lock;
    close_open_pages();
    Gate const held;
    events += 1;
    threads[own_number].next = step;
    const std::uint64_t ready = ready_threads();
    chosen = choose(own_number, false, ready);
    record_turn(chosen, ready, chosen < 0 ? Step{} : threads[chosen].next);
  }
  if (chosen >= 0 && chosen != own_number) {
    {
      Gate const held;
      threads[own_number].turn = 0;
      give_turn_to(chosen);
    }
    await_turn();
  }
  Gate const held;
  threads[own_number].next = {};
}

// Waits for a new turn if this thread has lost its turn.
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

void count_unscheduled() {
  __atomic_fetch_add(&header()->unscheduled_threads, 1u, __ATOMIC_RELAXED);
}

int expect_thread() {
  if (header() == nullptr) return -1;
  if (thread_count == 0) begin_schedule();
  Gate const held;
  if (own_number < 0 || thread_count == max_threads) {
    count_unscheduled();
    return -1;
  }
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
      events += 1;  // counts as an event: the turn is not stuck
    }
    const timespec moment{0, 20000};
    syscall(SYS_nanosleep, &moment, nullptr);
  }
}

void leave_thread() {
  if (own_number < 0) return;
  regain_turn();
  const void* const end = end_of(own_number);
  {
    Lock const lock;
    close_open_pages();
  }
  record_sync(end, Sync::release);
  {
    Lock const lock;
    Gate const held;
    threads[own_number].state = ThreadState::ended;
    threads[own_number].turn = 0;
    wake_waiting(end, false);
    give_turn_to(next_thread(false));
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

void may_switch(const Step& step) {
  // A signal handler that interrupts a switch does not switch again.
  if (own_number < 0 || at_gate) return;
  regain_turn();
  if (by_choice()) return choose_next(step);
  bool switches = false;
  {
    Gate const held;
    events += 1;
    switches = draws_switch();
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
  if (at_gate) {
    // The interrupted thread is at the gate and does the waking when it leaves.
    if (late_wake_count < max_late_wakes) late_wakes[late_wake_count] = awaited;
    if (late_wake_count <= max_late_wakes) late_wake_count = late_wake_count + 1;
    return;
  }
  Gate const held;
  wake_waiting(awaited, only_first);
}

const void* begin_of(int number) { return &threads[number].id; }
const void* end_of(int number) { return &threads[number].handle; }

bool has_ended(int number) {
  Gate const held;
  return threads[number].state == ThreadState::ended;
}

void end_schedule() {
  gate = 0;
  thread_count = 0;
  end_order();
  current = own_number = -1;
}

}  // namespace nearfar::crash
