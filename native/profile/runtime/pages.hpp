// Reuse of whole pages (abi.h), from which the faults of a memory that is moved in pages follow.
#pragma once

#include <cstdint>

#include "profile/abi.h"
#include "profile/runtime/runtime.hpp"

namespace nearfar::profile {

// Returns false if address space cannot be reserved. `look`: addresses are those of this process,
// so the pages' content can be read and compressed.
bool reserve_pages(bool look);
void continue_pages_in_child();

// Counts a touch of the whole page of `address`.
void touch_page(std::uint32_t phase, std::uint64_t address, bool store);

struct PageTouch {
  std::uint64_t address;
  bool store;
};
// Counts touches in this order, with a single wait for other threads.
void touch_pages(std::uint32_t phase, const PageTouch* touches, unsigned touch_count);

// Calls `f(address)` for each whole page in a range that does not touch the page's sampled line.
template <typename F>
void for_each_whole_page_without_line(std::uint64_t begin, std::uint64_t size, F f) {
  if (size == 0) return;
  const std::uint64_t last = begin + size - 1;
  for (std::uint64_t page = begin >> 12; page <= last >> 12; ++page) {
    if (!nf_whole(page << 12)) continue;
    const std::uint64_t from = page == begin >> 12 ? begin : page << 12;
    const std::uint64_t to = page == last >> 12 ? last : page << 12 | 4095;
    bool line = false;
    runtime.lines.for_each(from, to + 1 - from, [&](std::uint64_t) { line = true; });
    if (!line) f(from);
  }
}

}  // namespace nearfar::profile
