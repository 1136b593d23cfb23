// Blocks that another allocator gave out: libc's before this library was there, or those of a
// library that holds on to its own malloc. They go back there.
#pragma once

#include <cstddef>

namespace nearfar::run {

void foreign_free(void* block);
void* foreign_realloc(void* block, std::size_t size);
std::size_t foreign_usable_size(void* block);

}  // namespace nearfar::run
