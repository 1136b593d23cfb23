// Reuse distances of touched lines, counted by phase and site: the miss curve.
#pragma once

#include <cstdint>

#include "profile/runtime/counter_batch.hpp"

namespace nearfar::profile {

// Returns false if address space cannot be reserved.
bool reserve_reuse();
void unlock_reuse();

// Returns whether reuse distances of this sampled line (by ordinal) are computed. Such lines never
// use the fast path for repeated accesses, because their recency would become outdated.
bool reuse_samples(std::uint64_t line);
// Prefetches the data that count_reuse will read.
void prefetch_reuse(std::uint64_t line);
void count_reuse(std::uint32_t phase, std::uint16_t site, std::uint64_t line, bool store);

struct ReuseTouch {
  std::uint64_t line;
  std::uint16_t site;
  bool store;
};
// Maximum number of touches; a list has at most as many accesses (pending_access.h).
inline constexpr unsigned max_reuse_touches = 32;
// Counts touches in this order, with a single wait for other threads.
void count_reuses(std::uint32_t phase, const ReuseTouch* touches, unsigned touch_count,
                  CounterBatch* batch);

}  // namespace nearfar::profile
