// Call stacks of allocation functions.
#pragma once

#include <cstdint>

namespace nearfar::profile {

// A call, as seen from the called function.
struct Call {
  std::uint64_t return_address;
  std::uint64_t frame_end;  // stack address just above the return address
};

// The call of the function that uses this macro. The builtin is the canonical frame address of
// DWARF.
#define NEARFAR_THIS_CALL                                                                 \
  (::nearfar::profile::Call{reinterpret_cast<std::uint64_t>(__builtin_return_address(0)), \
                            reinterpret_cast<std::uint64_t>(__builtin_dwarf_cfa())})

// Writes up to `max_count` return addresses, innermost first, and returns their number. Works with
// and without frame pointers; does not allocate.
unsigned walk_stack(Call call, std::uint64_t* frames, unsigned max_count);

// Also writes the frame ends of the calls. Returns 0 if the size of a frame varies, because return
// addresses may then be elsewhere next time.
unsigned fixed_stack(Call call, Call* calls, unsigned max_count);

// Replaces a call by that of its caller; returns false if the distance is not stored or varies.
bool go_to_caller(Call& call);

// Forgets all distances after a library was closed, because its addresses may be reused.
void reset_steps();

}  // namespace nearfar::profile
