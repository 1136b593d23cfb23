// malloc, calloc and free of the library that places blocks; strdup and similar functions call
// them.
#include <errno.h>
#include <stdlib.h>

#include "run/blocks.hpp"

using namespace nearfar::run;

#pragma GCC visibility push(default)
extern "C" {

void* malloc(std::size_t size) noexcept {
  NEARFAR_SERVE(size, this_thread.countdown, active, return je_malloc(size),
                return allocate_far(size),
                allocate_at_countdown_end(this_thread.countdown, size, 0, NEARFAR_THIS_CALL),
                allocate_recognised(size, 0, NEARFAR_THIS_CALL))
}

void* calloc(std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(bytes, MALLOCX_ZERO, NEARFAR_THIS_CALL);
}

void free(void* block) noexcept { free_block(block); }
}
#pragma GCC visibility pop
