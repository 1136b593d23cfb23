// Runs one thread of the program at a time; the schedule's seed decides which one is next. Nothing
// else runs while an event is recorded, and the same seed gives the same order.
//
// A thread takes turns from its start, or from its first pthread_create. It may lose its turn when
// it touches the pool or requests a lock, and gives it up where it would wait. A thread that waits
// in an unscheduled way (its own futex, a pipe, a spin loop) loses its turn after a while. Such
// cases are counted, because the order then depends on the system.
//
// If NEARFAR_CRASH_CHOICES is set, that file chooses the next thread. After its last choice, a
// thread keeps its turn as long as it can continue. Each choice is recorded, so that
// nearfar/crash/interleavings.py can find other choices.
#pragma once

#include <cstddef>
#include <cstdint>

#include "crash/trace.h"

namespace nearfar::crash {

// The next step of a thread: lines of the pool, or the number of a lock.
struct Step {
  nf_crash_step kind = NF_CRASH_STEP_OTHER;
  std::uint64_t first = 0;
  std::uint64_t count = 0;
};
// Returns a step on the pool; an empty step if the address is outside it.
Step step_at(nf_crash_step kind, const void* address, std::size_t bytes);
// Returns a step on a lock, condition, ..., which are numbered in the order of their first use.
std::uint64_t number_of_object(const void* object);

// Whether the calling thread takes turns.
bool scheduled();

// Counts a thread that takes no turns: its locks and waits are not recorded.
void count_unscheduled();

// Announces a new thread; returns its number, or -1 if there are too many.
int expect_thread();
void forget_thread(int number);
// Waits until the thread has started, so that the set of ready threads does not depend on the
// system.
void await_begin(int number);
// Starts the announced thread, which waits for its turn.
void enter_thread(int number, unsigned long handle);
void leave_thread();
// Returns the thread's number, or -1.
int number_of(unsigned long handle);

// Called before a step; another thread may get the turn here.
void may_switch(const Step& step);
// Gives the turn to another thread if one is ready.
void yield_turn();
// Waits until `awaited` is woken. Returns false if `timed` and no other thread could continue, in
// which case the wait has timed out.
bool wait_for(const void* awaited, bool timed = false);
// Wakes all threads that wait for `awaited`, or only the first.
void wake(const void* awaited, bool only_first = false);
// Keys for waiting for a thread's start and end.
const void* begin_of(int number);
const void* end_of(int number);
bool has_ended(int number);

// Ends scheduling in the child of a fork, which has one thread.
void end_schedule();

}  // namespace nearfar::crash
