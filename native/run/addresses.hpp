// Addresses of blocks. Each target has a range of its own, and no address is used twice.
#pragma once

#include <cstdint>

#include "run/state.hpp"

namespace nearfar::run {

inline constexpr std::uint64_t huge_page = 2u << 20;

inline std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) {
  return (value + unit - 1) / unit * unit;
}

// Maps a file, or anonymous memory if `file` is -1; null if the kernel refuses.
void* map_at(std::uint64_t address, std::uint64_t bytes, int flags, int file, std::uint64_t offset);

// Backing of claimed addresses. `memory`: anonymous memory, which the kernel counts and refuses if
// it exceeds what the machine could ever have. `nothing`: no memory yet, not counted.
enum class Backing { memory, nothing };

// Purpose of addresses: extents of a target, one block of a target that is divided among memories,
// or tables of the far heap, which are in near memory.
enum class Purpose : unsigned { extent, divided, heap_tables };

// Returns unused addresses; null if the kernel refuses or all addresses are used.
void* claim(unsigned target, std::uint64_t bytes, std::uint64_t alignment, Purpose purpose,
            Backing backing);
// Backs claimed addresses by anonymous memory if they have none; returns false if the kernel
// refuses.
bool back_with_memory(std::uint64_t begin, std::uint64_t bytes);
// Returns the end of the near addresses claimed so far.
std::uint64_t near_end();

}  // namespace nearfar::run
