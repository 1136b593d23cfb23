// Accesses reported by instrumented code.
#pragma once

#include <cstdint>

#include "profile/runtime/counter_batch.hpp"
#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

// Lists an access to a sampled line for simulation (pending_access.h). `owner`, if given, replaces
// the memory's site.
void access_line(std::uint64_t address, std::uint32_t site, bool store,
                 std::uint16_t owner = site_none);
// Handles an access to every sampled line of a range.
void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store);

// For the child of a fork: drops listed accesses that are not simulated yet, because they are the
// parent's.
void forget_accesses();

// Counts a write-back of a line of this site.
void count_write_back(std::uint32_t phase, std::uint16_t site, CounterBatch* batch = nullptr);

// Instruction IDs of accesses that the pass does not see: those of the C library's allocator, and
// those of uninstrumented libraries by memcpy and similar functions.
enum LibrarySite : std::uint32_t {
  in_malloc,
  in_calloc,
  in_realloc_from,
  in_realloc_to,
  in_foreign_load,
  in_foreign_loads,
  in_foreign_store,
  in_foreign_stores
};
inline constexpr std::uint32_t library_sites = 8;

// Copies an instruction's description to the process file.
void record_instruction(std::uint32_t site);

}  // namespace nearfar::profile
