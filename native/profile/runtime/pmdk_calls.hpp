// Calls into the libraries of persistent memory (libpmem, libpmemobj), which nothing instruments.
#pragma once

namespace nearfar::profile {

// The function that counts the effects of `name` and then calls it; null for other names.
// Also msync's: what persists where there are no such libraries.
void* counting_persistence(const char* name);

}  // namespace nearfar::profile
