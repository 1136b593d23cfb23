// Places of interpreted code: CPython's frames for large allocations, and its arenas.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// A place in the source that is not a return address.
struct NamedFrame {
  const char* text;     // "LINE\tFUNCTION\tFILE", or "0\tNAME\t" for memory with a name
  std::uint64_t place;  // free for the user; 0 at first
};

// Bit of a word that is a named frame and not a return address; nearfar/program/named_frames.py.
inline constexpr std::uint64_t named_frame_bit = 1ull << 63;

inline constexpr unsigned max_interpreted = 4;

// Writes the frames of the interpreter's code that allocates, innermost first: those of the user's
// files if there are any; at most `max_count`. Returns their number; 0 if this thread does not run
// an interpreter now. A call without a return address is of CPython's own allocator, whose caller
// has the interpreter's lock. May allocate, so it must be called outside locks.
unsigned interpreter_frames(Call call, NamedFrame** frames, unsigned max_count = max_interpreted);

// This thread is in CPython's allocators for objects, below all that wraps them.
extern __thread bool in_python_allocator __attribute__((tls_model("initial-exec")));

// Returns whether the call maps memory for CPython's own allocator. False until interpreter_frames
// found CPython.
bool maps_python_arena(Call call);

}  // namespace nearfar::profile
