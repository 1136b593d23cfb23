// Blocks that CPython's own allocator cuts from its arenas.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// CPython maps 256 KiB or 1 MiB at a time for them, and less for stacks of calls.
inline constexpr std::uint64_t min_python_arena = 256 << 10;

// The part of a line's memory that such blocks are; nearfar/program/named_frames.py.
inline constexpr char python_pieces[] = "small objects";

// Reports blocks from now on. Call it inside CPython's allocator, whose lock is held then.
void watch_python_blocks();

}  // namespace nearfar::profile
