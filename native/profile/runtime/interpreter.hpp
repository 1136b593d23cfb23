// Places in interpreted code: CPython's frames of large allocations, and its arenas.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// A place in the source that is not a return address.
struct NamedFrame {
  const char* text;     // "LINE\tFUNCTION\tFILE", or "0\tNAME\t" for named memory
  std::uint64_t place;  // for use by the caller; 0 at first
};

// Bit of a word that is a named frame instead of a return address; nearfar/program/named_frames.py.
inline constexpr std::uint64_t named_frame_bit = 1ull << 63;

inline constexpr unsigned max_interpreted = 4;

// Writes at most `max_count` frames of the interpreted code that allocates, innermost first. If
// there are frames of the user's files, only these are written. Returns their number; 0 if this
// thread does not run an interpreter now. A call without a return address comes from CPython's own
// allocator, whose caller holds the interpreter's lock. May allocate, so it must be called outside
// locks.
unsigned interpreter_frames(Call call, NamedFrame** frames, unsigned max_count = max_interpreted);

// True while this thread is in CPython's allocators for objects, inside all allocators that wrap
// these.
extern __thread bool in_python_allocator __attribute__((tls_model("initial-exec")));

// Returns whether the call maps memory for CPython's own allocator. False until interpreter_frames
// has found CPython.
bool maps_python_arena(Call call);

}  // namespace nearfar::profile
