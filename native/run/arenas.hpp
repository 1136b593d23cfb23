// Blocks of far targets: jemalloc arenas with extents in the target's memory, and a cache of its
// blocks per thread, because jemalloc's own cache would mix memories.
#pragma once

#include <cstddef>

namespace nearfar::run {

// `flags` as for mallocx: alignment, zeroing. Null: no memory.
void* far_malloc(unsigned target, std::size_t size, int flags);
void* far_realloc(unsigned target, void* block, std::size_t size, int flags);
void far_free(unsigned target, void* block);
// Size of any block of this library, near or far.
std::size_t usable_size(void* block);

// Gives a target its own heap, which is faster than arenas; once, when the library starts.
void give_heap(unsigned target);
// Number of arenas that the threads of this machine share.
unsigned lanes_wanted();

// Resets locks in the child of a fork, which has one thread; its caches stay valid.
void arenas_in_child();

}  // namespace nearfar::run
