// Owners of sampled lines: four 16-bit site numbers per line, one for each 16 bytes.
#pragma once

#include <array>
#include <cstdint>

#include "sim/cache/sampled_lines.hpp"

namespace nearfar::profile {

// Objects of different sites share lines, so a page or a line would be too coarse; 16 bytes is the
// granularity of malloc. The shadow is reserved for the whole address space, but touched only where
// the program has memory: 8 bytes per page at rate 64.
class Shadow {
 public:
  // Returns false if the address space is refused (RLIMIT_AS, strict overcommit).
  bool reserve(const sim::SampledLines& lines);

  // A site's number, four times: the tags of a line.
  static constexpr std::uint64_t tags_of(std::uint16_t site) {
    return site * 0x0001000100010001ull;
  }

  std::uint16_t* entry(std::uint64_t address) const {
    return entries_ + lines_.ordinal(address) * granules_per_line + (address >> 4 & 3);
  }

  // Writes `site` for every granule of a sampled line that [begin, begin + size) touches; returns
  // the range's bytes in sampled lines.
  std::uint64_t tag(std::uint64_t begin, std::uint64_t size, std::uint16_t site) const;

  // Tags what `cover` covers, at the usual rate; `tags` is tags_of the site.
  [[gnu::always_inline]] void tag(const sim::SampledLines::Cover& cover, std::uint64_t tags,
                                  bool alone) const {
    auto* word = reinterpret_cast<Word*>(entries_ + cover.page * granules_per_line);
    const auto put = [&](Word& of_line, std::uint64_t covered) {
      const Word before = of_line;
      // Other threads may tag a line that is not covered; without them, writing is cheaper than a
      // branch that is taken at random.
      if (alone || covered != 0) of_line = before ^ ((before ^ tags) & covered);
    };
    put(word[0], before_byte[cover.end] & ~before_byte[cover.begin & ~15ull]);
    put(word[1], before_byte[cover.next_end]);
  }
  // Returns the tag of the first byte that `cover` covers; any tag if it covers none.
  std::uint16_t first_tag(const sim::SampledLines::Cover& cover) const {
    // If that is the next page's line, `begin` is a whole line.
    return entries_[cover.page * granules_per_line + (cover.begin >> 4)];
  }

  // Clears the tags of a large range and frees the shadow's pages.
  void clear(std::uint64_t begin, std::uint64_t size) const;

 private:
  // Tags four granules at once; elsewhere entries are accessed as 16-bit numbers.
  using Word [[gnu::may_alias]] = std::uint64_t;

  static constexpr std::uint64_t granules_per_line = 4;
  // The tags' bits of the granules that begin before each byte of a line.
  static constexpr auto before_byte = [] {
    std::array<std::uint64_t, 65> bits{};
    for (unsigned byte = 1; byte <= 64; ++byte) bits[byte] = ~0ull >> (64 - (byte + 15) / 16 * 16);
    return bits;
  }();
  std::uint16_t* entries_ = nullptr;
  sim::SampledLines lines_;
};

}  // namespace nearfar::profile
