// Finds the next sampled line that a stream of accesses, one every `step` bytes, enters.
//
// In a whole page (abi.h) the sampled line represents the page. Exceptions are the page of the
// stream's first access, and streams that skip lines: for these, each line that they touch counts.
#pragma once

#include <algorithm>
#include <cstdint>

#include "abi.h"

namespace nearfar::profile {

inline constexpr std::uint64_t line_bytes = NF_LINE_BYTES;
inline constexpr std::uint64_t page_bytes = 4096;

// If a stream enters no sampled line in this many pages, it gets an event without an access, to
// bound the search. At rate 64 only streams that skip lines can miss a page's sampled line.
inline constexpr int pages_searched = 4096;

inline std::uint64_t filter_hash(std::uint64_t address) {
  return ((address >> 12) * NF_HASH_MULTIPLIER) >> NF_HASH_SHIFT;
}

// Returns the lowest sampled line at or above `from` (the first byte of a line) in its page; the
// page's end if there is none.
inline std::uint64_t sampled_in_page(std::uint64_t from, unsigned rate_log2) {
  const std::uint64_t mask = NF_FILTER_MASK(rate_log2);
  const std::uint64_t page = from & ~(page_bytes - 1);
  const std::uint64_t end = page + page_bytes;
  const std::uint64_t hash = filter_hash(from);
  if (((hash ^ page) & mask & ~(page_bytes - 1)) != 0) return end;  // rate > 64: not in this page
  const std::uint64_t in_page = mask & (page_bytes - 1);
  const std::uint64_t period = in_page + line_bytes;  // distance of sampled lines
  std::uint64_t line = (from & ~in_page) | (hash & in_page);
  if (line < from) line += period;
  return std::min(line, end);
}

// Returns the highest sampled line at or below `from` in its page; if there is none, the page's
// first byte minus one line.
inline std::uint64_t sampled_in_page_below(std::uint64_t from, unsigned rate_log2) {
  const std::uint64_t mask = NF_FILTER_MASK(rate_log2);
  const std::uint64_t page = from & ~(page_bytes - 1);
  const std::uint64_t none = page - line_bytes;
  const std::uint64_t hash = filter_hash(from);
  if (((hash ^ page) & mask & ~(page_bytes - 1)) != 0) return none;
  const std::uint64_t in_page = mask & (page_bytes - 1);
  const std::uint64_t period = in_page + line_bytes;
  std::uint64_t line = (from & ~in_page) | (hash & in_page);
  if (line > from) line -= period;
  return line + line_bytes > page ? line : none;
}

// Sets stream.next and stream.line to the next event at or after iteration `from`. Unless `first`,
// skips lines up to and including stream.line, in the stream's direction.
inline void find_next(nf_stream& stream, unsigned rate_log2, std::uint64_t from, bool first) {
  const std::uint64_t at = stream.address + from * static_cast<std::uint64_t>(stream.step);
  const std::uint64_t last_byte = stream.bytes - 1u;
  int searched = 0;
  if (stream.step > 0) {
    const auto step = static_cast<std::uint64_t>(stream.step);
    std::uint64_t line = at & ~(line_bytes - 1);
    if (!first) line = std::max(line, stream.line + line_bytes);
    for (; searched < pages_searched; ++searched) {
      const bool any_line = (first || step > line_bytes) && nf_whole(line);
      const std::uint64_t sampled_line = any_line ? line : sampled_in_page(line, rate_log2);
      if ((sampled_line & ~(page_bytes - 1)) != (line & ~(page_bytes - 1))) {
        line = sampled_line;  // the next page's first line
        continue;
      }
      const std::uint64_t start = stream.address + last_byte;
      const std::uint64_t index =
          sampled_line <= start ? 0 : (sampled_line - start + step - 1) / step;
      stream.next = std::max(index, from);
      stream.line = sampled_line;
      if (stream.address + stream.next * step <= sampled_line + line_bytes - 1) return;
      line = sampled_line + line_bytes;
    }
    stream.line = line;
    stream.next = std::max(from + 1, (line - stream.address) / step);
    return;
  }
  const auto step = 0 - static_cast<std::uint64_t>(stream.step);
  std::uint64_t line = (at + last_byte) & ~(line_bytes - 1);
  if (!first) line = std::min(line, stream.line - line_bytes);
  for (; searched < pages_searched; ++searched) {
    const bool any_line = (first || step > line_bytes) && nf_whole(line);
    const std::uint64_t sampled_line = any_line ? line : sampled_in_page_below(line, rate_log2);
    if ((sampled_line & ~(page_bytes - 1)) != (line & ~(page_bytes - 1))) {
      line = sampled_line;  // the page below's last line
      continue;
    }
    const std::uint64_t end = sampled_line + line_bytes - 1;
    const std::uint64_t index =
        stream.address <= end ? 0 : (stream.address - end + step - 1) / step;
    stream.next = std::max(index, from);
    stream.line = sampled_line;
    if (stream.address - stream.next * step + last_byte >= sampled_line) return;
    line = sampled_line - line_bytes;
  }
  stream.line = line;
  stream.next = std::max(from + 1, (stream.address - line) / step);
}

}  // namespace nearfar::profile
