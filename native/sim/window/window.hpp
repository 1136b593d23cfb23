// Simulates bursts of instructions in an out-of-order core's window.
//
// Instructions enter in order, a few per cycle, while the window has room. Each starts when its
// inputs are ready; they retire in order. A miss stalls the window only when it is the oldest
// instruction; the others in the window have started by then. One pass in program order computes
// all times.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "sim/window/trace.hpp"

namespace nearfar::sim {

// Core cycles.
using Cycles = double;

// Compiled without branches, as std::max of a list is not.
inline Cycles later(Cycles a, Cycles b) { return a > b ? a : b; }
inline Cycles earlier(Cycles a, Cycles b) { return a < b ? a : b; }

// Length of a latency curve.
inline constexpr unsigned max_in_flight = 64;

struct Medium {
  // Latency at [count] with `count` misses in flight, including this one; [0] is not used.
  std::array<Cycles, max_in_flight + 1> latency{};
  Cycles line = 0;        // bus time of a line read
  Cycles write = 0;       // bus time of a line written back
  Cycles write_back = 0;  // mean bus time of write-backs, per line read
  Cycles stream = 0;      // time between prefetched lines of a stream; 0: no prefetcher
};

struct Core {
  std::uint32_t window = 0;  // instructions
  double width = 0;          // instructions per cycle
  std::uint32_t store_buffer = 0;
  std::uint32_t miss_buffers = 0;  // line-fill buffers
  std::uint32_t computing = 1;     // window entries of a combined load and computation
  double arithmetic = 1;           // factor on cycles of computation beyond the first
  Cycles first_level = 0;
  Cycles second_level = 0;
  Cycles last_level = 0;
  Cycles mispredicted = 0;
};

struct WindowResult {
  Cycles cycles = 0;
  std::uint64_t instructions = 0;
  std::uint64_t mispredictions = 0;
  // Accesses by the level that served them (`Served`).
  std::array<std::uint64_t, 4> served{};
  // Accesses to near and far memory that the prefetcher covered.
  std::uint64_t prefetched = 0;
};

// `served` has one entry per access of each burst, in order. The first tenth of a burst fills the
// window and is not counted.
WindowResult run_window(const Trace& trace, const std::vector<Served>& served, const Core& core,
                        const Medium& near, const Medium& far);

}  // namespace nearfar::sim
