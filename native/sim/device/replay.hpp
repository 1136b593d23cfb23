// Runs a recorded address stream on a simulated memory.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/device/isa.hpp"
#include "sim/device/memory.hpp"

namespace nearfar::sim {

struct ReplayResult {
  std::vector<std::uint64_t> accesses_by_level;  // accesses by level: caches, buffers, medium
  std::uint64_t written_back = 0;                // lines that left the last cache dirty
  Nanoseconds elapsed;                           // if each access waited for the previous one
};

// A word of the stream is a byte address times two, plus 1 for a store.
ReplayResult replay(Memory& memory, std::span<const std::uint64_t> stream, Isa isa);

}  // namespace nearfar::sim
