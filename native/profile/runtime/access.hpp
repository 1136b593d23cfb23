// The accesses that instrumented code reports.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

// One access to a sampled line; `owner`, if given, is whose memory it counts as.
void access_line(std::uint64_t address, std::uint32_t site, bool store,
                 std::uint16_t owner = site_none);
// Every sampled line of a range, once.
void access_range(std::uint64_t address, std::uint64_t size, std::uint32_t site, bool store);

// A dirty line of this site was written to memory.
void count_write_back(std::uint32_t phase, std::uint16_t site);

// What no pass sees: what the C library's allocator touches itself, and what libraries that are
// not instrumented do by memcpy and its like. Instruction ids.
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

// Copies what is known of an instruction to the process file.
void remember_instruction(std::uint32_t site);

}  // namespace nearfar::profile
