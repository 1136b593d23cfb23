// A core's second-level TLB, with estimates of the program's misses from sampled accesses.
#pragma once

#include <cstdint>

#include "sim/cache/lru_cache.hpp"

namespace nearfar::sim {

// It sees only pages with sampled lines, and one access in `rate` to them. How many misses a
// sampled miss represents depends on the access pattern. A sequential walk missed once on every
// page since its previous miss; at random addresses, every access that was not sampled missed too.
class Translations {
 public:
  static constexpr unsigned ways = 12;  // Skylake to Ice Lake; Golden Cove's 16 behave alike

  // `entries` is the number of entries of the processor's TLB; `memory` contains the ways.
  Translations() = default;
  Translations(std::uint64_t entries, unsigned page_log2, unsigned rate_log2, LineWord* memory)
      : page_log2_(page_log2),
        rate_log2_(rate_log2),
        cache_(geometry(entries, page_log2, rate_log2), memory) {}

  // Log2 of the number of pages per page that has a sampled line.
  static constexpr unsigned hidden_log2(unsigned page_log2, unsigned rate_log2) {
    return rate_log2 > page_log2 - line_log2 ? rate_log2 - (page_log2 - line_log2) : 0;
  }
  static constexpr CacheGeometry geometry(std::uint64_t entries, unsigned page_log2,
                                          unsigned rate_log2) {
    const std::uint64_t sets = (entries >> hidden_log2(page_log2, rate_log2)) / ways;
    return {sets == 0 ? 1 : sets, ways};
  }

  // Last missed pages of one instruction, for up to two interleaved walks.
  struct Walk {
    std::uint64_t pages[2];
    bool jumped;
  };

  // Returns the misses of the whole program that this access represents; 0 for a hit.
  std::uint64_t touch(std::uint64_t address, Walk& walk) {
    const std::uint64_t page = address >> page_log2_;
    // Pages with sampled lines are a hashed choice: without another hash some sets would stay
    // empty.
    const bool sparse = hidden_log2(page_log2_, rate_log2_) != 0;
    const std::uint64_t index = sparse ? (page * 0x9E3779B97F4A7C15ull) >> 40 : page;
    if (cache_.access_in(cache_.set_of(index), page, 0, false).hit) return 0;
    const std::uint64_t here = page + 1;  // 0: no page yet
    unsigned closest = distance(here, walk.pages[0]) <= distance(here, walk.pages[1]) ? 0 : 1;
    const std::uint64_t gap = distance(here, walk.pages[closest]);
    const unsigned hidden = hidden_log2(page_log2_, rate_log2_);
    const std::uint64_t every_access = std::uint64_t{1} << rate_log2_;
    const bool walks = gap != 0 && gap <= near_pages << hidden;
    const bool begins = !walks && !walk.jumped;
    walk.jumped = !walks;
    if (!walks) closest = 1;
    if (closest == 1) walk.pages[1] = walk.pages[0];
    walk.pages[0] = here;
    // A jump may begin a walk. It counts as a random miss only if no walk continues from there.
    if (begins) return std::uint64_t{1} << hidden;
    return walks && gap < every_access ? gap : every_access;
  }

 private:
  static constexpr unsigned line_log2 = 6;
  // A walk may skip some sampled pages, because of its stride or by chance. Random misses are
  // rarely so close together.
  static constexpr std::uint64_t near_pages = 16;

  static std::uint64_t distance(std::uint64_t here, std::uint64_t before) {
    return here > before ? here - before : before - here;
  }

  unsigned page_log2_ = 12;
  unsigned rate_log2_ = 0;
  LruCache cache_;
};

}  // namespace nearfar::sim
