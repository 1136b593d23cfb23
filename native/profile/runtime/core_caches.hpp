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

// An access that, repeated by the same instruction to the same 16 bytes while its line is its set's
// most recent, changes only a count. It is valid while the words it points to are unchanged, so it
// is never invalidated explicitly.
struct RecentAccess {
  std::uint64_t granule;  // address / 16; 0: free
  std::uint32_t site;
  std::uint16_t owner;
  std::uint16_t phase;
  std::uint64_t word;        // the line's word in its set, with the dirty bit set
  const std::uint64_t* way;  // of the set's most recent line
  const std::uint16_t* tag;  // owner of the granule's memory
  std::uint64_t* accesses;
};
// As many as hot loops touch sampled granules.
inline constexpr unsigned recent_accesses = 128;

// Returns the thread's recent accesses, or null if it has no core.
RecentAccess* recents_of_core();
// The lines that an instruction missed last in an object, of one thread.
struct RecentMisses {
  CounterRecord* counter;  // null: free
  std::uint64_t lines[recent_lines];
};
// Returns the lines that the thread missed last, most recent first. Other threads' misses between
// them would hide that they are in sequence. They are the counter's own while nobody else counts.
std::uint64_t* recent_misses(CounterRecord& counter);

// Returns the batch of the thread's counts, or null if it has no core.
CounterBatch* batch_of_core();

}  // namespace nearfar::profile
