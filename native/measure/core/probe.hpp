// Timings that show what a core holds in flight. Trials are short, so that most of them are
// undisturbed, and points are measured in turn; a low percentile of each shows the core's
// behaviour.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/memory.hpp"

namespace nearfar::measure {

// Times in ns: a row of `trials` per point.
using Trials = std::vector<float>;

class CoreProbe {
 public:
  // Prepares chains of misses over `chain_bytes`, several times the size of the last-level cache,
  // for `cpu`.
  CoreProbe(Bytes chain_bytes, unsigned cpu, std::uint64_t seed);

  // ns per round of two misses, each followed by `count` fillers.
  Trials overlap(const std::vector<std::string>& fillers, const std::vector<unsigned>& counts,
                 unsigned trials);
  // ns per round of `count` concurrent misses.
  Trials chains(const std::vector<unsigned>& counts, unsigned trials);
  // ns per independent instruction.
  Trials throughput(const std::string& filler, unsigned trials) const;
  // ns per dependent operation.
  Trials dependent(const std::string& operation, unsigned trials) const;
  // ns per branch: a row with constant direction, and a row with random directions.
  Trials branches(unsigned trials);
  // ns of a read `ahead` strides beyond a stream of `length` reads. The stream begins at a random
  // page's first line, or ends at a page's end.
  Trials after_stream(unsigned length, std::uint64_t stride_bytes, int ahead, bool at_page_end,
                      unsigned trials);

 private:
  std::uint64_t random() {
    state_ ^= state_ << 13U;
    state_ ^= state_ >> 7U;
    return state_ ^= state_ << 17U;
  }

  Memory memory_;
  unsigned cpu_;
  std::uint64_t state_;
  std::vector<void*> starts_;  // current position of each chain
};

// ns per dependent read of `count` lines in random order, one line at a random place of each step
// of `step` bytes.
Trials spread_chase(Memory& memory, Bytes step, std::uint64_t count, unsigned cpu, unsigned trials);

}  // namespace nearfar::measure
