// Estimates the result of compressing a page: the compressed size and the compressor's work.
//
// A compressor's time depends on its work, not on the compressed size: zram took 1.7 us for a page
// of noise and 9 to 11 us for text and machine code, although all of these leave about the same
// size.
#pragma once

#include <cstdint>
#include <cstring>

namespace nearfar {

struct PageContent {
  std::uint32_t bytes;  // bytes after compression
  // Work of the compressor, in places searched for a match. A match counts as 8 places. It counts
  // as 16 more if the number of unmatched bytes before it differs from those before both previous
  // matches, because the CPU then mispredicts a branch. lz4 and lzo-rle took 1 to 11 us for 16
  // kinds of pages; this work times a constant gives these times within 0.4 us (root mean square;
  // docs/paged.md).
  std::uint32_t work;
};

// Returns the result of LZ4 for a page of 4096 bytes. At each place, LZ4 looks up the last place
// with the same four bytes; the longer it finds no match, the more bytes it skips. A match takes
// three bytes.
inline PageContent estimate_compression(const unsigned char* page) {
  constexpr std::uint32_t size = 4096;
  constexpr std::uint32_t match_work = 8;
  constexpr std::uint32_t misprediction_work = 16;
  std::uint16_t seen[1024] = {};  // last place + 1, by the hash of its four bytes
  PageContent content{};
  std::uint32_t at = 0;
  std::uint32_t literals_from = 0;
  std::uint32_t misses = 0;
  std::uint32_t last_literals = size;
  std::uint32_t earlier_literals = size;
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
    if (literals != last_literals && literals != earlier_literals)
      content.work += misprediction_work;
    earlier_literals = last_literals;
    last_literals = literals;
    at += length;
    literals_from = at;
    misses = 0;
  }
  content.bytes += size - literals_from;
  return content;
}

}  // namespace nearfar
