// The order in which the blocks of a set were used.
#pragma once

#include <bit>
#include <cstdint>

namespace nearfar::sim {

// Numbers of up to 16 ways in 4 bits each, the most recently used in the lowest. Ways stay where
// they are, so a use changes one word, and blocks that are only replaced need a shift.
class Recency {
 public:
  // Makes the least recently used of `ways` ways the most recently used; returns it.
  std::uint32_t reuse(unsigned ways) {
    const auto way = static_cast<std::uint32_t>(order_ >> (4 * ways - 4)) & 15U;
    order_ = order_ << 4U | way;
    return way;
  }
  // Makes `way` the most recently used.
  void use(std::uint32_t way) {
    // The lowest 4 bits that are 0 after the exclusive or are the way's. Those beyond the last way
    // are of no meaning.
    const std::uint64_t other = order_ ^ way * each;
    const std::uint64_t equal = (other - each) & ~other & each << 3U;
    const std::uint64_t below = (equal & (0 - equal)) / 8 - 1;
    order_ = (order_ & ~(below << 4U | 15U)) | (order_ & below) << 4U | way;
  }

 private:
  static constexpr std::uint64_t each = 0x1111111111111111;
  // Empty ways are used from the last to the first.
  std::uint64_t order_ = 0xFEDCBA9876543210;
};

}  // namespace nearfar::sim
