// Counters of events other than accesses.
#pragma once

#include <cstdint>

#include "profile/runtime/counter_batch.hpp"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

// Returns null if the table is full.
inline EventRecord* events_of(std::uint32_t phase, std::uint16_t site) {
  const std::uint64_t key = std::uint64_t{phase} << 48 | std::uint64_t{site} << 32;
  return runtime.events.find_or_add(key, this_thread.id, [](EventRecord&) {});
}

inline void count_event(std::uint32_t phase, std::uint16_t site,
                        std::uint64_t EventRecord::*counter, std::uint64_t amount,
                        CounterBatch* batch = nullptr) {
  EventRecord* record = events_of(phase, site);
  if (record != nullptr) count(batch, record->*counter, amount);
}

}  // namespace nearfar::profile
