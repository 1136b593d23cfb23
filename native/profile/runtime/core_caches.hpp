// Simulates the private cache and TLB of each thread's core, and transfers of lines between cores.
//
// It samples the lines of the reuse distances (reuse.hpp): these never take the fast path, so their
// recency is correct, and their number does not depend on the size of a small cache. Each thread is
// assumed to stay on its own core.
#pragma once

#include <cstdint>

#include "profile/runtime/counter_batch.hpp"
#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

// Reads the processor's cache sizes. Returns false if address space cannot be reserved.
bool reserve_core_caches();

struct CoreAccess {
  std::uint32_t phase;
  std::uint16_t owner;
  std::uint32_t site;  // instruction ID
  std::uint64_t line;  // ordinal
  std::uint64_t address;
  bool store;
  bool shared_hit;  // the last-level cache hit
};
void count_in_core(const CoreAccess& access);

// A recent access. If the same instruction accesses the same 16 bytes again while the line is the
// most recent of its set, only a count changes. The entry is valid while the words that it points
// to are unchanged, so it is never invalidated explicitly.
struct RecentAccess {
  std::uint64_t granule;  // address / 16; 0: free
  std::uint32_t site;
  std::uint16_t owner;
  std::uint16_t phase;
  std::uint64_t word;        // the line's word in its set, with the dirty bit set
  const std::uint64_t* way;  // word of the set's most recent line
  const std::uint16_t* tag;  // owner of the granule's memory
  std::uint64_t* accesses;
};
// As many as the sampled granules that hot loops touch.
inline constexpr unsigned recent_accesses = 128;

// Returns the thread's recent accesses, or null if it has no core.
RecentAccess* recents_of_core();
// The lines of an object that an instruction of one thread missed last.
struct RecentMisses {
  CounterRecord* counter;  // null: free
  std::uint64_t lines[recent_lines];
};
// Returns the lines that the thread missed last, most recent first. They are kept per thread,
// because interleaved misses of other threads would hide that they are in sequence. While no other
// thread counts, the counter's own list is used.
std::uint64_t* recent_misses(CounterRecord& counter);

// Returns the batch of the thread's counts, or null if it has no core.
CounterBatch* batch_of_core();

}  // namespace nearfar::profile
