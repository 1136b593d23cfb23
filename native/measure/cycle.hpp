// The order in which a chase visits lines, and where k chains start in it.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/shape.hpp"

namespace nearfar::measure {

// The lines that a chase of `shape` visits, in order; following it and returning to its start is
// one cycle. Accesses begin every stride; their lines come one after the other, the accesses
// themselves in random order within each window (or in sequence, if not `random`), window after
// window. The same seed gives the same order. Throws std::length_error from 256 GiB on.
std::vector<std::uint32_t> chase_order(std::uint64_t lines, const Shape& shape, bool random,
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
