#include "profile/runtime/shadow.hpp"

#include <string.h>
#include <sys/mman.h>

#include "profile/runtime/os.hpp"
#include "profile/runtime/process_file.hpp"

namespace nearfar::profile {

namespace {

// User space of x86-64 with four-level page tables; with five levels, Linux's default.
constexpr std::uint64_t address_space = 1ull << 47;

std::uint64_t round_up(std::uint64_t address) { return (address + 4095) & ~4095ull; }

}  // namespace

bool Shadow::reserve(const sim::SampledLines& lines) {
  lines_ = lines;
  const std::uint64_t entries = lines.ordinal(address_space) * granules_per_line;
  const std::uint64_t bytes = entries * sizeof(std::uint16_t);
  void* memory = reserve_memory(bytes);
  if (memory == nullptr) return false;
  madvise(memory, bytes, MADV_DONTDUMP);
  entries_ = static_cast<std::uint16_t*>(memory);
  return true;
}

std::uint64_t Shadow::tag(std::uint64_t begin, std::uint64_t size, std::uint16_t site) const {
  std::uint64_t sampled_bytes = 0;
  const std::uint64_t end = begin + size;
  const std::uint64_t sites = tags_of(site);
  lines_.for_each(begin, size, [&](std::uint64_t line) {
    const std::uint64_t from = line > begin ? line : begin;
    const std::uint64_t last = (line + 64 < end ? line + 64 : end) - 1;
    sampled_bytes += last + 1 - from;
    // A line's four granules are one word. A block's place in its page is random, so a branch on
    // the covered granules would often be mispredicted. (Two threads that tag a line simultaneously
    // may lose a tag.)
    const std::uint64_t covered =
        ~0ull << (from >> 4 & 3) * 16 & ~0ull >> (3 - (last >> 4 & 3)) * 16;
    auto* word = reinterpret_cast<Word*>(entries_ + lines_.ordinal(line) * granules_per_line);
    *word = (*word & ~covered) | (sites & covered);
  });
  return sampled_bytes;
}

void Shadow::clear(std::uint64_t begin, std::uint64_t size) const {
  if (begin >= address_space) return;
  if (begin + size > address_space) size = address_space - begin;
  // A system call is cheaper than writing zeros only for several pages of the shadow.
  constexpr std::uint64_t page = 4096;
  constexpr long min_madvise_bytes = 16 * page;
  const std::uint64_t end = begin + size;
  const std::uint64_t first_page = round_up(begin);
  const std::uint64_t last_page = end & ~(page - 1);
  auto* first = reinterpret_cast<char*>(entry(first_page));
  auto* last = reinterpret_cast<char*>(entry(last_page));
  if (first_page >= last_page || last - first < min_madvise_bytes) {
    tag(begin, size, site_none);
    return;
  }
  // Other memory may share the pages at the edges.
  tag(begin, first_page - begin, site_none);
  tag(last_page, end - last_page, site_none);
  auto* whole = reinterpret_cast<char*>(round_up(reinterpret_cast<std::uint64_t>(first)));
  auto* whole_end = reinterpret_cast<char*>(reinterpret_cast<std::uint64_t>(last) & ~(page - 1));
  memset(first, 0, static_cast<size_t>(whole - first));
  madvise(whole, static_cast<size_t>(whole_end - whole), MADV_DONTNEED);
  memset(whole_end, 0, static_cast<size_t>(last - whole_end));
}

}  // namespace nearfar::profile
