// Calls into the persistent memory libraries (libpmem, libpmemobj), which are not instrumented.
#pragma once

namespace nearfar::profile {

// Returns the function that counts the effects of `name` and calls the original; null for other
// names. msync is included, because it persists data without these libraries.
void* counting_persistence(const char* name);

}  // namespace nearfar::profile
