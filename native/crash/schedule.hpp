// One thread of the program runs at a time, and who is next is drawn by the schedule's seed: so the
// world stands still while an event is taken, and the same seed gives the same order.
//
// A thread takes turns from its first pthread_create or its begin on. It may lose its turn where it
// touches the pool or asks for a lock; it gives it up where it would wait. A thread that waits in a
// way that is not known here (a futex of its own, a pipe, a spin) has its turn taken from it after
// a while, which is counted: the order is then the system's.
#pragma once

#include <cstdint>

namespace nearfar::crash {

// True if the calling thread takes turns.
bool scheduled();

// The calling thread begins another: returns its number, or -1 if there are too many.
int expect_thread();
void forget_thread(int number);
// Until it has begun, so that who is ready does not depend on the system.
void await_begin(int number);
// The thread that was expected begins, and waits for its turn.
void enter_thread(int number, unsigned long handle);
void leave_thread();
// The number of the thread, or -1.
int number_of(unsigned long handle);

// A place where another may go on.
void may_switch();
// Another goes on if any can.
void give_way();
// Waits until `what` is woken; false: nothing else can go on, and `timed` says that time passes.
bool wait_for(const void* what, bool timed = false);
// Wakes those that wait for `what`: all, or one.
void wake(const void* what, bool one = false);
// What a thread that ends wakes.
const void* end_of(int number);
bool has_ended(int number);

// In a child of fork: it is alone.
void end_schedule();

}  // namespace nearfar::crash
