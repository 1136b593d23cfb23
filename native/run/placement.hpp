// Placement of targets: their addresses, and the memory that backs these.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// Returns new zeroed memory of a target, a multiple of pages; null if addresses or memory are used
// up. Bytes that do not fit into the target's memories go near and are counted.
void* place_extent(unsigned target, std::size_t bytes, std::size_t alignment);
void release_extent(void* begin, std::size_t bytes);

// Places a mapping of the program in `target`, by its ranges if it has a position; and forgets an
// unmapped one.
void place_mapping(unsigned target, void* begin, std::size_t bytes, std::uint64_t position);
void mapping_gone(void* begin, std::size_t bytes);

// Returns memory for one block of a target in parts, or in ranges from a position on; and whether
// an address is in such a block.
void* place_divided(unsigned target, std::size_t bytes, std::uint64_t position);
inline bool is_divided(const void* block) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(block) - first_address;
  return offset >> slot_bits >= near_slots && (offset >> (slot_bits - 1) & 1) != 0;
}

// Whether the target's memory is a single mapping that can grow.
bool is_one_mapping(unsigned target);

// Whether pages of the target can be returned to the kernel and are zero afterwards.
bool is_purgeable(unsigned target);

}  // namespace nearfar::run
