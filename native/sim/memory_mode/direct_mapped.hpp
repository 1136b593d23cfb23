// Memory Mode: DRAM as a direct-mapped cache of lines in front of persistent memory. It is not
// validated on hardware, because no raw measurement of Memory Mode is published.
#pragma once

#include <cstdint>
#include <limits>
#include <stdexcept>
#include <vector>

#include "base/units.hpp"
#include "sim/device/words.hpp"

namespace nearfar::sim {

// Two bytes per line: tag and dirty bit; 0 is an empty line.
class DirectMapped {
 public:
  explicit DirectMapped(Bytes capacity) : lines_(capacity / cache_line) {
    if (lines_ == 0 || lines_ > max_blocks) {
      throw std::invalid_argument("a DRAM cache must hold 1 to 2^31 - 1 lines");
    }
    words_.resize(lines_);
  }

  // Looks a line up and allocates it, evicting the previous line of its set.
  LookupResult access(std::uint32_t line, bool write) {
    const std::uint32_t tag = static_cast<std::uint32_t>(line / lines_) + 1;
    if (tag >= max_tags)
      throw std::out_of_range("memory must not exceed 32,767 times its DRAM cache");
    const std::uint64_t set = line % lines_;
    std::uint16_t& word = words_[set];
    const std::uint16_t dirty = write ? 1 : 0;
    const auto held = static_cast<std::uint32_t>(word >> 1U);
    if (held == tag) {
      word |= dirty;
      return {true, empty_word};
    }
    LookupResult result;
    if (word != 0) {
      const auto old = static_cast<std::uint32_t>((held - 1) * lines_ + set);
      result.evicted = old << 1U | (word & 1U);
    }
    word = static_cast<std::uint16_t>(tag << 1U | dirty);
    return result;
  }

 private:
  static constexpr std::uint32_t max_tags = std::numeric_limits<std::uint16_t>::max() / 2 + 1;
  std::uint64_t lines_;
  std::vector<std::uint16_t> words_;
};

}  // namespace nearfar::sim
