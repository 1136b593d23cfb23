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

// The i-th of 2^bits lines in an order without visible pattern; a bijection for i < 2^bits, so a
// random kernel touches every line once a pass and needs no table of addresses.
constexpr std::uint64_t scatter(std::uint64_t i, unsigned bits) noexcept {
  const std::uint64_t mask = (std::uint64_t{1} << bits) - 1;
  const unsigned half = (bits + 1) / 2;
  // Odd multipliers are invertible modulo 2^bits; these are the golden ratio and SplitMix64's.
  std::uint64_t x = (i * 0x9E3779B97F4A7C15U) & mask;
  x ^= x >> half;
  x = (x * 0xBF58476D1CE4E5B9U) & mask;
  return x ^ (x >> half);
}

}  // namespace nearfar::measure
