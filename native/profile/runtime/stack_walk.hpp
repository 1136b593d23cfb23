// Who called an allocation function.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// A call seen from inside the called function.
struct Call {
  std::uint64_t return_address;
  std::uint64_t frame_end;  // stack address just above the slot that holds the return address
};

// Of the function that uses it. The builtin is the canonical frame address of DWARF.
#define NEARFAR_THIS_CALL                                                                 \
  (::nearfar::profile::Call{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), \
                            reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa())})

// Writes up to `most` return addresses, innermost first, and returns how many. Works in code with
// and without frame pointers; does not allocate.
unsigned walk_stack(Call call, std::uint64_t* frames, unsigned most);

// The same with the calls' frame ends; 0 if a frame's size is known to vary, so that the places of
// return addresses say nothing about the next time.
unsigned fixed_stack(Call call, Call* calls, unsigned most);

// Forgets how far frames lie apart, since a library was closed and its addresses may be another's.
void forget_steps();

}  // namespace nearfar::profile
