// Simulates the private cache and TLB of each thread's core, and transfers of lines between cores.
//
// It samples the lines of the reuse distances (reuse.hpp): these never take the fast path, so their
// recency is correct, and their number does not depend on the size of a small cache. Each thread is
// assumed to stay on its own core.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// Reads the processor's cache sizes. Returns false if address space is short.
bool reserve_core_caches();

struct CoreAccess {
  std::uint32_t phase;
  std::uint16_t owner;
  std::uint32_t site;  // instruction ID
  std::uint64_t line;  // ordinal
  std::uint64_t address;
  bool store;
  bool shared_hit;  // hit in the last-level cache
};
void count_in_core(const CoreAccess& access);

}  // namespace nearfar::profile
