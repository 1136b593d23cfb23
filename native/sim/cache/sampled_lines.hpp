// Choice of sampled lines, and dense numbers for them.
#pragma once

#include <cstdint>

#include "profile/abi.h"

namespace nearfar::sim {

// Every 4 KiB page holds 2^(6-rate_log2) sampled lines (at rates above 64: at most one). Their
// numbers in address order are *ordinals*, dense for contiguous memory. A cache with 1/rate of the
// sets, indexed by ordinal, is filled as evenly as the full cache indexed by line number, so
// footprints near the capacity are not distorted. At rate 1 an ordinal is the line number.
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

  unsigned inner_log2() const { return inner_; }
  std::uint64_t ordinal(std::uint64_t address) const { return nf_ordinal(address, inner_); }

  // Returns an address in the line of an ordinal.
  std::uint64_t address(std::uint64_t ordinal) const {
    const std::uint64_t page = ordinal >> (6 - inner_);
    const std::uint64_t inner = ordinal & (lines_per_page() - 1);
    return page << 12 | inner << (inner_ + 6) | first_in_page(page) << 6;
  }

  // Returns the cache index. Above rate 64 sampled pages are a random choice, so ordinals are
  // hashed to fill all sets.
  std::uint64_t index(std::uint64_t ordinal) const {
    return rate_log2_ <= 6 ? ordinal : (ordinal * 0x9E3779B97F4A7C15ull) >> 20;
  }

  // Returns the position of a page's first sampled line within the page.
  std::uint64_t first_in_page(std::uint64_t page) const {
    return ((page * NF_HASH_MULTIPLIER) >> (NF_HASH_SHIFT + 6)) & ((1u << inner_) - 1);
  }

  // Returns whether [begin, begin + size) overlaps a sampled line. Every malloc and free asks this,
  // so the usual rate has a fast path.
  bool any_in(std::uint64_t begin, std::uint64_t size) const {
    if (size == 0) return false;
    return rate_log2_ == usual_rate_log2 ? any_in_at_usual_rate(begin, size)
                                         : any_in_at_any_rate(begin, size);
  }
  static constexpr unsigned usual_rate_log2 = 6;
  // `size` is not 0.
  [[gnu::always_inline]] static bool any_in_at_usual_rate(std::uint64_t begin, std::uint64_t size) {
    // A line overlaps if it begins in [begin - 63, begin + size). Both branches are rarely taken
    // for a small range; one that depends on its place in the page would often be mispredicted.
    const std::uint64_t from = begin - 63;
    const std::uint64_t in_page = from & 4095;
    const std::uint32_t product = hash_of_page(from >> 12);
    const std::uint64_t next = line_in_page(product + hash_of_page(1));
    const auto in_next_page = static_cast<std::int64_t>(in_page + size + 63) - 4096;
    if (line_in_page(product) - in_page < size + 63) [[unlikely]]
      return true;
    if (static_cast<std::int64_t>(next) < in_next_page) [[unlikely]]
      return true;
    return false;
  }
  [[gnu::noinline]] bool any_in_at_any_rate(std::uint64_t begin, std::uint64_t size) const {
    const std::uint64_t pages = ((begin + size - 1) >> 12) - (begin >> 12);
    if (rate_log2_ < 6 && pages > 1) return true;  // a whole page
    bool overlaps = false;
    for_each(begin, size, [&](std::uint64_t) { overlaps = true; });
    return overlaps;
  }

  // Calls `f(line address)` for each sampled line that overlaps [begin, begin + size).
  template <typename F>
  void for_each(std::uint64_t begin, std::uint64_t size, F f) const {
    if (size == 0) return;
    const std::uint64_t end = begin + size;
    for (std::uint64_t page = begin >> 12; page <= (end - 1) >> 12; ++page) {
      std::uint64_t address = page << 12 | first_in_page(page) << 6;
      for (unsigned line = 0; line < lines_per_page(); ++line, address += 64u << inner_) {
        if (address >= end) break;
        if (address + 64 > begin && (rate_log2_ <= 6 || sampled(address))) f(address);
      }
    }
  }

  // The sampled bytes of a range in at most two pages, at the usual rate.
  struct Cover {
    std::uint64_t page;      // number of the page in which the range begins
    std::int64_t from_line;  // distance of the range from the sampled line of that page
    std::uint64_t begin;     // the range covers [begin, end) of that line
    std::uint64_t end;
    std::uint64_t next_end;  // and [0, next_end) of the next page's line

    std::uint64_t bytes() const { return end - begin + next_end; }
    bool first_byte_sampled() const { return static_cast<std::uint64_t>(from_line) < 64; }
  };
  // Without branches: a block's place in its page is random.
  [[gnu::always_inline]] static Cover cover(std::uint64_t begin, std::uint64_t size) {
    const auto clamp = [](std::int64_t offset) {
      offset = offset > 0 ? offset : 0;
      return static_cast<std::uint64_t>(offset < 64 ? offset : 64);
    };
    const std::uint64_t page = begin >> 12;
    const std::uint32_t product = hash_of_page(page);
    const auto line = static_cast<std::int64_t>(line_in_page(product));
    const auto next = static_cast<std::int64_t>(line_in_page(product + hash_of_page(1)));
    const auto from = static_cast<std::int64_t>(begin & 4095);
    const std::int64_t to = from + static_cast<std::int64_t>(size);
    return {page, from - line, clamp(from - line), clamp(to - line), clamp(to - 4096 - next)};
  }

  struct Overlap {
    std::uint64_t bytes = 0;  // bytes of the range within sampled lines
    std::uint64_t first = 0;  // address of the first of these bytes
  };
  Overlap overlap(std::uint64_t begin, std::uint64_t size) const {
    Overlap result;
    for_each(begin, size, [&](std::uint64_t line) {
      const std::uint64_t from = line > begin ? line : begin;
      const std::uint64_t to = line + 64 < begin + size ? line + 64 : begin + size;
      if (result.bytes == 0) result.first = from;
      result.bytes += to - from;
    });
    return result;
  }

 private:
  // At the usual rate, the number of a page's sampled line is the upper six bits of this hash.
  [[gnu::always_inline]] static std::uint32_t hash_of_page(std::uint64_t page) {
    static_assert(NF_HASH_SHIFT + 6 == 32 - usual_rate_log2);
    return static_cast<std::uint32_t>(page) * std::uint32_t{NF_HASH_MULTIPLIER};
  }
  // Returns the line's distance from the page's first byte.
  [[gnu::always_inline]] static std::uint64_t line_in_page(std::uint32_t hash) {
    // A shift and a mask run on more execution units than two shifts.
    return hash >> (26 - usual_rate_log2) & 63u << 6;
  }
  unsigned rate_log2_ = 6;
  unsigned inner_ = 6;
  std::uint64_t mask_ = NF_FILTER_MASK(6);
};

}  // namespace nearfar::sim
