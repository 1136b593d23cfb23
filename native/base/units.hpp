// Types for bytes and nanoseconds, so that the compiler refuses to mix them.
#pragma once

#include <compare>
#include <cstdint>

namespace nearfar {

struct Bytes {
  std::uint64_t count = 0;
  friend constexpr auto operator<=>(Bytes, Bytes) = default;
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return {a.count + b.count}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return {a.count - b.count}; }
  friend constexpr Bytes operator*(Bytes a, std::uint64_t k) { return {a.count * k}; }
  friend constexpr std::uint64_t operator/(Bytes a, Bytes b) { return a.count / b.count; }
};

struct Nanoseconds {
  double count = 0;
  friend constexpr auto operator<=>(Nanoseconds, Nanoseconds) = default;
  friend constexpr Nanoseconds operator+(Nanoseconds a, Nanoseconds b) {
    return {a.count + b.count};
  }
  friend constexpr Nanoseconds operator-(Nanoseconds a, Nanoseconds b) {
    return {a.count - b.count};
  }
};

namespace literals {
constexpr Bytes operator""_B(unsigned long long n) { return {n}; }
constexpr Bytes operator""_KiB(unsigned long long n) { return {n << 10}; }
constexpr Bytes operator""_MiB(unsigned long long n) { return {n << 20}; }
constexpr Bytes operator""_GiB(unsigned long long n) { return {n << 30}; }
}  // namespace literals

// Unit of transfer between memory and caches on all supported processors.
inline constexpr Bytes cache_line{64};

}  // namespace nearfar
