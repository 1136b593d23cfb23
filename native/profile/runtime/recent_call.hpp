// Cache of the sites of recent allocation calls, by call stack.
#pragma once

#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// Returns the stored site of `call` by this thread, or site_none.
std::uint16_t recent_site(Call call);
void store_recent_site(Call call, std::uint16_t site);

// Resets the cache in the child of a fork: its thread has a new ID, and other threads may have held
// the locks.
void reset_recent_calls();

}  // namespace nearfar::profile
