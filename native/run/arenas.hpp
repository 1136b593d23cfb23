// Blocks of a target other than near memory: jemalloc arenas whose extents lie in its memory, and
// for each thread a cache of its blocks, since jemalloc's own cache would mix memories.
#pragma once

#include <cstddef>

namespace nearfar::run {

// `flags` as of mallocx: alignment, zeroing. Null: no memory.
void* far_malloc(unsigned target, std::size_t size, int flags);
void* far_realloc(unsigned target, void* block, std::size_t size, int flags);
void far_free(unsigned target, void* block);
// Of any block of ours, near or far.
std::size_t usable_size(void* block);

// The child of a fork has one thread; its caches are still good.
void arenas_in_child();

}  // namespace nearfar::run
