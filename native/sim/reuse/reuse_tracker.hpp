// Reuse distances of any length from sampled lines, in room that does not grow.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/reuse/reuse_stack.hpp"

namespace nearfar::sim {

// Two stacks. The *near* one looks at a fixed share of lines and is exact up to so many of them;
// the *far* one halves its share of lines whenever it holds too many, so that it reaches any
// distance with the same number of lines (SHARDS: Waldspurger et al., FAST 2015).
class ReuseTracker {
 public:
  // 4096 lines know a share of 10 % to 0.5 % (one sigma).
  static constexpr std::uint32_t lines = 4096;
  // Beyond the lines that are traced: one in four of these.
  static constexpr unsigned least_thinning_log2 = 2;
  static constexpr std::uint64_t bytes() { return 2 * ReuseStack::bytes_for(lines); }

  // What a touch says of itself. Distances are in traced lines' worth: times the tracing rate and
  // 64 bytes is the memory touched in between.
  struct Touch {
    std::uint64_t distance = 0;
    unsigned weight_log2 = 0;  // it stands for so many touches of traced lines
    bool known = false;        // false: further away than the near stack reaches
    bool far = false;          // whether the far stack looks at this line
    std::uint64_t far_distance = 0;
    unsigned far_weight_log2 = 0;
    bool far_known = false;  // false: never touched before
  };

  ReuseTracker() = default;
  explicit ReuseTracker(void* memory)
      : near_(lines, memory),
        far_(lines, static_cast<char*>(memory) + ReuseStack::bytes_for(lines)) {}

  // Whether a line (its ordinal among traced lines) is looked at.
  static bool looked_at(std::uint64_t line) { return chosen(line, least_thinning_log2); }

  Touch touch(std::uint64_t line) {
    Touch found;
    found.weight_log2 = least_thinning_log2;
    const std::uint32_t distance = near_.touch(line);
    if (near_.over()) near_.drop_oldest();
    found.known = distance != ReuseStack::unseen;
    if (found.known) found.distance = std::uint64_t{distance} << least_thinning_log2;
    if (!chosen(line, thinning_log2_)) return found;
    found.far = true;
    found.far_weight_log2 = thinning_log2_;
    const std::uint32_t far_distance = far_.touch(line);
    found.far_known = far_distance != ReuseStack::unseen;
    if (found.far_known) found.far_distance = std::uint64_t{far_distance} << thinning_log2_;
    while (far_.over()) {
      ++thinning_log2_;
      far_.keep_only([this](std::uint64_t kept) { return chosen(kept, thinning_log2_); });
    }
    return found;
  }

  // Distances up to this many traced lines are from the near stack.
  static constexpr std::uint64_t near_reach() {
    return std::uint64_t{lines} << least_thinning_log2;
  }

 private:
  static bool chosen(std::uint64_t line, unsigned thinning_log2) {
    // Bits that the choice of sampled lines and the index of sets do not use.
    const std::uint64_t hash = (line ^ line >> 32) * 0xD6E8FEB86659FD93ull;
    return hash >> (64 - thinning_log2) == 0;
  }

  ReuseStack near_;
  ReuseStack far_;
  unsigned thinning_log2_ = least_thinning_log2;
};

}  // namespace nearfar::sim
