// Parameters of a simulated memory. Its parts, from the core outward:
//
//   cache    of the processor, in front of the devices; holds lines of 64 B
//   near     DRAM as a cache in front of the devices (Memory Mode)
//   device   one of several interleaved devices, each with its own buffers and write queue
//   buffer   inside a device (Optane: read-modify-write buffer, address indirection table)
//   queue    holds writes until they drain into the buffers; queued lines can be overwritten
//   medium   the memory behind the last buffer
//   wear     a stall after so many writes to one block
//   refresh  a periodic stall
#pragma once

#include <cstdint>
#include <vector>

#include "base/units.hpp"
#include "sim/device/blocks.hpp"

namespace nearfar::sim {

struct Level {
  Shape shape{};
  unsigned block_log2 = 6;
  Nanoseconds read{};   // latency of a line in this level, from the core
  Nanoseconds drain{};  // time to drain a queued line into this level; buffers only
};

struct QueueParameters {
  std::uint32_t lines = 0;  // 0: no queue, a writer waits until its line is drained
  Nanoseconds accept{};     // time to accept a line
};

struct WearParameters {
  std::uint32_t period_writes = 0;  // 0: no stalls
  unsigned block_log2 = 12;
  Nanoseconds length{};
  double spread = 0;                 // relative half-width of the length's uniform distribution
  std::uint32_t tracked_blocks = 0;  // blocks whose writes are counted (LRU); 0: all
};

struct RefreshParameters {
  Nanoseconds period{};  // 0: none
  Nanoseconds length{};
};

struct TlbParameters {
  std::uint32_t entries = 0;  // 0: no TLB, translations are free
  Nanoseconds walk{};
};

struct Parameters {
  std::vector<Level> caches{};
  Bytes near_capacity{};  // 0: none
  Nanoseconds near_read{};
  std::vector<Level> buffers{};
  Nanoseconds media_read{};
  Nanoseconds media_drain{};
  unsigned media_block_log2 = 6;  // smallest write of the medium
  QueueParameters queue{};
  std::uint32_t devices = 1;
  unsigned granularity_log2 = 12;
  WearParameters wear{};
  RefreshParameters refresh{};
  TlbParameters tlb{};
  std::uint64_t seed = 1;
};

}  // namespace nearfar::sim
