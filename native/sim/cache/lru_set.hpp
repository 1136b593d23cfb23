// One set of a set-associative cache: its ways in order of recency, most recent first.
#pragma once

#include <cstdint>

#include "sim/cache/line_word.hpp"

namespace nearfar::sim {

struct Outcome {
  bool hit;
  LineWord evicted;  // empty unless a line had to leave
};

// Looks `line` up among `count` ways, allocates it on a miss (write-allocate), and makes it the
// most recent. The owner given last is the one a write-back is charged to: memory that is
// freed and allocated anew while cached changes hands. Plain loops: the results must not
// depend on the instruction set, and a hit is mostly in the first ways.
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

// Writes `line` to memory if it is there: clean from then on where it `stays` (clwb), else gone
// (clflush). Returns whether it was dirty.
inline bool flush_lru_set(LineWord* ways, unsigned count, std::uint64_t line, bool stays) {
  unsigned way = 0;
  while (way < count && !ways[way].holds(line)) ++way;
  if (way == count) return false;
  const LineWord found = ways[way];
  if (stays) {
    ways[way] = LineWord::make(line, found.owner(), false);
    return found.dirty();
  }
  for (; way + 1 < count; ++way) ways[way] = ways[way + 1];
  ways[way] = LineWord{};
  return found.dirty();
}

}  // namespace nearfar::sim
