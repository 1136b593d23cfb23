// An out-of-order core's window over bursts of instructions: when does each retire?
//
// Instructions enter in order, a few per cycle, while the window has room; each starts when its
// inputs are there; they leave in order. So a load that misses holds the window up only when it is
// the oldest, and others that were in the window by then have started meanwhile. One pass in
// program order computes this without stepping through cycles.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

// Times of the core in cycles.
using Cycles = double;

// A curve ends here.
inline constexpr unsigned most_in_flight = 64;

struct Medium {
  // Latency of a miss that finds so many in flight, itself included, at [count]; [0] is not used.
  std::array<Cycles, most_in_flight + 1> latency{};
  Cycles line = 0;        // bandwidth time of a line read
  Cycles write = 0;       // and of a line written back
  Cycles write_back = 0;  // of the write-backs that come with a line read, on average
  Cycles stream = 0;      // between lines that the prefetcher fetches in sequence; 0: none does
};

struct Core {
  std::uint32_t window = 0;  // instructions
  double width = 0;          // instructions per cycle
  std::uint32_t store_buffer = 0;
  std::uint32_t miss_buffers = 0;  // lines that the first-level cache waits for
  std::uint32_t computing = 1;     // entries of the window for what loads and computes
  double arithmetic = 1;           // factor on cycles of computation beyond the first
  Cycles first_level = 0;
  Cycles second_level = 0;
  Cycles last_level = 0;
  Cycles mispredicted = 0;
};

struct Windowed {
  Cycles cycles = 0;
  std::uint64_t instructions = 0;
  std::uint64_t mispredictions = 0;
  // By Served: accesses that went there.
  std::array<std::uint64_t, 4> served{};
  // Of near and far, those that the prefetcher had fetched.
  std::uint64_t prefetched = 0;
};

// `served` has one entry for each access of each burst, in their order. What comes before a tenth
// of a burst fills the window and is not counted.
Windowed run_window(const Trace& trace, const std::vector<Served>& served, const Core& core,
                    const Medium& near, const Medium& far);

}  // namespace nearfar::sim
