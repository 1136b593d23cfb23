// A cached block in 32 bits, and the result of a look-up.
//
//   word   bit 0: dirty; bits 1-31: block number. 2^31 - 1 blocks of 64 B cover 128 GiB.
//   row    the words of one set, padded to a vector (4, 8 or 16 words); most recent first if
//          replacement is LRU
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

// Request of one level to the next.
struct Request {
  enum Kind : std::uint32_t { load, store, write_back };
  std::uint32_t line;
  Kind kind;
};

}  // namespace nearfar::sim
