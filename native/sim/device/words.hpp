// A cached block in 32 bits, and the result of a look-up.
//
//   word   bit 0: dirty; bits 1-31: block number. 2^31 - 1 blocks of 64 B cover 128 GiB.
//   row    the words of one set, padded to a vector (4, 8 or 16 words)
//
// A request of one level to the next has the same form: its bit 0 makes the line dirty there. It is
// set in a store to the first level, and in a write-back to the others.
#pragma once

#include <cstdint>

namespace nearfar::sim {

inline constexpr std::uint32_t empty_word = 0xFFFFFFFE;
inline constexpr std::uint32_t max_blocks = 0x7FFFFFFF;

struct LookupResult {
  bool hit = false;
  std::uint32_t evicted = empty_word;  // the evicted word

  [[nodiscard]] bool evicted_dirty() const {
    return (evicted & 1U) != 0;  // an empty word is clean
  }
  [[nodiscard]] std::uint32_t evicted_block() const { return evicted >> 1U; }
};

}  // namespace nearfar::sim
