// First-level cache of a core (LRU sets). The next level needs no model, because it can hold a
// whole burst.
#pragma once

#include <array>
#include <cstdint>

namespace nearfar::sim {

// 32 KiB with 8 ways; today's cores have 32 KiB to 48 KiB.
class FirstLevel {
 public:
  // Returns whether the line is cached, and caches it.
  bool touch(std::uint32_t line) {
    auto& set = sets_[line % set_count];
    std::uint32_t at = 0;
    while (at < ways - 1 && set[at] != line + 1) ++at;
    const bool hit = set[at] == line + 1;
    for (; at > 0; --at) set[at] = set[at - 1];
    set[0] = line + 1;
    return hit;
  }

 private:
  static constexpr std::uint32_t set_count = 64;
  static constexpr std::uint32_t ways = 8;
  std::array<std::array<std::uint32_t, ways>, set_count> sets_{};
};

}  // namespace nearfar::sim
