#include "run/shadow.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"

namespace nearfar::run {

std::uint32_t* shadow = nullptr;

namespace {

std::uint32_t* entry_of(std::uint64_t page) { return shadow + (page - first_address / page_bytes); }

// Calls `f` for each sampled page whose decisive place is in the block, in order.
template <typename F>
void for_each_page(const void* block, std::size_t size, F f) {
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t end = begin + size;
  for (std::uint64_t group = begin >> group_bits; group << group_bits < end; ++group) {
    const std::uint64_t place = place_in(group);
    if (place >= begin && place < end) f(place / page_bytes);
  }
}

std::uint32_t start_of(const void* block) {
  return static_cast<std::uint32_t>(reinterpret_cast<std::uint64_t>(block) % page_bytes / 8 + 1);
}

// Forgets a sampled block that begins here; returns the pages it represented.
std::uint64_t forget_sample(std::uint64_t first, std::uint32_t start) {
  std::uint32_t& entry = *entry_of(first);
  if (entry >> start_shift != (chosen_bit | start)) return 0;
  entry = 0;
  return sample_pages;
}

}  // namespace

bool map_shadow() {
  // One more page: the last page's entry is read together with the next one.
  constexpr std::uint64_t pages = (end_address - first_address) / page_bytes;
  constexpr std::uint64_t bytes = pages * sizeof *shadow + page_bytes;
  // Read-only, or a kernel that never overcommits (or RLIMIT_DATA) would count all of it.
  const long result =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (result == -1) return false;
  // A huge page of it covers 2 GiB of blocks, most of which may not exist.
  madvise(reinterpret_cast<void*>(result), pages * sizeof *shadow, MADV_NOHUGEPAGE);
  madvise(reinterpret_cast<void*>(result), pages * sizeof *shadow, MADV_DONTDUMP);
  __atomic_store_n(&shadow, reinterpret_cast<std::uint32_t*>(result), __ATOMIC_SEQ_CST);
  // Addresses that were claimed before.
  if (shadow_of(first_address, near_end() - first_address)) return true;
  shadow = nullptr;
  syscall(SYS_munmap, result, bytes);
  return false;
}

bool shadow_of(std::uint64_t begin, std::uint64_t bytes) {
  if (__atomic_load_n(&shadow, __ATOMIC_SEQ_CST) == nullptr || bytes == 0) return true;
  const auto first = reinterpret_cast<std::uint64_t>(entry_of(begin / page_bytes));
  const auto last = reinterpret_cast<std::uint64_t>(entry_of((begin + bytes) / page_bytes));
  const std::uint64_t from = first / page_bytes * page_bytes;
  return back_with_memory(from, round_up(last, page_bytes) - from);
}

void record_block(const void* block, std::size_t size, std::uint16_t object) {
  const std::uint32_t start = start_of(block);
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(block) / page_bytes;
  std::uint64_t pages = forget_sample(first, start);
  for_each_page(block, size, [&](std::uint64_t page) {
    const std::uint32_t code = page == first ? start : continued;
    pages += *entry_of(page) == 0;
    *entry_of(page) = code << start_shift | object;
  });
  // A long block is looked up by its first page, sampled or not.
  if (size > page_bytes && *entry_of(first) == 0) *entry_of(first) = start << start_shift;
  if (pages != 0) add(state.sampled_pages, pages);
}

void record_sample(const void* block, std::uint16_t object) {
  const std::uint32_t start = start_of(block);
  std::uint32_t* entry = entry_of(reinterpret_cast<std::uint64_t>(block) / page_bytes);
  if (*entry >> start_shift == continued) return;  // belongs to a long block
  if (*entry == 0) add(state.sampled_pages, sample_pages);
  *entry = (chosen_bit | start) << start_shift | object;
}

void forget_block(const void* block, std::size_t size) {
  const std::uint32_t start = start_of(block);
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(block) / page_bytes;
  std::uint64_t pages = forget_sample(first, start);
  for_each_page(block, size, [&](std::uint64_t page) {
    const std::uint32_t code = *entry_of(page) >> start_shift;
    if (code != (page == first ? start : continued)) return;
    *entry_of(page) = 0;
    ++pages;
  });
  if (*entry_of(first) == start << start_shift) *entry_of(first) = 0;
  if (pages != 0) add(state.sampled_pages, 0 - pages);
}

}  // namespace nearfar::run
