// Sites of allocation calls that were made before from just the same call stack.
#pragma once

#include <cstdint>

#include "profile/runtime/stack_walk.hpp"

namespace nearfar::profile {

// The site that `call`, by this thread, got when it was remembered; site_none if it was not.
std::uint16_t recent_site(Call call);
void remember_site(Call call, std::uint16_t site);

// In a fork's child: its only thread has another number, and others may have held the locks.
void forget_recent_calls();

}  // namespace nearfar::profile
