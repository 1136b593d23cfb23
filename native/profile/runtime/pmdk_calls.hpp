// Calls into the persistent memory libraries (libpmem, libpmemobj), which are not instrumented.
#pragma once

namespace nearfar::profile {

// Returns the function that counts the effects of `name` and calls it; null for other names.
// Includes msync, which persists without these libraries.
void* counting_persistence(const char* name);

}  // namespace nearfar::profile
