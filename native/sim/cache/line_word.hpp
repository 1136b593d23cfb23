// A cached line in one word: its number, its owner (the object charged for it), its dirty bit.
//  Bit 0: dirty; bits 1-16: owner; bits 17-63: line number + 1, so that 0 is an empty way.
//  47 bits of line number cover a 53-bit address space.
#pragma once

#include <cstdint>

namespace nearfar::sim {

// bit 0: dirty; bits 1-16: owner; bits 17-63: the line's number + 1, so that 0 is an empty way.
// 47 bits of line number reach every line of a 53-bit address space.
struct LineWord {
  std::uint64_t bits = 0;

  static constexpr LineWord make(std::uint64_t line, std::uint16_t owner, bool dirty) {
    return {(line + 1) << 17 | std::uint64_t{owner} << 1 | std::uint64_t{dirty}};
  }
  constexpr bool empty() const { return bits == 0; }
  constexpr bool dirty() const { return (bits & 1) != 0; }
  constexpr std::uint16_t owner() const { return static_cast<std::uint16_t>(bits >> 1); }
  constexpr std::uint64_t line() const { return (bits >> 17) - 1; }
  constexpr bool holds(std::uint64_t line) const { return bits >> 17 == line + 1; }
};

}  // namespace nearfar::sim
