// Sizes of a simulated cache of which one line in `rate` is simulated.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace nearfar::sim {

struct CacheGeometry {
  std::uint64_t sets = 1;  // simulated
  unsigned ways = 1;

  // The sets that hold one line in 2^rate_log2 of a cache of `size`. A cache smaller than one
  // simulated set keeps one: callers compare `simulated()` with what they wanted.
  static constexpr CacheGeometry of(Bytes size, unsigned ways, unsigned rate_log2) {
    const std::uint64_t bytes_per_set = (cache_line * ways).count << rate_log2;
    const std::uint64_t sets = (size.count + bytes_per_set / 2) / bytes_per_set;
    return {sets == 0 ? 1 : sets, ways};
  }
  constexpr std::uint64_t lines() const { return sets * ways; }
  // The cache that this one stands for.
  constexpr Bytes simulated(unsigned rate_log2) const {
    return Bytes{(lines() << rate_log2) * cache_line.count};
  }
};

}  // namespace nearfar::sim
