// Live bytes over time, in a bounded number of samples.
#pragma once

#include <cstdint>

#include "profile/runtime/runtime.hpp"
#include "profile/runtime/thread.hpp"

namespace nearfar::profile {

// Called whenever the live bytes of the process grow; records the composition of the peak.
void record_peak(std::int64_t total_bytes);
inline void update_live_total(std::int64_t total_bytes) {
  if (total_bytes > runtime.header->peak_bytes) record_peak(total_bytes);
}

// Takes a sample if the interval has passed. The first interval is given in the control page. When
// the table is full, every second sample is dropped and the interval doubles.
void sample_live();
// Tries to sample at some events only, because reading the clock costs more than counting an
// access.
inline constexpr std::int32_t live_events_per_clock = 256;
inline void sample_live_sometimes(std::int32_t events = 1) {
  this_thread.events_left -= events;
  if (this_thread.events_left > 0) return;
  this_thread.events_left = live_events_per_clock;
  sample_live();
}

// Restarts sampling in the child of a fork.
void restart_live();

}  // namespace nearfar::profile
