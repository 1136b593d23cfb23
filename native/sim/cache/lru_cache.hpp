// A set-associative, write-allocate, write-back cache with least-recently-used replacement.
#pragma once

#include <cstdint>

#include "sim/cache/geometry.hpp"
#include "sim/cache/lru_set.hpp"

namespace nearfar::sim {

// The caller provides the memory of the ways (lines() zeroed words), because the profiler's runtime
// must not allocate. Not synchronised: callers that share a cache must lock `set_of(line)`.
class LruCache {
 public:
  LruCache() = default;
  LruCache(CacheGeometry geometry, LineWord* ways) : geometry_(geometry), ways_(ways) {}

  const CacheGeometry& geometry() const { return geometry_; }

  // Consecutive lines map to consecutive sets.
  std::uint64_t set_of(std::uint64_t line) const {
    const std::uint64_t sets = geometry_.sets;
    return (sets & (sets - 1)) == 0 ? line & (sets - 1) : line % sets;
  }

  // Returns the set in a physically indexed cache. Physical pages are scattered, so each stretch of
  // `sets` lines is rotated by whole pages: arrays fill all sets evenly, and lines a power of two
  // apart do not collide.
  std::uint64_t physical_set_of(std::uint64_t line, unsigned lines_per_page) const {
    const std::uint64_t stretch = line / geometry_.sets;
    return set_of(line + ((stretch * 0x9E3779B97F4A7C15ull) >> 40) * lines_per_page);
  }

  // Most recently used line of a set.
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
