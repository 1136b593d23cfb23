// A block held by a simulated cache, in 32 bits, and what a look-up says.
//
//   word   bit 0: dirty; bits 1-31: the block's number. 2^31 - 1 blocks of 64 B reach 128 GiB.
//   row    the words of one set, as many as fit the vector that looks them up (4, 8 or 16); in
//          order of recency, most recent first, where replacement is LRU.
#pragma once

#include <cstdint>

namespace nearfar::sim {

inline constexpr std::uint32_t empty_word = 0xFFFFFFFE;
inline constexpr std::uint32_t most_blocks = 0x7FFFFFFF;

struct Looked {
  bool hit = false;
  std::uint32_t evicted = empty_word;  // the word that had to leave

  [[nodiscard]] bool evicted_dirty() const {
    return (evicted & 1U) != 0;  // an empty word is clean
  }
  [[nodiscard]] std::uint32_t evicted_block() const { return evicted >> 1U; }
};

// What one level asks of the next.
struct Request {
  enum Kind : std::uint32_t { load, store, write_back };
  std::uint32_t line;
  Kind kind;
};

}  // namespace nearfar::sim
