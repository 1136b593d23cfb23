// Which write stalls because its block was written so often.
#pragma once

#include <cstdint>
#include <unordered_map>

#include "sim/device/dice.hpp"
#include "sim/device/parameters.hpp"

namespace nearfar::sim {

// Counts the writes of each block; with `tracked_blocks`, only of so many blocks written last, so
// that writes spread over more of them never stall, as published for Optane (FAST 2020, figure 3).
class Wear {
 public:
  explicit Wear(const WearParameters& parameters)
      : parameters_(parameters),
        tracked_({.sets = 1,
                  .ways = parameters.tracked_blocks != 0 ? parameters.tracked_blocks : 1,
                  .replacement = Replacement::lru}) {}

  // A write to a line: how long it stalls.
  Nanoseconds write(std::uint64_t address) {
    if (parameters_.period_writes == 0) return {};
    const auto block = static_cast<std::uint32_t>(address >> parameters_.block_log2);
    if (parameters_.tracked_blocks != 0) {
      const Looked looked = tracked_.access<Scalar>(block, false);
      if (!looked.hit && looked.evicted != empty_word) writes_.erase(looked.evicted_block());
    }
    std::uint32_t& count = writes_[block];
    if (++count < parameters_.period_writes) return {};
    count = 0;
    ++stalls_;
    const double within = dice_.below(2001) / 1000.0 - 1;
    return {parameters_.length.count * (1 + parameters_.spread * within)};
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
