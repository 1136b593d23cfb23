// A random order of 0..count-1 without a table, so that a chase over 1 TiB needs no memory.
#pragma once

#include <bit>
#include <cstdint>

namespace nearfar::sim {

// Invertible steps (odd multiplications, xor with the upper half) permute the numbers below a power
// of two; results not below `count` are permuted again.
class Permutation {
 public:
  Permutation(std::uint64_t count, std::uint64_t seed)
      : count_(count == 0 ? 1 : count),
        bits_(count_ == 1 ? 1 : static_cast<unsigned>(std::bit_width(count_ - 1))),
        mask_((std::uint64_t{1} << bits_) - 1),
        half_(bits_ / 2 + 1),
        add_(seed * 0x9E3779B97F4A7C15U >> 7U) {}

  [[nodiscard]] std::uint64_t count() const { return count_; }

  // `index` may be any number: the order repeats.
  std::uint64_t operator()(std::uint64_t index) const {
    if (count_ == 1) return 0;
    std::uint64_t at = index < count_ ? index : index % count_;
    do {
      at = permuted(at);
    } while (at >= count_);
    return at;
  }

 private:
  [[nodiscard]] std::uint64_t permuted(std::uint64_t at) const {
    at = (at + add_) & mask_;
    at = (at * 0xD6E8FEB86659FD93U) & mask_;
    at ^= at >> half_;
    at = (at * 0xA0761D6478BD642FU) & mask_;
    at ^= at >> half_;
    return (at * 0xE7037ED1A0B428DBU) & mask_;
  }

  std::uint64_t count_;
  unsigned bits_;
  std::uint64_t mask_;
  unsigned half_;
  std::uint64_t add_;
};

}  // namespace nearfar::sim
