// Runs one thread of the program at a time; the schedule's seed draws the next. Nothing else runs
// while an event is recorded, and the same seed gives the same order.
//
// A thread takes turns from its first pthread_create, or its start, on. It may lose its turn when
// it touches the pool or requests a lock, and yields where it would wait. A thread that waits in an
// unscheduled way (its own futex, a pipe, a spin) loses its turn after a while. These cases are
// counted, because the order then depends on the system.
#pragma once

#include <cstdint>

namespace nearfar::crash {

// Whether the calling thread takes turns.
bool scheduled();

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

// Point at which another thread may get the turn.
void may_switch();
// Gives the turn to another thread if one is ready.
void yield_turn();
// Waits until `awaited` is woken; returns false if no other thread could continue and `timed`, so
// the wait timed out.
bool wait_for(const void* awaited, bool timed = false);
// Wakes all threads that wait for `awaited`, or only the first.
void wake(const void* awaited, bool only_first = false);
// Key of waits for a thread's end.
const void* end_of(int number);
bool has_ended(int number);

// Ends scheduling in the child of a fork, which has one thread.
void end_schedule();

}  // namespace nearfar::crash
