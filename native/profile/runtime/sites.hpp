// Allocation sites and their live bytes.
#pragma once

#include <cstdint>

#include "profile/runtime/process_file.hpp"
#include "profile/runtime/recent_call.hpp"
#include "profile/runtime/runtime.hpp"
#include "profile/runtime/stack_walk.hpp"
#include "sim/cache/sampled_lines.hpp"

namespace nearfar::profile {

// Blocks from this size on are regions: tagged when touched, not when allocated.
inline constexpr std::uint64_t large_block = 1u << 20;

// At rates up to 64, blocks from this size on are counted one by one.
inline constexpr std::uint64_t always_sampled = 8192;

// Returns the site of a heap block of `size` bytes. Repeated calls of a thread are fast.
std::uint16_t find_site_of_block(Call call, std::uint64_t size);
inline std::uint16_t site_of_block(Call call, std::uint64_t size) {
  if (runtime.control->split_sizes == 0 && this_thread.tag == 0) {
    if (const std::uint16_t site = recent_site(call); site != site_none) return site;
  }
  return find_site_of_block(call, size);
}
// Returns the site of memory of `kind` that `call` allocates; `path` distinguishes files.
std::uint16_t site_of_call(ObjectKind kind, Call call, const char* path = nullptr);
// Returns the site of a path, for a module's data.
std::uint16_t site_of_path(ObjectKind kind, const char* path);

// Returns the part of a site that a tag names; if the tag is 0, the part of the size class of
// `size`. A part of a part is a part of its whole.
std::uint16_t site_of_part(std::uint16_t site, std::uint64_t size, std::uint32_t tag);

// Statistical weight of a block. Below two pages, its bytes in sampled lines and whether its first
// byte is sampled, both times the rate, which is unbiased. Above, the block counts as it is.
struct Weight {
  std::uint64_t allocations;
  std::uint64_t bytes;
};
Weight weight_of(std::uint64_t begin, std::uint64_t size, std::uint64_t sampled_bytes);
// Whether a block is below always_sampled bytes and in at most two pages, at the usual rate.
inline bool is_in_two_pages(std::uint64_t address, std::uint64_t size) {
  return runtime.lines.rate_log2() == sim::SampledLines::usual_rate_log2 && size < always_sampled &&
         (address & 4095) + size <= 8192;
}
// The same weight for such a block.
inline Weight weight_of(const sim::SampledLines::Cover& cover) {
  constexpr unsigned rate_log2 = sim::SampledLines::usual_rate_log2;
  return {std::uint64_t{cover.first_byte_sampled()} << rate_log2, cover.bytes() << rate_log2};
}

void count_allocated(std::uint16_t site, Weight weight);
void count_freed(std::uint16_t site, std::uint64_t bytes);
// Moves bytes that were counted for `from` to the site `to`. If `from` is a whole site, its
// allocated bytes and its peak are corrected too, as if it had never had these bytes.
void count_moved(std::uint16_t from, std::uint16_t to, Weight weight);

}  // namespace nearfar::profile
