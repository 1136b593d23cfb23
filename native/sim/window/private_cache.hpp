// The first-level cache of a core: who was used last in each set. Which level beyond it has a line
// that the burst touched before is no question: a burst fits the second.
#pragma once

#include <array>
#include <cstdint>

namespace nearfar::sim {

// 32 KiB of 8 ways to 48 KiB of 12 on today's cores; the smaller has been usual for longest.
class FirstLevel {
 public:
  // Tells whether the line is there, and puts it there.
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
