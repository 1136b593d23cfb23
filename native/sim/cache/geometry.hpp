// Size of a cache of which only one line in `rate` is simulated.
#pragma once

#include <cstdint>

#include "base/units.hpp"

namespace nearfar::sim {

struct CacheGeometry {
  std::uint64_t sets = 1;  // simulated
  unsigned ways = 1;

  // Returns the sets for one line in 2^rate_log2 of a cache of `size`. At least one set remains, so
  // callers must compare `simulated()` with the size they wanted.
  static constexpr CacheGeometry of(Bytes size, unsigned ways, unsigned rate_log2) {
    const std::uint64_t bytes_per_set = (cache_line * ways).count << rate_log2;
    const std::uint64_t sets = (size.count + bytes_per_set / 2) / bytes_per_set;
    return {sets == 0 ? 1 : sets, ways};
  }
  constexpr std::uint64_t lines() const { return sets * ways; }
  // Size of the full cache that this sample represents.
  constexpr Bytes simulated(unsigned rate_log2) const {
    return Bytes{(lines() << rate_log2) * cache_line.count};
  }
};

}  // namespace nearfar::sim
