// Order of stores as a signal handler sees them that interrupts this thread.
#pragma once

#include <atomic>

namespace nearfar {

// Keeps what comes before ahead of what comes after. A handler that jumps away then leaves a state
// that the stores so far explain.
inline void keep_order() { std::atomic_signal_fence(std::memory_order_seq_cst); }

}  // namespace nearfar
