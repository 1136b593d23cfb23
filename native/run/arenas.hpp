// Blocks of far targets. jemalloc arenas have extents in the target's memory. Each thread has a
// cache of the target's blocks, because jemalloc's own cache would mix memories.
#pragma once

#include <cstddef>

namespace nearfar::run {

// `flags` as for mallocx: alignment, zeroing. Returns null if there is no memory.
void* far_malloc(unsigned target, std::size_t size, int flags);
void* far_realloc(unsigned target, void* block, std::size_t size);
void far_free(unsigned target, void* block);
// Returns the size of any block of this library, near or far.
std::size_t usable_size(void* block);

// Gives a target a heap of its own, which is faster than arenas. Called once, when the library
// starts.
void give_heap(unsigned target);
// Number of arenas that the threads of this machine share.
unsigned lanes_wanted();

// Resets locks in the child of a fork, which has one thread; its caches stay valid.
void arenas_in_child();

}  // namespace nearfar::run
