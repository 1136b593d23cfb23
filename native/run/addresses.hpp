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

// What is behind claimed addresses: anonymous memory, which the kernel counts as it does malloc's
// own mmap and refuses where it could never have so much; or nothing, and it counts nothing.
enum class Behind { memory, nothing };

// Addresses that nobody has used; `divided`: for a block that is divided among memories. Null:
// refused, or addresses are used up.
void* claim(unsigned target, std::uint64_t bytes, std::uint64_t alignment, bool divided,
            Behind behind);
// Puts anonymous memory behind claimed addresses, if there is none; false: the kernel refuses.
bool back(std::uint64_t begin, std::uint64_t bytes);
// Where the addresses of near memory that were claimed so far end.
std::uint64_t near_end();

}  // namespace nearfar::run
