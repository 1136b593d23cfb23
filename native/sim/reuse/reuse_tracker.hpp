// Estimates reuse distances of any length from sampled lines, in constant memory.
#pragma once

#include <bit>
#include <cstdint>

#include "sim/reuse/reuse_stack.hpp"

namespace nearfar::sim {

// Two stacks. The *near* stack samples a fixed share of lines and is exact up to its capacity; the
// *far* stack halves its share whenever it is full, so it covers any distance (SHARDS: Waldspurger
// et al., FAST 2015).
class ReuseTracker {
 public:
  // 4096 lines give a share of 10 % with a standard error of 0.5 %.
  static constexpr std::uint32_t lines = 4096;
  // Sampling on top of the traced lines: one in four.
  static constexpr unsigned min_thinning_log2 = 2;
  static constexpr std::uint64_t bytes() { return 2 * ReuseStack::bytes_for(lines); }

  // Result of a touch. Distances count traced lines: a distance times the tracing rate and 64 bytes
  // is the memory touched in between.
  struct Touch {
    std::uint64_t distance = 0;
    unsigned weight_log2 = 0;  // log2 of the number of traced touches that it represents
    bool known = false;        // false: the distance exceeds the reach of the near stack
    bool far = false;          // whether the far stack samples this line
    std::uint64_t far_distance = 0;
    unsigned far_weight_log2 = 0;
    bool far_known = false;  // false: first touch
  };

  ReuseTracker() = default;
  explicit ReuseTracker(void* memory)
      : near_(lines, memory),
        far_(lines, static_cast<char*>(memory) + ReuseStack::bytes_for(lines)) {}

  // Returns whether a line (an ordinal of traced lines) is sampled.
  static bool sampled(std::uint64_t line) { return chosen(line, min_thinning_log2); }

  // Prefetches the data that `touch` reads first.
  void prefetch(std::uint64_t line) const {
    near_.prefetch(line);
    if (chosen(line, thinning_log2_)) far_.prefetch(line);
  }

  Touch touch(std::uint64_t line) {
    Touch result;
    result.weight_log2 = min_thinning_log2;
    const std::uint32_t distance = near_.touch(line);
    near_.drop_excess();
    result.known = distance != ReuseStack::unseen;
    if (result.known) result.distance = std::uint64_t{distance} << min_thinning_log2;
    if (!chosen(line, thinning_log2_)) return result;
    result.far = true;
    result.far_weight_log2 = thinning_log2_;
    const std::uint32_t far_distance = far_.touch(line);
    result.far_known = far_distance != ReuseStack::unseen;
    if (result.far_known) result.far_distance = std::uint64_t{far_distance} << thinning_log2_;
    while (far_.over()) {
      ++thinning_log2_;
      far_.keep_only([this](std::uint64_t kept) { return chosen(kept, thinning_log2_); });
    }
    return result;
  }

  // The near stack covers distances up to this many traced lines.
  static constexpr std::uint64_t near_reach() { return std::uint64_t{lines} << min_thinning_log2; }

 private:
  static bool chosen(std::uint64_t line, unsigned thinning_log2) {
    // These bits are independent of the choice of traced lines and of the index of sets.
    const std::uint64_t hash = (line ^ line >> 32) * 0xD6E8FEB86659FD93ull;
    return hash >> (64 - thinning_log2) == 0;
  }

  ReuseStack near_;
  ReuseStack far_;
  unsigned thinning_log2_ = min_thinning_log2;
};

}  // namespace nearfar::sim
