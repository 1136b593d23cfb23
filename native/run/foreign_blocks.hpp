// Blocks of other allocators, which must be freed by them: libc's, from before this library was
// loaded, or those of a library with its own malloc.
#pragma once

#include <cstddef>

namespace nearfar::run {

void foreign_free(void* block);
void* foreign_realloc(void* block, std::size_t size);
std::size_t foreign_usable_size(void* block);

}  // namespace nearfar::run
