// Memory from the kernel, without the hooks of the program and of this library.
#pragma once

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>

namespace nearfar::profile {

// Like mmap(2); returns null on failure, with errno set.
inline void* map_memory(std::uint64_t size, int flags, int file = -1) {
  const long address = syscall(SYS_mmap, nullptr, size, PROT_READ | PROT_WRITE, flags, file, 0L);
  return address == -1 ? nullptr : reinterpret_cast<void*>(address);
}

// Reserves zeroed memory that is allocated when touched. Returns null on failure.
inline void* reserve_memory(std::uint64_t size) {
  return map_memory(size, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE);
}

// Reserves zeroed memory for tables that every sampled access reads, as far as possible on a huge
// page: a program that misses its caches also displaces the runtime's translations of small pages.
// Only one thread may call this at a time.
inline void* reserve_hot_memory(std::uint64_t size) {
  constexpr std::uint64_t huge_page = 2ull << 20;
  static char* next = nullptr;
  static std::uint64_t left = 0;
  if (next == nullptr) {
    auto* memory = static_cast<char*>(reserve_memory(2 * huge_page));
    if (memory == nullptr) return nullptr;
    const std::uint64_t skipped = -reinterpret_cast<std::uint64_t>(memory) % huge_page;
    next = memory + skipped;
    left = huge_page;
    madvise(next, huge_page, MADV_HUGEPAGE);
  }
  size = (size + 63) & ~std::uint64_t{63};
  if (size > left) return reserve_memory(size);
  left -= size;
  next += size;
  return next - size;
}

// Restores errno at the end of a scope: the program does not know that the runtime ran.
class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = before_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int before_ = errno;
};

// Returns a clock's time, ns; 0 if there is no such clock.
inline std::uint64_t clock_ns(clockid_t clock) {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return 0;
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000'000u +
         static_cast<std::uint64_t>(time.tv_nsec);
}

inline void release_memory(void* address, std::uint64_t size) {
  syscall(SYS_munmap, address, size);
}

}  // namespace nearfar::profile
