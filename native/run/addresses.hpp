// Addresses of blocks: each target has its own, and none is given out twice.
#pragma once

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

inline constexpr std::uint64_t huge_page = 2u << 20;

inline std::uint64_t up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Maps a file, or with -1 anonymous memory; null if the kernel will not.
void* map_at(std::uint64_t address, std::uint64_t bytes, int flags, int file, std::uint64_t offset);

// Addresses that nobody has used, with nothing behind them yet but anonymous memory; `divided`: for
// a block that is divided among memories. `counted`: the kernel refuses more than it could ever
// have, as it does to malloc's own mmap. Null: refused, or addresses are used up.
void* claim(unsigned target, std::uint64_t bytes, std::uint64_t alignment, bool divided,
            bool counted);

}  // namespace nearfar::run
