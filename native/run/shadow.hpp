// The shadow: the objects of sampled blocks, in a table with one word per page of block addresses.
//
// Of large blocks, one page in each group of eight is sampled, by a hash of the group's number. Of
// smaller ones, a countdown of bytes chooses blocks, so a block's probability is its size; each
// stands for a group's bytes. A block that is not chosen costs a subtraction at malloc and a
// comparison at free.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

// Null until it is mapped.
extern std::uint32_t* shadow __attribute__((visibility("hidden")));

inline constexpr std::uint32_t start_shift = 16;
// In place of a block's start if the block began in an earlier page.
inline constexpr std::uint32_t continued = 0x7FFFu;
// Set with the start of a block that the countdown chose where nothing is placed.
inline constexpr std::uint32_t chosen_bit = 0x8000u;
// Bytes that a chosen block represents where blocks are placed.
inline constexpr std::size_t group_bytes = page_bytes << NF_RUN_PAGE_BITS;
// Bytes from which on each block has pages of its own and is recorded by these.
inline constexpr std::size_t large_bytes = group_bytes + group_bytes / 2;

// A block's start in the word of its page; 0 for the last eight bytes of a page.
inline std::uint32_t start_of(const void* block) {
  return static_cast<std::uint32_t>((reinterpret_cast<std::uint64_t>(block) + 8) % page_bytes);
}

inline std::uint64_t page_of(const void* block) {
  return (reinterpret_cast<std::uint64_t>(block) - first_address) / page_bytes;
}

// Whether free has to remove a placed block from the table; seldom true without need.
inline bool may_be_recorded(const void* block, std::uint64_t page) {
  return shadow[page] >> start_shift == start_of(block);
}

// Maps the table; false: no addresses or no memory for it.
bool map_shadow();
// Makes the table's part for claimed addresses writable, if there is a table; false: the kernel
// refuses.
bool shadow_of(std::uint64_t begin, std::uint64_t bytes);
// Records a block by its pages, which no other block has. `size` is the requested size; at free it
// is the usable size, which may be larger.
void record_block(const void* block, std::size_t size, std::uint16_t object);
// Records a chosen block; false: its page has another one. `alone`: where nothing is placed.
bool record_sample(const void* block, std::uint16_t object, bool alone);
void forget_block(const void* block, std::size_t size);

}  // namespace nearfar::run
