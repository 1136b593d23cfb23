// Allocation sites, and the bytes that live there.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// Blocks from here up are regions: tagged when touched, not when allocated.
inline constexpr std::uint64_t large_block = 1u << 20;

// Number of the site of a heap block of so many bytes; quick where the thread was there before.
std::uint16_t site_of_block(Call call, std::uint64_t size);
// Number of the site of `kind` that `call` came from; `path` tells files apart.
std::uint16_t site_of_call(ObjectKind kind, Call call, const char* path = nullptr);
// Number of the site that is known by its path alone: a module's data.
std::uint16_t site_of_path(ObjectKind kind, const char* path);

// What a block counts as. Below two pages, sampled bytes times the rate and sampled first bytes
// times the rate, both right on average; above, itself.
struct Weight {
  std::uint64_t allocations;
  std::uint64_t bytes;
};
Weight weight_of(std::uint64_t begin, std::uint64_t size, std::uint64_t sampled_bytes);

void count_allocated(std::uint16_t site, Weight weight);
void count_freed(std::uint16_t site, std::uint64_t bytes);

}  // namespace nearfar::profile
