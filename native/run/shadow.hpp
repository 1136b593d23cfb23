// The shadow: the objects of sampled blocks, in a table with one word per page of block addresses.
//
// For large blocks, one page in each group of eight is sampled, chosen by a hash of the group's
// number. For smaller blocks, a countdown of bytes chooses blocks, so that the probability of a
// block is proportional to its size; each chosen block represents the bytes of a group. A block
// that is not chosen costs a subtraction at malloc and a comparison at free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// The table; null until it is mapped.
extern std::uint32_t* shadow __attribute__((visibility("hidden")));

inline constexpr std::uint32_t start_shift = 16;
// Replaces the block's start if the block began in an earlier page.
inline constexpr std::uint32_t continued = 0x7FFFu;
// Set together with the start of a block that the countdown chose in a run that places nothing.
inline constexpr std::uint32_t chosen_bit = 0x8000u;
// Bytes that a chosen block represents in a run that places blocks.
inline constexpr std::size_t group_bytes = page_bytes << NF_RUN_PAGE_BITS;
// Size from which on each block has pages of its own and is recorded by these.
inline constexpr std::size_t large_bytes = group_bytes + group_bytes / 2;

// A block's start in the word of its page; 0 for the last eight bytes of a page.
inline std::uint32_t start_of(const void* block) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uint64_t>(block) + 8) % page_bytes);
}

inline std::uint64_t page_of(const void* block) {
  return (reinterpret_cast<std::uint64_t>(block) - first_address) / page_bytes;
}

// Whether free must remove a placed block from the table; seldom true without need.
inline bool may_be_recorded(const void* block, std::uint64_t page) {
  return shadow[page] >> start_shift == start_of(block);
}

// Maps the table; returns false if there are no addresses or memory for it.
bool map_shadow();
// Makes the table's part for claimed addresses writable, if there is a table; returns false if the
// kernel refuses.
bool shadow_of(std::uint64_t begin, std::uint64_t bytes);
// Records a block by its pages, which no other block shares. `size` is the requested size; at free
// it is the usable size, which may be larger.
void record_block(const void* block, std::size_t size, std::uint16_t object);
// Records a chosen block in a run that places blocks; returns false if its page already has one.
bool record_sample(const void* block, std::uint16_t object);
// Records a block that was chosen in a run that places nothing, with its usable size. It has pages
// of its own.
void record_lone_sample(const void* block, std::size_t size, std::uint16_t object);
void forget_block(const void* block, std::size_t size);

}  // namespace nearfar::run
