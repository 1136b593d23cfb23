// The order in which a chase visits lines, and where k chains start in it.
#pragma once

#include <cstdint>
#include <vector>

namespace nearfar::measure {

// Every line 0..lines-1 once, blocks of `block_lines` in random order and the lines of a block in
// random order one after the other; a chase that follows it and returns to the start is one cycle.
// block_lines = 1: random over everything. The same seed gives the same order.
std::vector<std::uint32_t> random_order(std::uint64_t lines, std::uint64_t block_lines,
                                        std::uint64_t seed);

// Positions in an order of `lines` where `chains` chains of `steps` accesses each start.
//
// Equally spaced; where they fit, one starts where another ends, so that a run visits a stretch
// of the order and the next run the stretch behind it: a line comes back only after all others.
std::vector<std::uint64_t> chain_starts(std::uint64_t lines, unsigned chains, std::uint64_t steps,
                                        std::uint64_t position);

// A sequence of which, for every n, the low n bits take all 2^n values in 2^n steps: a random
// kernel that indexes lines by them touches every line once a pass and needs no table. It costs two
// instructions a line; more would fill the core's window and hide how many misses it keeps going.
// Knuth's linear congruential generator (multiplier 1 modulo 4, odd increment: full period).
constexpr std::uint64_t scatter_next(std::uint64_t state) noexcept {
  return state * 2862933555777941757U + 3037000493U;
}

// Its i-th state, counted from 0: i steps in about 2 log2(i), by squaring the step.
constexpr std::uint64_t scatter_at(std::uint64_t i) noexcept {
  std::uint64_t state = 0;
  std::uint64_t multiplier = 2862933555777941757U;
  std::uint64_t increment = 3037000493U;
  for (; i != 0; i >>= 1U) {
    if ((i & 1U) != 0) state = state * multiplier + increment;
    increment *= multiplier + 1;
    multiplier *= multiplier;
  }
  return state;
}

}  // namespace nearfar::measure
