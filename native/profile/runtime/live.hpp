// Live bytes over time, in a bounded number of samples.
#pragma once

#include <cstdint>

#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

// Called whenever the process's live bytes change; records the composition of the peak.
void update_live_total(std::int64_t total_bytes);

// Takes a sample if the interval has passed. The interval starts at the control page's value; when
// the table is full, every second sample is dropped and the interval doubles.
void sample_live();
// Samples at some calls only: reading the clock costs more than counting an access.
inline void sample_live_sometimes() {
  constexpr std::uint32_t calls_per_clock = 256;
  if (++this_thread.events % calls_per_clock == 0) sample_live();
}

// Restarts sampling in the child of a fork.
void restart_live();

}  // namespace nearfar::profile
