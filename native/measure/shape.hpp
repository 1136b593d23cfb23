// How a kernel visits its lines (--access, --stride and others).
#pragma once

#include <algorithm>
#include <cstdint>

#include "base/units.hpp"

namespace nearfar::measure {

struct Shape {
  Bytes access = cache_line;  // size of an access: whole lines
  Bytes stride{};             // distance of neighbouring accesses; 0: `access`
  Bytes window{};            // random accesses finish one window before the next; 0: the whole lane
  double read_share = 1;     // share of lines read by mixed kernels, 0 to 1
  unsigned fence_every = 1;  // accesses per fence of the persist kernels

  friend constexpr bool operator==(const Shape&, const Shape&) = default;
  [[nodiscard]] constexpr std::uint64_t access_lines() const { return access / cache_line; }
  [[nodiscard]] constexpr std::uint64_t stride_lines() const {
    return std::max(stride, access) / cache_line;
  }
};

// Throws std::invalid_argument for an impossible shape: partial lines, overlapping accesses, a
// window smaller than an access, a share outside 0..1, no fence at all.
void check(const Shape& shape);

}  // namespace nearfar::measure
