// A set-associative, write-allocate, write-back cache with least-recently-used replacement.
#pragma once

#include <cstdint>

#include "sim/cache/geometry.hpp"
#include "sim/cache/lru_set.hpp"

namespace nearfar::sim {

// The memory for the ways is the caller's (lines() zeroed words): the profiler's run time must
// not allocate. Not synchronised: callers that share it lock `set_of(line)`.
class LruCache {
 public:
  LruCache() = default;
  LruCache(CacheGeometry geometry, LineWord* ways) : geometry_(geometry), ways_(ways) {}

  const CacheGeometry& geometry() const { return geometry_; }

  // Consecutive line numbers go to consecutive sets, as in cachegrind and in the textbook.
  std::uint64_t set_of(std::uint64_t line) const {
    const std::uint64_t sets = geometry_.sets;
    return (sets & (sets - 1)) == 0 ? line & (sets - 1) : line % sets;
  }

  // The set of a line in a cache that physical addresses index: pages lie anywhere in memory, so
  // each stretch of as many lines as there are sets is rotated by whole pages. An array fills all
  // sets alike, and lines a power of two apart do not meet in a few of them.
  std::uint64_t physical_set_of(std::uint64_t line, unsigned lines_per_page) const {
    const std::uint64_t stretch = line / geometry_.sets;
    return set_of(line + ((stretch * 0x9E3779B97F4A7C15ull) >> 40) * lines_per_page);
  }

  // The most recent line of a set.
  const LineWord& most_recent(std::uint64_t set) const { return ways_[set * geometry_.ways]; }

  Outcome access(std::uint64_t line, std::uint16_t owner, bool store) {
    return access_in(set_of(line), line, owner, store);
  }
  Outcome access_in(std::uint64_t set, std::uint64_t line, std::uint16_t owner, bool store) {
    return access_lru_set(ways_ + set * geometry_.ways, geometry_.ways, line, owner, store);
  }

  bool flush_in(std::uint64_t set, std::uint64_t line, bool stays) {
    return flush_lru_set(ways_ + set * geometry_.ways, geometry_.ways, line, stays);
  }

 private:
  CacheGeometry geometry_;
  LineWord* ways_ = nullptr;
};

}  // namespace nearfar::sim
