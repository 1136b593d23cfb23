// The operating system behind one thin header: nothing else calls mmap, madvise, mbind, move_pages,
// sched_setaffinity or reads a clock. Raw system calls, so that libnuma is not needed.
//
// Every function throws std::system_error, whose text says what was refused, unless it says
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
// What x86-64 and 4 KiB-granule AArch64 call a huge page; transparent huge pages are this large.
inline constexpr Bytes huge_page{2U << 20U};
inline constexpr Bytes giant_page{1U << 30U};

enum class Pages {
  base,              // 4 KiB, transparent huge pages refused
  transparent_huge,  // 2 MiB asked for; the kernel may give less
  reserved_huge,     // 2 MiB from the reserved pool, or an error
  reserved_giant,    // 1 GiB likewise
};

[[noreturn]] inline void fail(int error, const char* what) {
  throw std::system_error(error, std::generic_category(), what);
}

inline void unmap(std::byte* address, Bytes size) noexcept {
  if (address != nullptr) munmap(address, size.count);
}

// Address space for `size` bytes, aligned to a huge page; no page is there before populate().
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
  const std::uint64_t room = size.count + huge_page.count;
  void* raw = mmap(nullptr, room, PROT_READ | PROT_WRITE, flags | MAP_NORESERVE, -1, 0);
  if (raw == MAP_FAILED) fail(errno, "map memory");
  auto* first = static_cast<std::byte*>(raw);
  const auto misaligned = reinterpret_cast<std::uintptr_t>(first) % huge_page.count;
  const std::uint64_t head = misaligned == 0 ? 0 : huge_page.count - misaligned;
  std::byte* aligned = first + head;
  if (head != 0) munmap(first, head);
  if (room - head > size.count) munmap(aligned + size.count, room - head - size.count);
  // A kernel built without transparent huge pages refuses both; then pages are 4 KiB anyway.
  madvise(aligned, size.count, pages == Pages::base ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
  return aligned;
}

// The file `descriptor` from `offset` on, shared. With `direct`, only if stores reach the medium
// without a page cache between (a DAX file system); returns nullptr where the file system cannot do
// that.
inline std::byte* map_file(int descriptor, Bytes size, bool direct, Bytes offset = {}) {
  const int flags = direct ? MAP_SHARED_VALIDATE | MAP_SYNC : MAP_SHARED;
  void* raw = mmap(nullptr, size.count, PROT_READ | PROT_WRITE, flags, descriptor,
                   static_cast<off_t>(offset.count));
  if (raw != MAP_FAILED) return static_cast<std::byte*>(raw);
  if (direct && (errno == EOPNOTSUPP || errno == EINVAL)) return nullptr;
  fail(errno, "map the file");
}

// Pages of this range come from `node` only; must precede populate().
inline void bind_to_node(std::byte* address, Bytes size, unsigned node) {
  constexpr unsigned bits = 8 * sizeof(unsigned long);
  std::vector<unsigned long> mask(node / bits + 1, 0);
  mask[node / bits] = 1UL << (node % bits);
  // The kernel reads one bit less than it is told there are.
  if (syscall(SYS_mbind, address, size.count, MPOL_BIND, mask.data(), mask.size() * bits + 1, 0U) !=
      0) {
    fail(errno, "bind memory to the node");
  }
}

// What was written there can be run, and no longer written. Some systems refuse that.
inline void make_executable(std::byte* address, Bytes size) {
  if (mprotect(address, size.count, PROT_READ | PROT_EXEC) != 0) {
    fail(errno, "make generated code executable");
  }
}

// Gives every page of the range, writable, now rather than while a kernel is timed.
inline void populate(std::byte* address, Bytes size) {
  if (madvise(address, size.count, MADV_POPULATE_WRITE) == 0) return;
  if (errno != EINVAL) fail(errno, "get the memory's pages");
  auto* bytes = reinterpret_cast<volatile std::uint8_t*>(address);
  // What is there stays: the range may be a file's.
  for (std::uint64_t i = 0; i < size.count; i += base_page.count) bytes[i] = bytes[i];
}

// The node of each page that holds one of `addresses`; negative errno where there is no page.
inline std::vector<int> nodes_of(std::span<std::byte* const> addresses) {
  std::vector<void*> pages(addresses.begin(), addresses.end());
  std::vector<int> nodes(pages.size(), -ENOENT);
  if (syscall(SYS_move_pages, 0, pages.size(), pages.data(), nullptr, nodes.data(), 0) != 0) {
    fail(errno, "ask where pages are");
  }
  return nodes;
}

// The calling thread runs on `cpu` only.
inline void pin_thread(unsigned cpu) {
  const std::size_t size = CPU_ALLOC_SIZE(cpu + 1);
  cpu_set_t* set = CPU_ALLOC(cpu + 1);
  if (set == nullptr) fail(ENOMEM, "pin a thread to its CPU");
  CPU_ZERO_S(size, set);
  CPU_SET_S(cpu, size, set);
  const int refused = sched_setaffinity(0, size, set) == 0 ? 0 : errno;
  CPU_FREE(set);
  if (refused != 0) fail(refused, "pin a thread to its CPU");
}

inline Nanoseconds read_clock(clockid_t clock) noexcept {
  timespec now{};
  clock_gettime(clock, &now);
  return {static_cast<double>(now.tv_sec) * 1e9 + static_cast<double>(now.tv_nsec)};
}

// Time this thread has run; stands still while it is preempted.
inline Nanoseconds thread_cpu_time() noexcept { return read_clock(CLOCK_THREAD_CPUTIME_ID); }
inline Nanoseconds wall_time() noexcept { return read_clock(CLOCK_MONOTONIC); }

// How often the scheduler took the core from the calling thread; -1 where it does not say.
inline long involuntary_switches() noexcept {
  rusage usage{};
  return getrusage(RUSAGE_THREAD, &usage) == 0 ? usage.ru_nivcsw : -1;
}

}  // namespace nearfar::os
