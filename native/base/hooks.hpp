// Helpers for interposing libraries: look-up of the next definition of a function, and the
// signatures of the mmap family. Hooks have default visibility and C linkage.
#pragma once

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

// Declares `real`, the next definition in look-up order (that of the C library, an allocator or
// another preloaded library); null if there is none.
#define NEARFAR_NEXT_AS(type, name) \
  static auto* const real = reinterpret_cast<type>(dlsym(RTLD_NEXT, #name))
#define NEARFAR_NEXT(name) NEARFAR_NEXT_AS(decltype(&(name)), name)

// Defines mmap and mmap64, which are equal because off_t has 64 bits here.
#define NEARFAR_HOOK_MMAP(...)                                                       \
  void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,   \
             off_t offset) noexcept {                                                \
    __VA_ARGS__                                                                      \
  }                                                                                  \
  void* mmap64(void* wanted, std::size_t bytes, int protection, int flags, int file, \
               off64_t offset) noexcept {                                            \
    __VA_ARGS__                                                                      \
  }

// Declares `place`, mremap's requested address, which is passed only with MREMAP_FIXED.
#define NEARFAR_MREMAP_PLACE(place, flags) \
  void* place = nullptr;                   \
  if ((flags & MREMAP_FIXED) != 0) {       \
    va_list more;                          \
    va_start(more, flags);                 \
    place = va_arg(more, void*);           \
    va_end(more);                          \
  }

namespace nearfar::hooks {

// These functions call the kernel directly: they bypass the hooks of other libraries and allocate
// nothing.
inline void* system_mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,
                         off_t offset) {
  return reinterpret_cast<void*>(syscall(SYS_mmap, wanted, bytes, protection, flags, file, offset));
}
inline int system_munmap(void* begin, std::size_t bytes) {
  return static_cast<int>(syscall(SYS_munmap, begin, bytes));
}
inline void* system_mremap(void* begin, std::size_t bytes, std::size_t new_bytes, int flags,
                           void* place) {
  return reinterpret_cast<void*>(syscall(SYS_mremap, begin, bytes, new_bytes, flags, place));
}

}  // namespace nearfar::hooks
