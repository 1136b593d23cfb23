// Misses by range of an object's large memory: blocks of 1 MiB or more, mappings, mapped files.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/regions.hpp"

namespace nearfar::profile {

// Sets the position of a new region within its site's memory: the offset in a file, or the lowest
// free position of a block (base/positions.hpp).
void set_position(Region& region);
void set_file_position(Region& region, std::uint64_t offset);
// Frees the position of a removed region.
void free_position(const Region& region);

// Caches the range of the last count, because the next count often belongs to it too. A cursor does
// not notice changes of regions, so it must be used for a few counts only.
struct RangeCursor {
  Region region{};
  std::uint64_t key = 0;
  RangeRecord* record = nullptr;
};

// Counts sampled misses or write-backs of a line.
void count_in_range(RangeCursor& cursor, std::uint32_t phase, std::uint16_t site,
                    std::uint64_t address, RangeKind kind, std::uint64_t events = 1);
void count_line_in_range(RangeCursor& cursor, std::uint32_t phase, std::uint16_t site,
                         std::uint64_t line, RangeKind kind);

// For the child of a fork.
void unlock_ranges();

}  // namespace nearfar::profile
