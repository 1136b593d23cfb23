// First-level cache of a core (LRU sets). The next level needs no model, because it can hold a
// whole burst.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace nearfar::sim {

// 32 KiB with 8 ways; today's cores have 32 KiB to 48 KiB.
class FirstLevel {
 public:
  // Returns whether the line is cached, and caches it.
  bool touch(std::uint32_t line) {
    auto& set = sets_[line % set_count];
    const std::uint32_t word = line + 1;
    // Every way is compared at once, because most bursts miss.
    Half near;
    Half far;
    std::memcpy(&near, set.data(), sizeof near);
    std::memcpy(&far, set.data() + ways / 2, sizeof far);
    const auto equal = (Pair)((near == word) | (far == word));
    if ((equal[0] | equal[1]) == 0) {
      std::memcpy(&far, set.data() + ways / 2 - 1, sizeof far);
      std::memcpy(set.data() + 1, &near, sizeof near);
      std::memcpy(set.data() + ways / 2, &far, sizeof far);
      set[0] = word;
      return false;
    }
    std::uint32_t at = 0;
    while (set[at] != word) ++at;
    for (; at > 0; --at) set[at] = set[at - 1];
    set[0] = word;
    return true;
  }

 private:
  static constexpr std::uint32_t set_count = 64;
  static constexpr std::uint32_t ways = 8;
  using Half = std::uint32_t __attribute__((vector_size(16)));
  using Pair = std::uint64_t __attribute__((vector_size(16)));
  std::array<std::array<std::uint32_t, ways>, set_count> sets_{};
};

}  // namespace nearfar::sim
