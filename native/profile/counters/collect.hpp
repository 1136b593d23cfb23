// Counters as used by nf_replay_run while it reads the program's events.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// True from nf_perf_attach on.
bool counts_natively();
// Reads new samples from the kernel's rings.
void take_samples();
// Attributes those taken that are not later than this, in CLOCK_MONOTONIC; to be called before the
// tables change, as what the program reports has its time too.
void count_samples_until(std::uint64_t time_ns);
// Attributes the counts since the last call to `phase`; returns instructions so far.
std::uint64_t look_at_counters(std::uint32_t phase, bool wanted);
// Closes everything and keeps what nf_perf_read_facts returns.
void close_counters();
void forget_counters();

}  // namespace nearfar::profile
