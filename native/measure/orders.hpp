// The two orders in which bandwidth kernels visit their lane.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "measure/cycle.hpp"
#include "measure/kernel.hpp"

namespace nearfar::measure {

// Calls block(first line, count) for `iterations` lines from lane.position on, over the first
// `lines` lines of the lane, wrapping at their end.
template <typename Block>
void in_sequence(Lane& lane, std::uint64_t lines, std::uint64_t iterations, Block block) {
  while (iterations > 0) {
    const std::uint64_t first = lane.position % lines;
    const std::uint64_t count = std::min(iterations, lines - first);
    block(first, count);
    lane.position += count;
    iterations -= count;
  }
}

// Calls one(line) for `iterations` lines in random order, each once a pass over the largest power
// of two of the lane's lines.
template <typename One>
void scattered(Lane& lane, std::uint64_t iterations, One one) {
  const std::uint64_t mask = std::bit_floor(lane.lines) - 1;
  std::uint64_t state = scatter_at(lane.position);
  for (std::uint64_t i = 0; i < iterations; ++i) {
    one(lane.line(state & mask));
    state = scatter_next(state);
  }
  lane.position += iterations;
}

}  // namespace nearfar::measure
