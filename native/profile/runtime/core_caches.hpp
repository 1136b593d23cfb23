// The private cache and TLB of each thread's core, and transfers of lines between cores.
//
// Sampled are the lines of the reuse distances (reuse.hpp): they never take the fast path, so their
// recency is right, and their number does not depend on the size of a small cache. Each thread is
// assumed to stay on a core of its own.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Asks the processor for sizes. False if address space is short.
bool reserve_core_caches();

struct CoreAccess {
  std::uint32_t phase;
  std::uint16_t owner;
  std::uint32_t site;  // of the instruction
  std::uint64_t line;  // ordinal
  std::uint64_t address;
  bool store;
  bool shared_hit;  // in the last-level cache
};
void count_in_core(const CoreAccess& access);

}  // namespace nearfar::profile
