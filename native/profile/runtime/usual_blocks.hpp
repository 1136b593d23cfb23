// Reports of the hooks' heap blocks, in a short way if possible: for blocks in at most two pages,
// at the usual rate, with glibc's headers, of a thread's recent call. The short way needs no Guard:
// a signal handler that interrupts it may report blocks itself, or jump away. If the handler's
// block shares a sampled line with the interrupted one, its tags may be lost. The first two
// functions are not inlined, so that the hooks need few registers.
#pragma once

#include <cstdint>

#include "profile/runtime/hooks.hpp"
#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// Reports a block, or null; returns it.
[[gnu::noinline]] void* reported(void* block, Call call);
// Reports a block with glibc's header, and frees it.
[[gnu::noinline]] void report_and_free(void* block, std::uint64_t head);

// The same for all cases; the hooks define these. The first one's block is not null, and the second
// one does not free it.
void* report_any_allocation(void* block, Call call);
void report_any_free(void* block);

}  // namespace nearfar::profile
