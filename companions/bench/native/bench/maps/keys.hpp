// The keys of a run, distinct and in insertion order, and their values.
#pragma once

#include <algorithm>
#include <cstdint>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/maps/hash.hpp"

namespace nearfar::bench {

inline const std::vector<std::string> key_orders{"random", "ascending", "descending"};
inline const std::vector<std::string> visit_orders{"shuffled", "inserted", "sorted"};

inline std::vector<std::uint64_t> keys_of(const std::string& order, std::uint64_t count,
                                          std::uint64_t seed) {
  std::vector<std::uint64_t> keys(count);
  for (std::uint64_t i = 0; i < count; ++i) {
    // mixed() is a bijection, so random keys are distinct.
    keys[i] = order == "random"      ? mixed((seed << 40U) + i + 1)
              : order == "ascending" ? i + 1
                                     : count - i;
  }
  return keys;
}

// Returns the order of look-ups or removals.
inline std::vector<std::uint64_t> visits_of(const std::string& order,
                                            const std::vector<std::uint64_t>& inserted,
                                            std::uint64_t seed) {
  std::vector<std::uint64_t> keys = inserted;
  if (order == "sorted") {
    std::sort(keys.begin(), keys.end());
  } else if (order == "shuffled") {
    std::mt19937_64 random(seed);
    std::shuffle(keys.begin(), keys.end(), random);
  }
  return keys;
}

inline std::uint64_t value_of(std::uint64_t key) { return mixed(key + 0x5bd1e995U); }

}  // namespace nearfar::bench
