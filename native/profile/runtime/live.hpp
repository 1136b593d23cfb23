// Live bytes over time, in a bounded number of samples.
#pragma once

#include <cstdint>

#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

// Told whenever the process's live bytes change; keeps what the peak was made of.
void note_live_total(std::int64_t total_bytes);

// Takes a sample if the interval has passed. The interval starts at the control page's and doubles
// whenever the table is full, and then every second sample is dropped.
void sample_live();
// The same at every so many calls: reading the clock costs more than counting an access.
inline void sample_live_sometimes() {
  constexpr std::uint32_t calls_per_clock = 256;
  if (++this_thread.events % calls_per_clock == 0) sample_live();
}

// After fork: the child's samples begin anew.
void restart_live();

}  // namespace nearfar::profile
