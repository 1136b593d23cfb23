// Allocation sites and their live bytes.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// Blocks from this size on are regions: tagged when touched, not when allocated.
inline constexpr std::uint64_t large_block = 1u << 20;

// Returns the site of a heap block of `size` bytes; fast for repeated calls of a thread.
std::uint16_t site_of_block(Call call, std::uint64_t size);
// Returns the site of `kind` of `call`; `path` distinguishes files.
std::uint16_t site_of_call(ObjectKind kind, Call call, const char* path = nullptr);
// Returns the site of a path: a module's data.
std::uint16_t site_of_path(ObjectKind kind, const char* path);

// Returns the part of a site that a tag names, or for tag 0 the size class of `size`. A part's
// parts are those of its whole.
std::uint16_t site_of_part(std::uint16_t site, std::uint64_t size, std::uint32_t tag);

// Statistical weight of a block. Below two pages, its sampled bytes and its sampled first byte
// times the rate, both unbiased; above, the block itself.
struct Weight {
  std::uint64_t allocations;
  std::uint64_t bytes;
};
Weight weight_of(std::uint64_t begin, std::uint64_t size, std::uint64_t sampled_bytes);

void count_allocated(std::uint16_t site, Weight weight);
void count_freed(std::uint16_t site, std::uint64_t bytes);
// The bytes were counted for `from`; a whole never had what is its part's.
void count_moved(std::uint16_t from, std::uint16_t to, Weight weight);

}  // namespace nearfar::profile
