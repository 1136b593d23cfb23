// The object of the plan for an allocation's call stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/stack_walk.hpp"
#include "run/state.hpp"

namespace nearfar::run {

struct Recognised {
  std::uint16_t object;
  std::uint16_t target;
};

// Returns the object for the call of a hook (NEARFAR_THIS_CALL) that allocates `size` bytes.
// `mapped`: allocated by mmap.
Recognised recognise(profile::Call call, std::size_t size, bool mapped);

// Targets of small blocks by the return address of their allocation, for calls whose objects all
// have the same target. Most allocations need no other look-up, so this is inline. A word contains
// a return address and, in its low byte, the target.
inline constexpr unsigned decision_bits = 11;
inline constexpr unsigned target_bits = 8;
extern std::uint64_t decisions[1u << decision_bits] __attribute__((visibility("hidden")));

// Minimum size of blocks for which frames of interpreted code are read, which takes a microsecond.
inline constexpr std::size_t min_interpreted_bytes = 4 << 10;

inline constexpr unsigned undecided = (1u << target_bits) - 1;
inline std::uint64_t& decision_of(std::uint64_t return_address) {
  return decisions[(return_address * 0x9E3779B97F4A7C15ull) >> (64 - decision_bits)];
}
// Returns the target of a call's small blocks; `undecided` or more if the stack must decide.
inline std::uint64_t decided_target(std::uint64_t return_address) {
  if (__builtin_expect(this_thread.tag_root != 0, 0)) return undecided;
  // The word of another call differs in the bits above the target.
  return __atomic_load_n(&decision_of(return_address), __ATOMIC_RELAXED) ^ return_address
                                                                               << target_bits;
}
// From now on, the stacks of this call decide.
void leave_undecided(std::uint64_t return_address);

// Whether this process was the first with a stack of some object.
bool found_an_object();

// Forgets all stacks after a library was unloaded: its addresses may be reused.
void forget_stacks();

// Handlers around fork: updates by other threads are completed first.
void recognise_before_fork();
void recognise_in_parent();
void recognise_in_child();

}  // namespace nearfar::run
