// Addresses for targets, and the memory behind them.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// Fresh zeroed memory of a target, a multiple of pages; null if the addresses or the memory are
// used up. What does not fit into the target's memories goes near and is counted.
void* place_extent(unsigned target, std::size_t bytes, std::size_t alignment);
void release_extent(void* begin, std::size_t bytes);
// Addresses of near memory with nothing behind them; and near memory that was mapped over some.
void* place_addresses(std::size_t bytes);
void place_again(void* begin, std::size_t bytes);

// Puts memory that the program mapped itself where `target` is; and what is no longer mapped.
void place_mapping(unsigned target, void* begin, std::size_t bytes);
void mapping_gone(void* begin, std::size_t bytes);

// The same for one block of an in-parts target; and whether an address is in such a block.
void* place_divided(unsigned target, std::size_t bytes);
inline bool is_divided(const void* block) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(block) - first_address;
  return offset >> slot_bits >= near_slots && (offset >> (slot_bits - 1) & 1) != 0;
}

// Whether what is put there stays one mapping, of memory that can grow.
bool is_one_mapping(unsigned target);

// Whether pages of the target can be given back to the kernel and come back zeroed.
bool is_purgeable(unsigned target);

}  // namespace nearfar::run
