// What nf_replay_run asks of the counters while it reads what the program reports.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// True from nf_perf_attach on.
bool counts_natively();
// Takes what was sampled since out of the kernel's rings.
void take_samples();
// Attributes those taken that are not later than this, in CLOCK_MONOTONIC; to be called before the
// tables change, as what the program reports has its time too.
void count_samples_until(std::uint64_t time_ns);
// Gives what was counted since the last look to `phase`; returns instructions so far.
std::uint64_t look_at_counters(std::uint32_t phase, bool wanted);
// Closes everything and forgets nothing that nf_perf_read_facts tells.
void close_counters();
void forget_counters();

}  // namespace nearfar::profile
