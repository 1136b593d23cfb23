// Runs a measuring kernel on a simulated memory.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/device/memory.hpp"
#include "sim/device/visits.hpp"

namespace nearfar::sim {

enum class Operation {
  load,              // each line waits for the previous line
  store,             // through the caches; each line waits for the previous line
  persist,           // to the device, bypassing caches; a fence every `fence_every` accesses
  read_after_write,  // each access is persisted, then read
};

struct Run {
  Operation operation = Operation::load;
  std::uint64_t first = 0;     // index of the first access in the order
  std::uint64_t warm_up = 0;   // untimed accesses before the timed ones
  std::uint64_t accesses = 1;  // timed accesses
  std::uint64_t fence_every = 1;
  Nanoseconds fence{};   // cost of a fence
  Nanoseconds rest{};    // rest after each access, not timed
  Bytes wear_unit{256};  // size of a write, as wear counts them
  bool each = false;     // record the time of every access
};

struct RunResult {
  std::vector<std::uint64_t> read;     // lines by level: caches, buffers, medium
  std::vector<std::uint64_t> written;  // lines by place: queue, buffers, medium
  std::uint64_t lines = 0;
  std::uint64_t walks = 0;
  std::uint64_t media_writes = 0;
  std::uint64_t wear_stalls = 0;
  std::uint64_t refresh_stalls = 0;
  Nanoseconds elapsed{};  // time without rests
  std::vector<float> each_ns{};
};

RunResult run(Memory& memory, const Pattern& pattern, const Run& run, Isa isa);

}  // namespace nearfar::sim
