// Serving and freeing blocks: code shared by the C functions and the C++ operators.
#pragma once

#include <cstddef>
#include <cstdint>

#include "run/far_heap.hpp"
#include "run/jemalloc.hpp"
#include "run/shadow.hpp"
#include "run/stack_objects.hpp"
#include "run/state.hpp"

namespace nearfar::run {

// Size of the address range, from the first address on, in which free needs no check: 0 if all
// blocks are placed.
extern std::uint64_t plain_bytes __attribute__((visibility("hidden")));
// The same for operator delete. Also 0 until it is known that no other library's operator must
// serve.
extern std::uint64_t plain_deleted_bytes __attribute__((visibility("hidden")));

inline bool countdown_ended(std::uint64_t& bytes, std::size_t size) {
  const std::uint64_t left = bytes;
  if (__builtin_expect(size >= left, 0)) return true;
  bytes = left - size;
  return false;
}

// Serve a block at the end of a countdown, and a block whose stack decides its placement. `flags`
// as for mallocx. Return null if there is no memory.
void* allocate_at_countdown_end(std::uint64_t& bytes, std::size_t size, int flags,
                                profile::Call call);
void* allocate_recognised(std::size_t size, int flags, profile::Call call);

// Serves a block with flags.
void* allocate(std::size_t size, int flags, profile::Call call);
void* resize(void* block, std::size_t size, profile::Call call);

// Serves a small block of the far heap, or of near memory if the far heap has no addresses left.
void* allocate_far(std::size_t size);

// Serves a block by the short code that most blocks need: `serve_near` or `serve_far` if the call
// decides, `recognised` if its stack does. This is a macro, and NEARFAR_THIS_CALL is not stored in
// a variable, because that would occupy registers, which would have to be saved.
#define NEARFAR_SERVE(size, bytes, is_every, serve_near, serve_far, at_end, recognised) \
  if (countdown_ended(bytes, size)) return at_end;                                      \
  if (!(is_every)) {                                                                    \
    serve_near;                                                                         \
  }                                                                                     \
  if (__builtin_expect((size) < min_interpreted_bytes, 1)) {                            \
    const std::uint64_t target = decided_target(NEARFAR_THIS_CALL.return_address);      \
    if (target == 0) {                                                                  \
      serve_near;                                                                       \
    }                                                                                   \
    if (__builtin_expect(target == far_heap_target, 1)) {                               \
      serve_far;                                                                        \
    }                                                                                   \
  }                                                                                     \
  return recognised;

// Frees blocks that the short code does not handle: recorded blocks, and those of other targets or
// allocators.
void free_other(void* block);

// Every call in it is a tail call, so that it needs no stack.
inline void free_placed(void* block, std::uint64_t offset) {
  const std::uint64_t page = offset / page_bytes;
  if (page < (std::uint64_t{heap_tables_slot} << slot_bits) / page_bytes) {
    if (__builtin_expect(!may_be_recorded(block, page), 1)) return je_free(block);
  } else if (__builtin_expect(page - far_heap_page < far_heap_pages, 1)) {
    if (__builtin_expect(!may_be_recorded(block, page), 1)) return jf_free(block);
  }
  free_other(block);
}

inline void free_block(void* block) {
  const std::uint64_t offset = reinterpret_cast<std::uint64_t>(block) - first_address;
  if (__builtin_expect(offset < plain_bytes, 1)) {
    je_free(block);
  } else {
    free_placed(block, offset);
  }
}

}  // namespace nearfar::run
