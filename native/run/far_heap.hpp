// The heap of the far target with most objects: a second jemalloc, whose fast path serves its
// blocks as jemalloc serves near ones. Other far targets have arenas of the first (arenas.hpp).
#pragma once

#include <cstddef>

#include "run/jemalloc.hpp"
#include "run/state.hpp"

// CMakeLists.txt makes this copy of jemalloc. Hidden: its calls need no table of addresses.
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

// Target of the far heap; 0: there is none.
extern std::uint64_t far_heap_target __attribute__((visibility("hidden")));
// First page of its blocks' addresses, from `first_address` on, beyond all without the heap;
// divided blocks are above these pages.
extern std::uint64_t far_heap_page __attribute__((visibility("hidden")));
inline constexpr std::uint64_t far_heap_pages = (std::uint64_t{1} << (slot_bits - 1)) / page_bytes;

// Whether this library's block is of the far heap, or divided.
inline bool in_far_heap(const void* block) {
  const std::uint64_t slot = (reinterpret_cast<std::uint64_t>(block) - first_address) >> slot_bits;
  return slot == heap_tables_slot || (far_heap_target != 0 && target_of(block) == far_heap_target);
}

// Gives a target the heap, whose arenas for blocks will all have these hooks. It starts with its
// first block, since most children have none.
void make_far_heap(unsigned target, extent_hooks_t* hooks);

// Gives a thread one of the arenas; until then it has the first, which is near and has the tables.
void join_far_heap();

// Inside of this library's other handlers, as those of jemalloc.
void far_heap_before_fork();
void far_heap_in_parent();
void far_heap_in_child();

// Null: no memory. `flags` as for mallocx.
inline void* far_heap_malloc(std::size_t size) {
  if (__builtin_expect(!this_thread.joined_far_heap, 0)) join_far_heap();
  return jf_malloc(size);
}
inline void* far_heap_mallocx(std::size_t size, int flags) {
  if (!this_thread.joined_far_heap) join_far_heap();
  return jf_mallocx(size, flags);
}

}  // namespace nearfar::run
