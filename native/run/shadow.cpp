#include "run/shadow.hpp"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "run/addresses.hpp"

namespace nearfar::run {

std::uint32_t* shadow = nullptr;

namespace {

std::uint32_t* entry_of(std::uint64_t page) { return shadow + (page - first_address / page_bytes); }

// Returns the address that decides the owner of a page: one in each group of eight pages, so its
// page is the sampled one. It is hashed, because programs allocate in patterns.
constexpr unsigned group_bits = 12 + NF_RUN_PAGE_BITS;
std::uint64_t place_in(std::uint64_t group) {
  const std::uint64_t hash = group * NF_RUN_PAGE_FACTOR;
  return group << group_bits | (hash >> (64 - group_bits) & ~std::uint64_t{7});
}

// Calls `f` for each sampled page whose deciding address is in the block, in order.
template <typename F>
void for_each_page(const void* block, std::size_t size, F f) {
  const auto begin = reinterpret_cast<std::uint64_t>(block);
  const std::uint64_t end = begin + size;
  for (std::uint64_t group = begin >> group_bits; group << group_bits < end; ++group) {
    const std::uint64_t place = place_in(group);
    if (place >= begin && place < end) f(place / page_bytes);
  }
}

// Sampled pages that a chosen block's first page represents in a run that places nothing.
constexpr std::uint64_t sample_pages = NF_RUN_CHOSEN_BYTES / group_bytes;
constexpr std::uint32_t object_mask = (1u << start_shift) - 1;

bool write_start(const void* block, std::uint16_t object, std::uint32_t flag) {
  const std::uint32_t start = start_of(block);
  std::uint32_t* entry = entry_of(reinterpret_cast<std::uint64_t>(block) / page_bytes);
  if (*entry != 0 || start == 0) return false;
  *entry = (start | flag) << start_shift | object;
  return true;
}

// The share of its sampled pages, except the first page, that a chosen block represents in addition
// to NF_RUN_CHOSEN_BYTES. One that is chosen with probability 1 - exp(-x), where x is its size in
// these bytes, represents x / (1 - exp(-x)) of them: 1 + x / 2 + x^2 / 12 - x^4 / 720 + ...
double share_of_pages(std::size_t size) {
  if (size < 2 * page_bytes) return 0;
  const auto bytes = static_cast<double>(size);
  const double x = bytes / NF_RUN_CHOSEN_BYTES;
  const double share = 1.0 / 2 + x / 12 - x * x * x / 720;
  return share * bytes / (bytes - page_bytes);
}

// A number in [0, 1) by a hash of a page's number.
double uniform(std::uint64_t page) {
  return static_cast<double>(page * 0xD6E8FEB86659FD93ull >> 11) * 0x1p-53;
}

// Removes a block that begins here; returns the number of pages that its first page
// represented.
std::uint64_t forget_start(std::uint64_t first, std::uint32_t start) {
  std::uint32_t& entry = *entry_of(first);
  const std::uint32_t word = entry;
  if ((word >> start_shift & ~chosen_bit) != start || start == 0) return 0;
  entry = 0;
  if ((word & object_mask) == 0) return 0;
  return (word >> start_shift & chosen_bit) != 0 ? sample_pages : 1;
}

}  // namespace

bool map_shadow() {
  constexpr std::uint64_t pages = (end_address - first_address) / page_bytes;
  constexpr std::uint64_t bytes = pages * sizeof *shadow;
  // Mapped read-only, because otherwise a kernel that never overcommits (or RLIMIT_DATA) would
  // count all of it.
  const long result =
      syscall(SYS_mmap, nullptr, bytes, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0L);
  if (result == -1) return false;
  // A huge page of the table covers 2 GiB of blocks, most of which may not exist.
  madvise(reinterpret_cast<void*>(result), pages * sizeof *shadow, MADV_NOHUGEPAGE);
  madvise(reinterpret_cast<void*>(result), pages * sizeof *shadow, MADV_DONTDUMP);
  __atomic_store_n(&shadow, reinterpret_cast<std::uint32_t*>(result), __ATOMIC_SEQ_CST);
  // Enables the part for addresses that were claimed before.
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
  std::uint64_t pages = 0 - forget_start(first, start);
  for_each_page(block, size, [&](std::uint64_t page) {
    const std::uint32_t code = page == first ? start : continued;
    pages += *entry_of(page) == 0;
    *entry_of(page) = code << start_shift | object;
  });
  // A block is looked up by its first page, sampled or not.
  if (*entry_of(first) == 0) *entry_of(first) = start << start_shift;
  if (pages != 0) add(state.sampled_pages, pages);
}

bool record_sample(const void* block, std::uint16_t object) {
  if (!write_start(block, object, 0)) return false;
  add(state.sampled_pages, std::uint64_t{1});
  return true;
}

void record_lone_sample(const void* block, std::size_t size, std::uint16_t object) {
  if (!write_start(block, object, chosen_bit)) return;
  std::uint64_t pages = sample_pages;
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(block) / page_bytes;
  const double share = share_of_pages(size);
  for_each_page(block, size, [&](std::uint64_t page) {
    if (page == first || uniform(page) >= share) return;
    pages += *entry_of(page) == 0;
    *entry_of(page) = continued << start_shift | object;
  });
  add(state.sampled_pages, pages);
}

void forget_block(const void* block, std::size_t size) {
  const std::uint64_t first = reinterpret_cast<std::uint64_t>(block) / page_bytes;
  std::uint64_t pages = forget_start(first, start_of(block));
  for_each_page(block, size, [&](std::uint64_t page) {
    if (page == first || *entry_of(page) >> start_shift != continued) return;
    *entry_of(page) = 0;
    ++pages;
  });
  if (pages != 0) add(state.sampled_pages, 0 - pages);
}

}  // namespace nearfar::run
