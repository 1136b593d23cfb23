// Blocks that CPython's own allocator takes from its arenas.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// CPython maps 256 KiB or 1 MiB at a time for arenas, and less for call stacks.
inline constexpr std::uint64_t min_python_arena = 256 << 10;

// Name of the part of a line's memory that consists of such blocks;
// nearfar/program/named_frames.py.
inline constexpr char python_pieces[] = "small objects";

// Reports blocks from now on. Must be called inside CPython's allocator, where the interpreter's
// lock is held.
void watch_python_blocks();

}  // namespace nearfar::profile
