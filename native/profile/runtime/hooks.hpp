// All interposed functions: name, result, parameters.
//
// The library is linked before libc, so its functions are found first. operator new and delete,
// strdup, getline and others call malloc, and the stack walk skips their frames. Known allocators
// inside the program are observed through wrapped entry points (allocators/); nearfar warns about
// others.
#pragma once

#include <pthread.h>
#include <setjmp.h>
#include <sys/types.h>
#include <threads.h>

#include <cstddef>
#include <cstdint>

#include "sim/cache/sampled_lines.hpp"

#define NEARFAR_HOOKS(HOOK)                                                               \
  HOOK(malloc, void*, (size_t))                                                           \
  HOOK(calloc, void*, (size_t, size_t))                                                   \
  HOOK(realloc, void*, (void*, size_t))                                                   \
  HOOK(free, void, (void*))                                                               \
  HOOK(memalign, void*, (size_t, size_t))                                                 \
  HOOK(aligned_alloc, void*, (size_t, size_t))                                            \
  HOOK(posix_memalign, int, (void**, size_t, size_t))                                     \
  HOOK(valloc, void*, (size_t))                                                           \
  HOOK(pvalloc, void*, (size_t))                                                          \
  HOOK(malloc_usable_size, size_t, (void*))                                               \
  HOOK(mmap, void*, (void*, size_t, int, int, int, off_t))                                \
  HOOK(munmap, int, (void*, size_t))                                                      \
  HOOK(mremap, void*, (void*, size_t, size_t, int, ...))                                  \
  HOOK(mprotect, int, (void*, size_t, int))                                               \
  HOOK(mlockall, int, (int))                                                              \
  HOOK(siglongjmp, void, (__jmp_buf_tag*, int))                                           \
  HOOK(__longjmp_chk, void, (__jmp_buf_tag*, int))                                        \
  HOOK(_exit, void, (int))                                                                \
  HOOK(pthread_create, int, (pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)) \
  HOOK(thrd_create, int, (thrd_t*, thrd_start_t, void*))

namespace nearfar::profile {

// The next definition of each function: libc's, or that of an allocator that the program links.
struct RealFunctions {
#define NEARFAR_MEMBER(name, result, parameters) result(*name) parameters;
  NEARFAR_HOOKS(NEARFAR_MEMBER)
#undef NEARFAR_MEMBER
};
extern RealFunctions real;

// Bytes before a block that contain its size, as in glibc (detected). 0: unknown.
extern std::uint64_t header_bytes;
// Bit in the size of a block that was mapped separately.
inline constexpr std::uint64_t mapped_separately = 2;
inline std::uint64_t header_of(void* block) { return *(static_cast<std::uint64_t*>(block) - 1); }

// glibc adds at most 46 bytes to a request (header, rounding, a remainder too small to split).
inline constexpr std::uint64_t max_slack = 48;
// Returns Runtime::fast_bytes. Most larger blocks touch a sampled line.
inline std::uint64_t fast_bytes_at(unsigned rate_log2) {
  const bool usual = rate_log2 == sim::SampledLines::usual_rate_log2 && header_bytes != 0;
  return usual ? 4096 - max_slack : 0;
}

// Returns the usable bytes of a block. malloc and free must agree on this number, so it is not the
// requested size. Every free computes it, and glibc's own function takes half as long as its free.
inline std::uint64_t block_size_of_glibc(void* block) {
  const std::uint64_t head = header_of(block);
  // A block in a separate mapping has no neighbour whose header it could use.
  const std::uint64_t overhead = 8 + (head & mapped_separately) * 4;
  return (head & ~7ull) - overhead;
}
inline std::uint64_t block_size(void* block) {
  return header_bytes == 0 ? real.malloc_usable_size(block) : block_size_of_glibc(block);
}

// Returns the address of this library's malloc, even if the program has another one.
void* own_malloc();

// Looks up the functions; the first hook that runs calls it.
void find_real_functions();
inline void need_real_functions() {
  if (real.calloc == nullptr) find_real_functions();
}

}  // namespace nearfar::profile
