// The heap of the far target with the most objects: a second jemalloc, whose fast path serves far
// blocks as fast as near ones. Other far targets have arenas of the first jemalloc (arenas.hpp).
#pragma once

#include <cstddef>

#include "run/jemalloc.hpp"
#include "run/state.hpp"

// CMakeLists.txt creates this copy of jemalloc. Its symbols are hidden, so calls need no look-up in
// the offset table.
#pragma GCC visibility push(hidden)
extern "C" {
void* jf_malloc(std::size_t size);
void jf_free(void* block);
void* jf_mallocx(std::size_t size, int flags);
void* jf_rallocx(void* block, std::size_t size, int flags);
std::size_t jf_malloc_usable_size(void* block);
}
#pragma GCC visibility pop

namespace nearfar::run {

// Target of the far heap; 0: there is no far heap.
extern std::uint64_t far_heap_target __attribute__((visibility("hidden")));
// First page of its blocks' addresses, counted from `first_address`; beyond all addresses if there
// is no heap. Divided blocks are above these pages.
extern std::uint64_t far_heap_page __attribute__((visibility("hidden")));
inline constexpr std::uint64_t far_heap_pages = (std::uint64_t{1} << (slot_bits - 1)) / page_bytes;

// Whether a block of this library is in the far heap, or divided.
inline bool in_far_heap(const void* block) {
  const std::uint64_t slot = (reinterpret_cast<std::uint64_t>(block) - first_address) >> slot_bits;
  return slot == heap_tables_slot || (far_heap_target != 0 && target_of(block) == far_heap_target);
}

// Gives a target the heap; all its arenas for blocks will have these hooks. The heap starts with
// its first block, because most child processes have none.
void make_far_heap(unsigned target, extent_hooks_t* hooks);

// Assigns one of the arenas to the calling thread. Until then it uses the first arena, which is
// near and contains the tables.
void join_far_heap();

// Fork handlers. They must run inside this library's other handlers, as jemalloc's do.
void far_heap_before_fork();
void far_heap_in_parent();
void far_heap_in_child();

// Return null if there is no memory. `flags` as for mallocx.
inline void* far_heap_malloc(std::size_t size) {
  if (__builtin_expect(!this_thread.joined_far_heap, 0)) join_far_heap();
  return jf_malloc(size);
}
inline void* far_heap_mallocx(std::size_t size, int flags) {
  if (!this_thread.joined_far_heap) join_far_heap();
  return jf_mallocx(size, flags);
}

}  // namespace nearfar::run
