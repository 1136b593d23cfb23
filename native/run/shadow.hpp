// The shadow: the object of each sampled page, in a table with one word per page of block
// addresses.
//
// One page in each group of eight is sampled, by a hash of the group's number. It counts for the
// object whose block covers one chosen place of the page, so its probability is the object's share
// of the page. A block without such a place costs a multiplication and a comparison at malloc and
// one load at free.
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

// The address that decides its page's object: one in each group of eight pages, so its page is the
// sampled one. Hashed, because programs allocate in patterns.
inline constexpr unsigned group_bits = 12 + NF_RUN_PAGE_BITS;
inline std::uint64_t place_in(std::uint64_t group) {
  const std::uint64_t hash = group * NF_RUN_PAGE_FACTOR;
  return group << group_bits | (hash >> (64 - group_bits) & ~std::uint64_t{7});
}

// Whether malloc must record the block.
inline bool is_recorded(const void* block, std::size_t size) {
  if (size > page_bytes) return true;
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t group = begin >> group_bits;
  // As unsigned numbers: a place before the block is far beyond its end.
  if (__builtin_expect(place_in(group) - begin < size, 0)) return true;
  const std::uint64_t last = (begin + size - 1) >> group_bits;
  return __builtin_expect(last != group, 0) && place_in(last) - begin < size;
}

// Whether free may have to remove the block from the table; sometimes true without need.
inline bool may_be_recorded(const void* block) {
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  const std::uint32_t* entry = shadow + (begin - first_address) / page_bytes;
  // The next page's entry too: a block that is recorded there only.
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
