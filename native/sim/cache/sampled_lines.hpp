// Which lines are sampled, and numbers for them that leave no gaps.
#pragma once

#include <cstdint>

#include "profile/abi.h"

namespace nearfar::sim {

// Every 4 KiB page holds 2^(6-rate_log2) sampled lines (rates above 64: at most one). Numbered
// page after page they are the *ordinals*, dense for contiguous memory: a cache of 1/rate the
// sets, indexed by ordinal, is as evenly filled as the whole cache indexed by line number, so a
// footprint near the capacity is not distorted. At rate 1 the ordinal is the line number.
class SampledLines {
 public:
  SampledLines() = default;
  explicit SampledLines(unsigned rate_log2)
      : rate_log2_(rate_log2),
        inner_(rate_log2 < 6 ? rate_log2 : 6),
        mask_(NF_FILTER_MASK(rate_log2)) {}

  unsigned rate_log2() const { return rate_log2_; }
  std::uint64_t rate() const { return std::uint64_t{1} << rate_log2_; }
  unsigned lines_per_page() const { return 1u << (6 - inner_); }

  bool sampled(std::uint64_t address) const { return nf_sampled(address, mask_) != 0; }

  std::uint64_t ordinal(std::uint64_t address) const {
    return ((address >> 12) << (6 - inner_)) + ((address >> 6 & 63) >> inner_);
  }

  // Number by which the cache is indexed. Above rate 64 sampled pages are a random choice, and
  // their numbers' low bits would leave sets empty: these are hashed.
  std::uint64_t index(std::uint64_t ordinal) const {
    return rate_log2_ <= 6 ? ordinal : (ordinal * 0x9E3779B97F4A7C15ull) >> 20;
  }

  // Line number within its page of the page's first sampled line.
  std::uint64_t first_in_page(std::uint64_t page) const {
    return ((page * NF_HASH_MULTIPLIER) >> (NF_HASH_SHIFT + 6)) & ((1u << inner_) - 1);
  }

  // Whether [begin, begin + size) holds a byte of a sampled line.
  bool any_in(std::uint64_t begin, std::uint64_t size) const {
    bool found = false;
    // Two pages hold a whole sampled line at every rate to 64: no need to look further.
    const std::uint64_t looked = rate_log2_ <= 6 && size > 8192 ? 8192 : size;
    for_each(begin, looked, [&](std::uint64_t) { found = true; });
    return found;
  }

  // Calls `f(address of the line)` for each sampled line with a byte in [begin, begin + size).
  template <typename F>
  void for_each(std::uint64_t begin, std::uint64_t size, F f) const {
    if (size == 0) return;
    const std::uint64_t end = begin + size;
    for (std::uint64_t page = begin >> 12; page <= (end - 1) >> 12; ++page) {
      for (std::uint64_t line = first_in_page(page); line < 64; line += 1u << inner_) {
        const std::uint64_t address = page << 12 | line << 6;
        if (address >= end) break;
        if (address + 64 > begin && (rate_log2_ <= 6 || sampled(address))) f(address);
      }
    }
  }

 private:
  unsigned rate_log2_ = 6;
  unsigned inner_ = 6;
  std::uint64_t mask_ = NF_FILTER_MASK(6);
};

}  // namespace nearfar::sim
