// Random numbers of the simulators, reproducible by seed on every platform.
#pragma once

#include <cstdint>

namespace nearfar::sim {

// Marsaglia's xorshift64; only the upper half is used.
class Dice {
 public:
  explicit Dice(std::uint64_t seed) : state_(seed * 2654435769U * 2 + 0x9E3779B97F4A7C15U) {
    if (state_ == 0) state_ = 1;
  }
  // Uniform below `bound`, up to a bias of bound / 2^32.
  std::uint32_t below(std::uint32_t bound) {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    state_ ^= state_ << 17U;
    return static_cast<std::uint32_t>(((state_ >> 32U) * bound) >> 32U);
  }

 private:
  std::uint64_t state_;
};

}  // namespace nearfar::sim
