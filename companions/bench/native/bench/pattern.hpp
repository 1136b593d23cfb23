// Self-describing content: words that are computed from two numbers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace nearfar::bench {

// A bijection of 64 bits (splitmix64's finaliser: Steele, Lea, Flood, OOPSLA 2014).
constexpr std::uint64_t mixed(std::uint64_t bits) noexcept {
  bits = (bits ^ (bits >> 30U)) * 0xBF58476D1CE4E5B9ULL;
  bits = (bits ^ (bits >> 27U)) * 0x94D049BB133111EBULL;
  return bits ^ (bits >> 31U);
}

// Returns the first word of `what`'s content in its `version`. Each next word adds 1, so that
// filling costs as much as storing.
constexpr std::uint64_t first_word(std::uint64_t what, std::uint64_t version) noexcept {
  return mixed(mixed(what + 1) + version);
}

inline void fill(std::span<std::uint64_t> words, std::uint64_t what,
                 std::uint64_t version) noexcept {
  std::uint64_t word = first_word(what, version);
  for (std::uint64_t& slot : words) slot = word++;
}

inline bool is_filled(std::span<const std::uint64_t> words, std::uint64_t what,
                      std::uint64_t version) noexcept {
  std::uint64_t word = first_word(what, version);
  for (const std::uint64_t stored : words) {
    if (stored != word++) return false;
  }
  return true;
}

// Checksum of words that may be torn; other content has the same checksum with probability 2^-64.
inline std::uint64_t checksum(std::span<const std::uint64_t> words, std::uint64_t start) noexcept {
  std::uint64_t sum = mixed(start);
  for (const std::uint64_t word : words) sum = mixed(sum ^ word) + word;
  return sum;
}

}  // namespace nearfar::bench
