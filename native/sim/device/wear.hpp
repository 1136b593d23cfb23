// Stalls of writes to blocks that were written often.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sim/device/dice.hpp"
#include "sim/device/parameters.hpp"

namespace nearfar::sim {

// Counts the writes of each block. With `tracked_blocks`, only the most recently written blocks are
// counted, so writes spread over more blocks never stall, as published for Optane (FAST 2020,
// figure 3).
class Wear {
 public:
  explicit Wear(const WearParameters& parameters)
      : parameters_(parameters),
        tracked_({.sets = 1,
                  .ways = parameters.tracked_blocks != 0 ? parameters.tracked_blocks : 1,
                  .replacement = Replacement::lru}) {}

  // Counts a write to a line; returns its stall.
  Nanoseconds write(std::uint64_t address) {
    if (parameters_.period_writes == 0) return {};
    const auto block = static_cast<std::uint32_t>(address >> parameters_.block_log2);
    if (parameters_.tracked_blocks != 0) {
      const LookupResult result = tracked_.access<Scalar>(block, false);
      if (!result.hit && result.evicted != empty_word) writes_.erase(result.evicted_block());
    }
    std::uint32_t& count = writes_[block];
    if (++count < parameters_.period_writes) return {};
    count = 0;
    ++stalls_;
    const double deviation = dice_.below(2001) / 1000.0 - 1;
    return {parameters_.length.count * (1 + parameters_.spread * deviation)};
  }
  [[nodiscard]] std::uint64_t stalls() const { return stalls_; }

 private:
  WearParameters parameters_;
  Blocks tracked_;
  std::unordered_map<std::uint32_t, std::uint32_t> writes_;
  Dice dice_{7};
  std::uint64_t stalls_ = 0;
};

}  // namespace nearfar::sim
