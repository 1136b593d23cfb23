// State of a thread of this process, from the kernel.
#pragma once

namespace nearfar::crash {

// Returns a thread's state (S sleeping, R running, X unknown) and its ticks of CPU time.
char kernel_state_of(long thread, unsigned long* ticks);

}  // namespace nearfar::crash
