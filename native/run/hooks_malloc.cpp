// The family of malloc, without malloc, calloc and free.
#include <errno.h>
#include <stdlib.h>

#include "run/arenas.hpp"
#include "run/blocks.hpp"
#include "run/foreign_blocks.hpp"

using namespace nearfar::run;

namespace {

bool is_power_of_two(std::size_t value) { return value != 0 && (value & (value - 1)) == 0; }

}  // namespace

#pragma GCC visibility push(default)
extern "C" {

void* realloc(void* block, std::size_t size) noexcept {
  return resize(block, size, NEARFAR_THIS_CALL);
}

void* reallocarray(void* block, std::size_t count, std::size_t size) noexcept {
  std::size_t bytes = 0;
  if (__builtin_mul_overflow(count, size, &bytes)) {
    errno = ENOMEM;
    return nullptr;
  }
  return resize(block, bytes, NEARFAR_THIS_CALL);
}

int posix_memalign(void** block, std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment) || alignment % sizeof(void*) != 0) return EINVAL;
  const int error = errno;
  void* allocated = allocate(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
  errno = error;
  if (allocated == nullptr) return ENOMEM;
  *block = allocated;
  return 0;
}

void* aligned_alloc(std::size_t alignment, std::size_t size) noexcept {
  if (!is_power_of_two(alignment)) {
    errno = EINVAL;
    return nullptr;
  }
  return allocate(size, MALLOCX_ALIGN(alignment), NEARFAR_THIS_CALL);
}

void* memalign(std::size_t alignment, std::size_t size) noexcept {
  // As in glibc: rounds up to a power of two.
  std::size_t power = sizeof(void*);
  while (power < alignment && power << 1 != 0) power <<= 1;
  return allocate(size, MALLOCX_ALIGN(power), NEARFAR_THIS_CALL);
}

void* valloc(std::size_t size) noexcept {
  return allocate(size, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

void* pvalloc(std::size_t size) noexcept {
  const std::size_t whole = (size + page_bytes - 1) / page_bytes * page_bytes;
  if (whole < size) {
    errno = ENOMEM;
    return nullptr;
  }
  return allocate(whole, MALLOCX_ALIGN(page_bytes), NEARFAR_THIS_CALL);
}

std::size_t malloc_usable_size(void* block) noexcept {
  if (__builtin_expect(in_near_heap(block), 1)) return je_malloc_usable_size(block);
  if (block == nullptr) return 0;
  return is_ours(block) ? usable_size(block) : foreign_usable_size(block);
}
}
#pragma GCC visibility pop
