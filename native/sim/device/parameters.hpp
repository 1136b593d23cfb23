// What a simulated memory is made of. Glossary, from the core outward:
//
//   cache    of the processor, in front of the device; holds lines of 64 B
//   near     DRAM as a cache in front of the devices (Memory Mode)
//   device   one of `interleave.devices`, each with its own buffers and write queue
//   buffer   inside a device (Optane: read-modify-write buffer, address indirection table)
//   queue    where writes wait to be drained into the buffers; lines in it are written in place
//   medium   what is behind the last buffer
//   wear     a stall that every so many writes to one block make
//   refresh  a stall that comes every so many nanoseconds
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "sim/device/blocks.hpp"

namespace nearfar::sim {

struct Level {
  Shape shape{};
  unsigned block_log2 = 6;
  Nanoseconds read{};   // of a line found here, all the way from the core
  Nanoseconds drain{};  // time a queued line takes that finds its block here; buffers only
};

struct QueueParameters {
  std::uint32_t lines = 0;  // 0: none, a writer waits until its line is drained
  Nanoseconds accept{};     // time in which the queue takes a line
};

struct WearParameters {
  std::uint32_t period_writes = 0;  // 0: no such stalls
  unsigned block_log2 = 12;
  Nanoseconds length{};
  double spread = 0;                 // of the length, relative, uniform to both sides
  std::uint32_t tracked_blocks = 0;  // whose writes are counted, least recent forgotten; 0: all
};

struct RefreshParameters {
  Nanoseconds period{};  // 0: none
  Nanoseconds length{};
};

struct TlbParameters {
  std::uint32_t entries = 0;  // 0: none, every translation is free
  Nanoseconds walk{};
};

struct Parameters {
  std::vector<Level> caches{};
  Bytes near_capacity{};  // 0: none
  Nanoseconds near_read{};
  std::vector<Level> buffers{};
  Nanoseconds media_read{};
  Nanoseconds media_drain{};
  unsigned media_block_log2 = 6;  // what the medium writes at least
  QueueParameters queue{};
  std::uint32_t devices = 1;
  unsigned granularity_log2 = 12;
  WearParameters wear{};
  RefreshParameters refresh{};
  TlbParameters tlb{};
  std::uint64_t seed = 1;
};

}  // namespace nearfar::sim
