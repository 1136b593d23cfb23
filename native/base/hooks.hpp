// What libraries that stand before the C library's functions share: the next definition of a
// function, and the shapes of mmap's family. Hooks have default visibility and C linkage.
#pragma once

#include <dlfcn.h>
#include <stdarg.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstddef>

// Declares `real`, the definition after this library's: the C library's, or that of an allocator or
// preload in between; null if there is none.
#define NEARFAR_NEXT_AS(type, name) \
  static auto* const real = reinterpret_cast<type>(dlsym(RTLD_NEXT, #name))
#define NEARFAR_NEXT(name) NEARFAR_NEXT_AS(decltype(&(name)), name)

// Defines mmap and mmap64: off_t has 64 bits here, so both names do the same.
#define NEARFAR_HOOK_MMAP(...)                                                       \
  void* mmap(void* wanted, std::size_t bytes, int protection, int flags, int file,   \
             off_t offset) noexcept {                                                \
    __VA_ARGS__                                                                      \
  }                                                                                  \
  void* mmap64(void* wanted, std::size_t bytes, int protection, int flags, int file, \
               off64_t offset) noexcept {                                            \
    __VA_ARGS__                                                                      \
  }

// In mremap: the address asked for, which is there with MREMAP_FIXED only.
#define NEARFAR_MREMAP_PLACE(place, flags) \
  void* place = nullptr;                   \
  if ((flags & MREMAP_FIXED) != 0) {       \
    va_list more;                          \
    va_start(more, flags);                 \
    place = va_arg(more, void*);           \
    va_end(more);                          \
  }

namespace nearfar::hooks {

// By system call: no other library's hook sees these, and nothing is allocated.
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
