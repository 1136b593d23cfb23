// Flushes and non-temporal stores of the program, and the fences that wait for them.
//
// All of them are counted, not only those of sampled lines: the head of a log, for example, is a
// single line that is flushed a million times.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Reports flushes of a range's lines, which stay in the caches (clwb) or not (clflush).
void lines_flushed(std::uint64_t address, std::uint64_t size, bool stay);
// Reports a non-temporal store.
void bytes_streamed(std::uint64_t address, std::uint64_t size);
// Reports sfence, mfence, or an instruction with a lock prefix. It counts only if this thread has
// flushed anything.
void fence_passed();
// Reports a transaction's snapshot of a range.
void bytes_logged(std::uint64_t address, std::uint64_t size);
void range_synced(std::uint64_t address, std::uint64_t size);

}  // namespace nearfar::profile
