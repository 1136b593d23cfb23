// What each thread's core has for itself: a private cache, a translation cache; and lines that
// go from one core's to another's.
//
// Looked at are the lines that reuse distances look at (reuse.hpp): they never take the short way,
// so their recency is right, and their number does not depend on a small cache's size as sampled
// lines of that cache's would. A thread is taken to stay on a core of its own.
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
