// Reuse distances of touched lines, counted by phase and site: the miss curve.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Returns false if address space is short.
bool reserve_reuse();
void unlock_reuse();

// Whether reuse distances of this sampled line (by ordinal) are computed. Such lines never take the
// fast path for repeated accesses, because their recency would become outdated.
bool reuse_samples(std::uint64_t line);
// Fetches what count_reuse will read.
void prefetch_reuse(std::uint64_t line);
void count_reuse(std::uint32_t phase, std::uint16_t site, std::uint64_t line, bool store);

}  // namespace nearfar::profile
