// Times that show what a core holds in flight. Trials are short, so that most run undisturbed
// beside other programs, and points take turns: a low percentile of each is what the core does.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "measure/memory.hpp"

namespace nearfar::measure {

// Times in ns, one row of `trials` for each point.
using Trials = std::vector<float>;

class CoreProbe {
 public:
  // Chains of misses over `chain_bytes` on `cpu`: several times its last-level cache.
  CoreProbe(Bytes chain_bytes, unsigned cpu, std::uint64_t seed);

  // ns per round of two misses, each with so many fillers behind it.
  Trials overlap(const std::vector<std::string>& fillers, const std::vector<unsigned>& counts,
                 unsigned trials);
  // ns per round of so many misses at once.
  Trials chains(const std::vector<unsigned>& counts, unsigned trials);
  // ns per instruction of independent ones.
  Trials throughput(const std::string& filler, unsigned trials) const;
  // ns per operation of dependent ones.
  Trials dependent(const std::string& operation, unsigned trials) const;
  // ns per branch: a row with the same direction always, and one with random directions.
  Trials branches(unsigned trials);
  // ns of one read `ahead` lines (of `stride`) beyond `length` reads in order that begin at a
  // random place: in a 4 KiB page's first line, or so that the stream ends with the page.
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
  std::vector<void*> starts_;  // where each chain goes on
};

// ns per dependent read of `count` lines, each in a step of `step` bytes of `memory`, in random
// order; where in its step a line lies is random too.
Trials spread_chase(Memory& memory, Bytes step, std::uint64_t count, unsigned cpu, unsigned trials);

}  // namespace nearfar::measure
