// Order in which a chase visits lines, and the starts of k chains in it.
#pragma once

#include <cstdint>
#include <vector>

#include "measure/shape.hpp"

namespace nearfar::measure {

// Returns the lines that a chase of `shape` visits, in order; they form a cycle. Accesses begin at
// every stride; the lines of an access are consecutive. Accesses are in random order (or in
// sequence, if not `random`) within each window, and windows follow each other. The seed determines
// the order. Throws std::length_error from 256 GiB on.
std::vector<std::uint32_t> chase_order(std::uint64_t lines, const Shape& shape, bool random,
                                       std::uint64_t seed);

// Returns the positions in an order of `lines` at which `chains` chains of `steps` accesses start.
//
// The starts are equally spaced. If the chains fit, each starts where the previous one ends, so
// consecutive runs visit consecutive parts of the order, and no line is visited again before all
// others were.
std::vector<std::uint64_t> chain_starts(std::uint64_t lines, unsigned chains, std::uint64_t steps,
                                        std::uint64_t position);

// A sequence whose low n bits take all 2^n values in 2^n steps, for every n: random kernels visit
// every line once per pass without a table. It costs two instructions per line; more would fill the
// core's window and hide how many misses it overlaps. Knuth's linear congruential generator
// (multiplier 1 modulo 4, odd increment: full period).
constexpr std::uint64_t scatter_next(std::uint64_t state) noexcept {
  return state * 2862933555777941757U + 3037000493U;
}

// Returns the i-th state, counted from 0. Squaring the step needs about 2 log2(i) steps.
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
