// One set of a set-associative cache: its ways in order of recency, most recent first.
#pragma once

#include <cstdint>

#include "sim/cache/line_word.hpp"

namespace nearfar::sim {

struct Outcome {
  bool hit;
  LineWord evicted;  // empty if no line was evicted
};

// Looks up `line` among `count` ways, allocates it on a miss and makes it the most recent. A
// write-back is charged to the line's last owner, because cached memory can be freed and
// reallocated. The loop is scalar, because most hits are in the first ways.
inline Outcome access_lru_set(LineWord* ways, unsigned count, std::uint64_t line,
                              std::uint16_t owner, bool store) {
  if (ways[0].holds(line)) {
    ways[0] = LineWord::make(line, owner, store || ways[0].dirty());
    return {true, {}};
  }
  LineWord moved = ways[0];
  for (unsigned way = 1; way < count; ++way) {
    const LineWord here = ways[way];
    ways[way] = moved;
    if (here.holds(line)) {
      ways[0] = LineWord::make(line, owner, store || here.dirty());
      return {true, {}};
    }
    moved = here;
  }
  ways[0] = LineWord::make(line, owner, store);
  return {false, moved};
}

// Writes `line` back if it is cached. The line then stays, clean (clwb), or is removed (clflush).
// Returns whether it was dirty.
inline bool flush_lru_set(LineWord* ways, unsigned count, std::uint64_t line, bool stays) {
  unsigned way = 0;
  while (way < count && !ways[way].holds(line)) ++way;
  if (way == count) return false;
  const LineWord flushed = ways[way];
  if (stays) {
    ways[way] = LineWord::make(line, flushed.owner(), false);
    return flushed.dirty();
  }
  for (; way + 1 < count; ++way) ways[way] = ways[way + 1];
  ways[way] = LineWord{};
  return flushed.dirty();
}

}  // namespace nearfar::sim
