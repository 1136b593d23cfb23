// The shadow: the object of each sampled page, in a table with one word per page of block
// addresses.
//
// One page in eight is sampled, by a hash of its number. It counts for the object whose block
// covers one chosen place of the page, so its probability is the object's share of the page. A
// block without such a place costs an addition and a comparison at malloc and one load at free.
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
// Set with the start of a block that the countdown chose: it represents `sample_bytes`.
inline constexpr std::uint32_t chosen_bit = 0x8000u;
inline constexpr std::size_t sample_bytes = NF_RUN_CHOSEN_BYTES;
// The same in sampled pages.
inline constexpr std::uint64_t sample_pages = sample_bytes >> NF_RUN_PAGE_BITS >> 12;

inline std::uint64_t hash_of_page(std::uint64_t page) { return page * NF_RUN_PAGE_FACTOR; }
inline bool is_sampled(std::uint64_t hash) { return hash >> (64 - NF_RUN_PAGE_BITS) == 0; }
// The byte of a page that decides its object.
inline std::uint64_t place_of(std::uint64_t page, std::uint64_t hash) {
  return page * page_bytes + (hash >> (64 - NF_RUN_PAGE_BITS - 9) & 511) * 8;
}

// Whether malloc must record the block.
inline bool is_recorded(const void* block, std::size_t size) {
  if (size > page_bytes) return true;
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  // Without branches: one page in eight is sampled, and no processor predicts which.
  const std::uint64_t page = begin / page_bytes;
  const std::uint64_t last = (begin + size - 1) / page_bytes;
  const std::uint64_t hash = hash_of_page(page);
  const std::uint64_t last_hash = hash_of_page(last);
  const unsigned first_covers = is_sampled(hash) & (place_of(page, hash) - begin < size);
  const unsigned last_covers = is_sampled(last_hash) & (place_of(last, last_hash) - begin < size);
  return (first_covers | last_covers) != 0;
}

// Whether free may have to remove the block from the table; sometimes true without need.
inline bool may_be_recorded(const void* block) {
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  const std::uint32_t* entry = shadow + (begin - first_address) / page_bytes;
  std::uint64_t both = 0;
  __builtin_memcpy(&both, entry, sizeof both);
  const auto here = static_cast<std::uint32_t>(both);
  const auto next = static_cast<std::uint32_t>(both >> 32);
  const std::uint32_t start = here >> start_shift & ~chosen_bit;
  // Without branches, because one page in eight has an entry and no processor predicts which.
  const unsigned begins = start == begin % page_bytes / 8 + 1;
  const unsigned covers = start == continued;
  const unsigned continues = next >> start_shift == continued;
  return (begins | covers | continues) != 0;
}

// Maps the table; false: no addresses or no memory for it.
bool map_shadow();
// Makes the table's part for claimed addresses writable, if there is a table; false: the kernel
// refuses.
bool shadow_of(std::uint64_t begin, std::uint64_t bytes);
// `size` is the requested size; at free it is the usable size, which may be larger.
void record_block(const void* block, std::size_t size, std::uint16_t object);
void record_sample(const void* block, std::uint16_t object);
void forget_block(const void* block, std::size_t size);

}  // namespace nearfar::run
