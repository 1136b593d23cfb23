#include "sim/device/permutation.hpp"

#include <doctest/doctest.h>

#include <vector>

using nearfar::sim::Permutation;

TEST_CASE("a permutation has every index once, for any count and seed") {
  for (const std::uint64_t count : {1ULL, 2ULL, 3ULL, 7ULL, 64ULL, 65ULL, 1000ULL, 4096ULL}) {
    for (const std::uint64_t seed : {0ULL, 1ULL, 99ULL}) {
      const Permutation order(count, seed);
      std::vector<int> seen(count);
      for (std::uint64_t i = 0; i < count; ++i) {
        REQUIRE(order(i) < count);
        ++seen[order(i)];
      }
      for (const int times : seen) REQUIRE(times == 1);
      CHECK(order(count) == order(0));
    }
  }
}

TEST_CASE("consecutive elements are not neighbours in memory") {
  const Permutation order(1 << 16, 1);
  unsigned near = 0;
  for (std::uint64_t i = 0; i + 1 < (1 << 16); ++i) {
    const auto distance =
        static_cast<std::int64_t>(order(i + 1)) - static_cast<std::int64_t>(order(i));
    near += distance >= -64 && distance <= 64 ? 1 : 0;
  }
  CHECK(near < 2 * 128);  // 128 of 65536 by chance
}
