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

// Lines a scattered kernel visits: the largest power of two in the lane.
inline std::uint64_t scattered_lines(const Lane& lane) { return std::bit_floor(lane.lines); }

// Calls one(line) for `iterations` lines in random order, each once a pass.
template <typename One>
void scattered(Lane& lane, std::uint64_t iterations, One one) {
  const auto bits = static_cast<unsigned>(std::countr_zero(scattered_lines(lane)));
  const std::uint64_t end = lane.position + iterations;
  for (std::uint64_t i = lane.position; i < end; ++i) one(lane.line(scatter(i, bits)));
  lane.position = end;
}

}  // namespace nearfar::measure
