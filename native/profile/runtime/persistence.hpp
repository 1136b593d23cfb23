// Lines that the program flushes or stores past the caches, and the fences that wait for them.
//
// Every one is counted, not only those of sampled lines: a log's head is one line that is flushed a
// million times.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// The lines of a range are flushed; they stay in the caches (clwb) or not (clflush).
void lines_flushed(std::uint64_t address, std::uint64_t size, bool stay);
// A store past the caches.
void bytes_streamed(std::uint64_t address, std::uint64_t size);
// sfence, mfence, or an instruction with a lock prefix: counts if this thread flushed anything.
void fence_passed();
// A transaction snapshots a range.
void bytes_logged(std::uint64_t address, std::uint64_t size);
void range_synced(std::uint64_t address, std::uint64_t size);

}  // namespace nearfar::profile
