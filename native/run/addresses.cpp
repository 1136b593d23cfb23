#include "run/addresses.hpp"

#include <errno.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/shadow.hpp"

namespace nearfar::run {

namespace {

// Next free address for each purpose and target.
std::uint64_t next_address[3][NF_RUN_TARGETS];
std::uint64_t slot_begin(unsigned target) {
  const std::uint64_t slot = target == 0 ? 0 : near_slots + target - 1;
  return first_address + (slot << slot_bits);
}

struct Range {
  std::uint64_t begin;
  std::uint64_t end;
};
// Divided blocks are in the upper half of a far target's slot.
Range range_of(unsigned target, Purpose purpose) {
  constexpr std::uint64_t half = 1ull << (slot_bits - 1);
  const std::uint64_t tables = slot_begin(1) - 2 * half;
  const std::uint64_t begin = slot_begin(target);
  if (purpose == Purpose::heap_tables) return {tables, slot_begin(1)};
  if (target == 0) return {begin, tables};
  return purpose == Purpose::divided ? Range{begin + half, begin + 2 * half}
                                     : Range{begin, begin + half};
}

}  // namespace

void* map_at(std::uint64_t address, std::uint64_t bytes, int flags, int file,
             std::uint64_t offset) {
  const long result =
      syscall(SYS_mmap, address, bytes, PROT_READ | PROT_WRITE, flags, file, offset);
  return result == -1 ? nullptr : reinterpret_cast<void*>(result);
}

bool back_with_memory(std::uint64_t begin, std::uint64_t bytes) {
  return mprotect(reinterpret_cast<void*>(begin), bytes, PROT_READ | PROT_WRITE) == 0;
}

std::uint64_t near_end() {
  const std::uint64_t end = __atomic_load_n(&next_address[0][0], __ATOMIC_SEQ_CST);
  return end == 0 ? first_address : end;
}

void* claim(unsigned target, std::uint64_t bytes, std::uint64_t alignment, Purpose purpose,
            Backing backing) {
  const std::uint64_t unit = alignment > huge_page ? alignment : huge_page;
  const Range range = range_of(target, purpose);
  std::uint64_t& next = next_address[static_cast<unsigned>(purpose)][target];
  for (;;) {
    std::uint64_t seen = __atomic_load_n(&next, __ATOMIC_RELAXED);
    const std::uint64_t begin = round_up(seen == 0 ? range.begin : seen, unit);
    // Rounded up to whole huge pages, because a device can map nothing smaller.
    const std::uint64_t after = begin + round_up(bytes, huge_page);
    if (after > range.end || after < begin) return nullptr;
    // Done before reading `shadow`: a thread that maps it at the same time sees this claim, or this
    // thread sees the shadow.
    if (!__atomic_compare_exchange_n(&next, &seen, after, false, __ATOMIC_SEQ_CST,
                                     __ATOMIC_RELAXED)) {
      continue;
    }
    // Without MAP_NORESERVE, because a kernel that never overcommits counts the memory anyway.
    const long result = syscall(SYS_mmap, begin, bytes,
                                backing == Backing::memory ? PROT_READ | PROT_WRITE : PROT_NONE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0L);
    if (result != -1) {
      if (shadow_of(begin, bytes)) return reinterpret_cast<void*>(result);
      syscall(SYS_munmap, begin, bytes);
      return nullptr;
    }
    if (errno != EEXIST) return nullptr;  // another mapping is there: tries the next addresses
  }
}

}  // namespace nearfar::run
