// Numbers that look random, the same in every run.
#pragma once

#include <cmath>
#include <cstdint>

class Dice {
 public:
  explicit Dice(uint64_t seed) : state_(seed) {}

  // splitmix64: visits every 64-bit value, and has no bad seed.
  uint64_t next() {
    uint64_t value = state_ += 0x9E3779B97F4A7C15u;
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9u;
    value = (value ^ (value >> 27)) * 0x94D049BB133111EBu;
    return value ^ (value >> 31);
  }

  // Below `count`, all alike.
  uint64_t below(uint64_t count) {
    return static_cast<uint64_t>((static_cast<unsigned __int128>(next()) * count) >> 64);
  }

  // Below `count`, some far more often than others: the n-th most frequent about in proportion to
  // 1 / n, as requests to stores and edges of social graphs are. Scattered, so that the frequent
  // ones are no neighbours.
  uint64_t skewed_below(uint64_t count) {
    const double share = static_cast<double>(next() >> 11) * 0x1p-53;
    const auto rank = static_cast<uint64_t>(std::pow(static_cast<double>(count), share));
    return rank * 0x9E3779B97F4A7C15u % count;
  }

 private:
  uint64_t state_;
};
