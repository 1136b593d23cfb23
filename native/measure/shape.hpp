// How a kernel goes over its lines: what a person chooses with --access, --stride and the like.
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace nearfar::measure {

struct Shape {
  Bytes access = cache_line;  // what one access touches: whole lines
  Bytes stride{};             // distance of neighbouring accesses; 0: `access`, side by side
  Bytes window{};             // random accesses stay in a window that moves on; 0: the whole lane
  double read_share = 1;      // reads over all lines, 0 to 1, of the mixed kernels
  unsigned fence_every = 1;   // accesses between two fences, of the persist kernels

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
  [[nodiscard]] constexpr std::uint64_t access_lines() const { return access / cache_line; }
  [[nodiscard]] constexpr std::uint64_t stride_lines() const {
    return std::max(stride, access) / cache_line;
  }
};

// Throws std::invalid_argument for what no kernel can do: parts of lines, overlapping accesses, a
// window below one access, a share beyond 0..1, no fence ever.
void check(const Shape& shape);

}  // namespace nearfar::measure
