// A core's last translation cache (second-level TLB), and how far apart its misses are.
#pragma once

#include <cstdint>

#include "sim/cache/lru_cache.hpp"

namespace nearfar::sim {

// Sees only pages that hold a line that is looked at, and of those one access in `rate`. Which
// accesses a miss stands for depends on how the page was come to: in a walk through memory every
// page between this miss and the one before was missed once; where misses lie anywhere, each
// access that was not looked at would have missed alike.
class Translations {
 public:
  static constexpr unsigned ways = 12;  // Skylake to Ice Lake; Golden Cove's 16 behave alike

  // `entries` as the processor has them; the memory for the ways and for the walks is the caller's.
  Translations() = default;
  Translations(std::uint64_t entries, unsigned page_log2, unsigned rate_log2, LineWord* memory)
      : page_log2_(page_log2),
        rate_log2_(rate_log2),
        cache_(geometry(entries, page_log2, rate_log2), memory) {}

  // One in 2^hidden pages is seen at all.
  static constexpr unsigned hidden_log2(unsigned page_log2, unsigned rate_log2) {
    return rate_log2 > page_log2 - line_log2 ? rate_log2 - (page_log2 - line_log2) : 0;
  }
  static constexpr CacheGeometry geometry(std::uint64_t entries, unsigned page_log2,
                                          unsigned rate_log2) {
    const std::uint64_t sets = (entries >> hidden_log2(page_log2, rate_log2)) / ways;
    return {sets == 0 ? 1 : sets, ways};
  }

  // Where an instruction last missed: two walks are told apart.
  struct Walk {
    std::uint64_t pages[2];
    bool jumped;
  };

  // Misses of the whole program that this access stands for; 0: a hit.
  std::uint64_t touch(std::uint64_t address, Walk& walk) {
    const std::uint64_t page = address >> page_log2_;
    // Pages seen are a choice by hash: their numbers' low bits would leave sets empty.
    const bool sparse = hidden_log2(page_log2_, rate_log2_) != 0;
    const std::uint64_t index = sparse ? (page * 0x9E3779B97F4A7C15ull) >> 40 : page;
    if (cache_.access_in(cache_.set_of(index), page, 0, false).hit) return 0;
    const std::uint64_t here = page + 1;  // 0 is no page yet
    unsigned nearer = distance(here, walk.pages[0]) <= distance(here, walk.pages[1]) ? 0 : 1;
    const std::uint64_t apart = distance(here, walk.pages[nearer]);
    const unsigned hidden = hidden_log2(page_log2_, rate_log2_);
    const std::uint64_t all = std::uint64_t{1} << rate_log2_;
    const bool walks = apart != 0 && apart <= near_pages << hidden;
    const bool begins = !walks && !walk.jumped;
    walk.jumped = !walks;
    if (!walks) nearer = 1;
    if (nearer == 1) walk.pages[1] = walk.pages[0];
    walk.pages[0] = here;
    // A walk may begin anywhere; only where it does not go on from there was it no walk.
    if (begins) return std::uint64_t{1} << hidden;
    return walks && apart < all ? apart : all;
  }

 private:
  static constexpr unsigned line_log2 = 6;
  // Of pages that are seen, a walk may leave out some (by a stride, or by chance where few are
  // looked at); random misses seldom come so near to one another.
  static constexpr std::uint64_t near_pages = 16;

  static std::uint64_t distance(std::uint64_t here, std::uint64_t before) {
    return here > before ? here - before : before - here;
  }

  unsigned page_log2_ = 12;
  unsigned rate_log2_ = 0;
  LruCache cache_;
};

}  // namespace nearfar::sim
