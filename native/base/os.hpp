// Thin wrappers of mmap, madvise, mbind, move_pages, sched_setaffinity and clocks for measurements.
// They use raw system calls, so libnuma is not needed.
//
// Every function throws std::system_error, whose text names what failed, unless its comment says
// otherwise. Sizes are whole pages; addresses come from map_*.
#pragma once

#include <fcntl.h>
#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

#include "base/units.hpp"

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23  // Linux 5.14
#endif
#ifndef MAP_SYNC
#define MAP_SYNC 0x80000  // Linux 4.15; only meaningful with MAP_SHARED_VALIDATE
#endif
#ifndef MAP_SHARED_VALIDATE
#define MAP_SHARED_VALIDATE 0x03
#endif

namespace nearfar::os {

inline constexpr Bytes base_page{4096};
// Huge page of x86-64 and of AArch64 with 4 KiB granules; also the size of transparent huge pages.
inline constexpr Bytes huge_page{2U << 20U};
inline constexpr Bytes giant_page{1U << 30U};

enum class Pages {
  base,              // 4 KiB, without transparent huge pages
  transparent_huge,  // 2 MiB requested; the kernel may give smaller pages
  reserved_huge,     // 2 MiB from the reserved pool; fails if it is empty
  reserved_giant,    // 1 GiB from the reserved pool; fails if it is empty
};

[[noreturn]] inline void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

inline void unmap(std::byte* address, Bytes size) noexcept {
  if (address != nullptr) munmap(address, size.count);
}

// Reserves address space for `size` bytes, aligned to a huge page. populate() allocates its pages.
inline std::byte* map_anonymous(Bytes size, Pages pages) {
  int flags = MAP_PRIVATE | MAP_ANONYMOUS;
  if (pages == Pages::reserved_huge || pages == Pages::reserved_giant) {
    constexpr int two_mib = 21 << 26;  // log2(2 MiB) << MAP_HUGE_SHIFT
    constexpr int one_gib = 30 << 26;
    const int unit = pages == Pages::reserved_huge ? two_mib : one_gib;
    void* exact =
        mmap(nullptr, size.count, PROT_READ | PROT_WRITE, flags | MAP_HUGETLB | unit, -1, 0);
    if (exact == MAP_FAILED) fail(errno, "map reserved huge pages");
    return static_cast<std::byte*>(exact);
  }
  const std::uint64_t reserved = size.count + huge_page.count;
  void* raw = mmap(nullptr, reserved, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) fail(errno, "map memory");
  auto* first = static_cast<std::byte*>(raw);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(first) % huge_page.count;
  const std::uint64_t head = misaligned == 0 ? 0 : huge_page.count - misaligned;
  std::byte* aligned = first + head;
  if (head != 0) munmap(first, head);
  if (reserved - head > size.count) munmap(aligned + size.count, reserved - head - size.count);
  // Kernels built without transparent huge pages refuse both flags; their pages are 4 KiB anyway.
  madvise(aligned, size.count, pages == Pages::base ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  return aligned;
}

// Maps the file `descriptor` from `offset` on, shared. If `direct`, stores must reach the medium
// without a page cache (DAX); returns nullptr if the file system does not support that.
inline std::byte* map_file(int descriptor, Bytes size, bool direct, Bytes offset = {}) {
  const int flags = direct ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  void* raw = mmap(nullptr, size.count, PROT_READ | PROT_WRITE, flags, descriptor,
                   static_cast<off_t>(offset.count));
  if (raw != MAP_FAILED) return static_cast<std::byte*>(raw);
  if (direct && (errno == EOPNOTSUPP || errno == EINVAL)) return nullptr;
  fail(errno, "map the file");
}

// Restricts the range's pages to `node`. Call it before populate().
inline void bind_to_node(std::byte* address, Bytes size, unsigned node) {
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / bits + 1, 0);
  mask[node / bits] = 1UL << (node % bits);
  // The kernel reads one bit less than the given number.
  if (syscall(SYS_mbind, address, size.count, MPOL_BIND, mask.data(), mask.size() * bits + 1, 0U) !=
      0) {
    fail(errno, "bind memory to the node");
  }
}

// Makes the range executable and read-only. Some systems refuse that.
inline void make_executable(std::byte* address, Bytes size) {
  if (mprotect(address, size.count, PROT_READ | PROT_EXEC) != 0) {
    fail(errno, "make generated code executable");
  }
}

// Allocates every page of the range, writable, so that no page fault is timed.
inline void populate(std::byte* address, Bytes size) {
  if (madvise(address, size.count, MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) fail(errno, "get the memory's pages");
  auto* bytes = reinterpret_cast<volatile std::uint8_t*>(address);
  // Rewrites each byte with its own value: the range may be a file's.
  for (std::uint64_t i = 0; i < size.count; i += base_page.count) bytes[i] = bytes[i];
}

// Returns the node of each address's page, or a negative errno if the address has no page.
inline std::vector<int> nodes_of(std::span<std::byte* const> addresses) {
  std::vector<void*> pages(addresses.begin(), addresses.end());
  std::vector<int> nodes(pages.size(), -ENOENT);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    fail(errno, "ask where pages are");
  }
  return nodes;
}

// Pins the calling thread to `cpu`.
inline void pin_thread(unsigned cpu) {
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) fail(ENOMEM, "pin a thread to its CPU");
  CPU_ZERO_S(size, set);
  CPU_SET_S(cpu, size, set);
  const int error = sched_setaffinity(0, size, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  if (error != 0) fail(error, "pin a thread to its CPU");
}

inline Nanoseconds read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return {static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec)};
}

// CPU time of the calling thread.
inline Nanoseconds thread_cpu_time() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
inline Nanoseconds wall_time() noexcept { return read_clock(CLOCK_MONOTONIC); }

// Number of times the scheduler preempted the calling thread; -1 if it is unknown.
inline long involuntary_switches() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
}

}  // namespace nearfar::os
