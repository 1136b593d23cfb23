// Reuse distances of touched lines, counted by phase and site: the miss curve.
#pragma once

#include <cstdint>

#include "profile/runtime/counter_batch.hpp"

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

struct ReuseTouch {
  std::uint64_t line;
  std::uint16_t site;
  bool store;
};
// At most as many as a list has accesses (pending_access.h).
inline constexpr unsigned most_reuse_touches = 32;
// Counts touches in this order, with one wait for the other threads.
void count_reuses(std::uint32_t phase, const ReuseTouch* touches, unsigned touch_count,
                  CounterBatch* batch);

}  // namespace nearfar::profile
