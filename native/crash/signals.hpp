// The recorder handles SIGSEGV and SIGTRAP; signals that do not concern the pool go to the
// program's own handlers.
#pragma once

#include <signal.h>

namespace nearfar::crash {

void install_handler(int number, void (*handler)(int, siginfo_t*, void*));
// Calls the program's handler, or restores the default action if it has none.
void call_program_handler(int number, siginfo_t* info, void* context);

}  // namespace nearfar::crash
