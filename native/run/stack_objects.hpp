// The object of the plan for an allocation's call stack.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::run {

struct Recognised {
  std::uint16_t object;
  std::uint16_t target;
};

// Returns the object of the hook's call (NEARFAR_THIS_CALL) for `size` bytes. `mapped`: by mmap.
Recognised recognise(profile::Call call, std::size_t size, bool mapped);

// Forgets all stacks after a library was unloaded: its addresses may be reused.
void forget_stacks();

// Handlers around fork: updates by other threads are completed first.
void recognise_before_fork();
void recognise_in_parent();
void recognise_in_child();

}  // namespace nearfar::run
