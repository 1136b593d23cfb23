// What a compressor does with a page: an estimate of the size that it leaves and of its work.
//
// The time of a compressor follows from its work, not from the size that it leaves: zram took 1.7
// us for a page of noise and 9 to 11 for text and machine code, which leave about as much.
#pragma once

#include <cstdint>
#include <cstring>

namespace nearfar {

struct PageContent {
  std::uint32_t bytes;  // after compression
  // In places searched for a match. A match counts as 8 of them, and as 16 more where the bytes
  // before it without a match are as many as before neither of the last two: a CPU does not foresee
  // that branch. lz4 and lzo-rle took 1 to 11 us for 16 kinds of pages, this work times a constant
  // within 0.4 us (root mean square; docs/paged.md).
  std::uint32_t work;
};

// Returns what LZ4 does with a page of 4096 bytes: from each place it looks at the last place with
// the same four bytes, and passes over more bytes the longer it finds none. A match takes three
// bytes.
inline PageContent look_at_page(const unsigned char* page) {
  constexpr std::uint32_t size = 4096;
  constexpr std::uint32_t match_work = 8;
  constexpr std::uint32_t surprise_work = 16;
  std::uint16_t seen[1024] = {};  // place + 1, by the hash of four bytes
  PageContent content{};
  std::uint32_t at = 0;
  std::uint32_t literals_from = 0;
  std::uint32_t misses = 0;
  std::uint32_t last = size;
  std::uint32_t last_but_one = size;
  while (at + 4 <= size) {
    std::uint32_t word = 0;
    std::uint32_t other = 0;
    std::memcpy(&word, page + at, 4);
    std::uint16_t& entry = seen[word * 2654435761u >> 22];
    const std::uint32_t before = entry;
    entry = static_cast<std::uint16_t>(at + 1);
    ++content.work;
    if (before != 0) std::memcpy(&other, page + before - 1, 4);
    if (before == 0 || other != word) {
      at += 1 + (misses++ >> 6);
      continue;
    }
    std::uint32_t from = before - 1;
    while (from > 0 && at > literals_from && page[from - 1] == page[at - 1]) {
      --from;
      --at;
    }
    std::uint32_t length = 4;
    while (at + length < size && page[from + length] == page[at + length]) ++length;
    const std::uint32_t literals = at - literals_from;
    content.bytes += literals + 3 + length / 255;
    content.work += match_work;
    if (literals != last && literals != last_but_one) content.work += surprise_work;
    last_but_one = last;
    last = literals;
    at += length;
    literals_from = at;
    misses = 0;
  }
  content.bytes += size - literals_from;
  return content;
}

}  // namespace nearfar
