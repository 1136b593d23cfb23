// Tests the sets of physically indexed lines.
#include <doctest/doctest.h>

#include <set>
#include <vector>

#include "sim/cache/lru_cache.hpp"

using nearfar::sim::LruCache;

TEST_CASE("consecutive lines, as many as sets, fill every set once") {
  for (const std::uint64_t sets : {2048u, 1500u}) {
    const LruCache cache({sets, 16}, nullptr);
    for (const std::uint64_t start : {0u, 7u, 1000u}) {
      std::set<std::uint64_t> used;
      for (std::uint64_t line = 0; line < sets; ++line) {
        used.insert(cache.physical_set_of(start * sets + line, 64));
      }
      CHECK(used.size() == sets);
    }
  }
}

TEST_CASE("lines a power of two apart use as many sets as pages can start in") {
  const LruCache cache({2048, 16}, nullptr);
  std::set<std::uint64_t> used;
  std::set<std::uint64_t> virtual_sets;
  for (std::uint64_t number = 0; number < 4096; ++number) {
    used.insert(cache.physical_set_of(number * 4096, 64));
    virtual_sets.insert(cache.set_of(number * 4096));
  }
  CHECK(virtual_sets.size() == 1);
  CHECK(used.size() == 2048 / 64);
}
