// From the call stack of an allocation to the object of the plan.
#pragma once

#include <cstddef>
#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::run {

struct Found {
  std::uint16_t object;
  std::uint16_t target;
};

// NEARFAR_THIS_CALL of the hook, and what was asked for. `mapped`: by mmap.
Found recognise(profile::Call call, std::size_t size, bool mapped);

// A library was closed: its addresses may become another's.
void forget_stacks();

// Around fork: what another thread is in the middle of writing becomes whole first.
void recognise_before_fork();
void recognise_in_parent();
void recognise_in_child();

}  // namespace nearfar::run
