// Ranges of an object in different memories, by the positions of its large blocks
// (base/positions.hpp). Each object with ranges has a target of its own.
#pragma once

#include <cstdint>

#include "run/memories.hpp"
#include "run/state.hpp"

namespace nearfar::run {

inline constexpr std::uint64_t no_position = UINT64_MAX;

inline bool is_ranged(unsigned target) {
  return table != nullptr && table->targets[target].style == NF_RUN_IN_RANGES;
}

// Whether the profile counted a block of this size by position: it has 1 MiB, including the
// allocator's rounding.
inline bool has_position(std::size_t size) { return size + 16 > (1u << 20); }

// Returns the position of a new block or mapping; `no_position` if the target has no ranges.
std::uint64_t take_position(unsigned target, std::uint64_t bytes);
void give_position(unsigned target, std::uint64_t position, std::uint64_t bytes);

// Returns the position that is this many bytes after another.
inline std::uint64_t advanced(std::uint64_t position, std::uint64_t bytes) {
  return position == no_position ? no_position : position + bytes;
}

// Returns the range at a position, and sets `bytes` to the number of bytes until the next range.
const nf_run_range& range_at(unsigned target, std::uint64_t position, std::uint64_t& bytes);

// Policy of a range's pages.
inline Policy policy_of(const nf_run_range& range) {
  if (range.apart != 0) return Policy::moves_apart;
  return table->adapts != 0 ? Policy::moves : Policy::of_memory;
}

void ranges_in_child();

}  // namespace nearfar::run
