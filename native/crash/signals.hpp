// SIGSEGV and SIGTRAP are ours while the pool is mapped; the program's own handlers still get what
// is not about the pool.
#pragma once

#include <signal.h>

namespace nearfar::crash {

void take_signal(int number, void (*handler)(int, siginfo_t*, void*));
// To the program's handler; without one the signal does what it does by default.
void pass_on(int number, siginfo_t* info, void* context);

}  // namespace nearfar::crash
