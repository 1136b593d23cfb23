// Interface of the counters for nf_replay_run.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Whether nf_perf_attach was called.
bool counts_natively();
// Reads new samples from the kernel's rings.
void read_samples();
// Attributes samples up to this time (CLOCK_MONOTONIC). Call it before a timed event changes the
// tables.
void count_samples_until(std::uint64_t time_ns);
// Attributes the counts since the last call to `phase`; returns the instructions so far.
std::uint64_t read_counters(std::uint32_t phase, bool wanted);
// Closes all counters and keeps the data that nf_perf_read_facts returns.
void close_counters();
void reset_counters();

}  // namespace nearfar::profile
