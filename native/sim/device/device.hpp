// One device: its buffers, queue and wear. Addresses are device-local; the caller keeps the time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/device/combiner.hpp"
#include "sim/device/parameters.hpp"
#include "sim/device/wear.hpp"
#include "sim/device/write_queue.hpp"

namespace nearfar::sim {

class Device {
 public:
  Device(const Parameters& parameters, std::uint64_t seed)
      : queue_(parameters.queue),
        wear_(parameters.wear),
        combiner_(parameters.buffers.empty() ? 6 : parameters.buffers[0].block_log2),
        media_drain_(parameters.media_drain),
        accept_(parameters.queue.lines == 0 ? Nanoseconds{} : parameters.queue.accept) {
    for (const Level& level : parameters.buffers) {
      buffers_.push_back({Blocks(level.shape, seed++), level.block_log2, level.drain});
    }
  }

  // Returns the buffer that holds the line, or the number of buffers if the medium does.
  template <typename Vector>
  unsigned read(std::uint64_t address) {
    unsigned level = 0;
    for (Buffer& buffer : buffers_) {
      if (look_up<Vector>(buffer, level == 0, address, false)) return level;
      ++level;
    }
    return level;
  }

  struct Read {
    std::uint32_t line;    // of this device
    std::uint32_t number;  // index in `levels`
  };
  // Reads `count` lines, one buffer after another: each sees them in their order. Sets their levels
  // to what read() returns, and counts them in `reads_by_level`. Overwrites `reads`, which it
  // prefetches beyond the end.
  struct ReadBatch {
    template <typename Vector>
    static void with(Device& device, Read* reads, std::size_t count, std::uint8_t* levels,
                     std::uint64_t* reads_by_level) {
      std::uint8_t level = 0;
      for (Buffer& buffer : device.buffers_) {
        const unsigned shift = buffer.block_log2 - 6U;
        std::size_t missed = 0;
        buffer.blocks.template read_all<Vector>(
            count, [&](std::size_t i) { return reads[i].line >> shift; },
            [&](std::size_t i, const LookupResult& result) {
              if (level == 0 && result.evicted_dirty()) {
                device.combiner_.evict(result.evicted_block());
              }
              const Read read = reads[i];
              if (result.hit) {
                levels[read.number] = level;
              } else {
                reads[missed++] = read;
              }
            });
        reads_by_level[level++] += count - missed;
        count = missed;
      }
      for (std::size_t i = 0; i < count; ++i) levels[reads[i].number] = level;
      reads_by_level[level] += count;
    }
  };

  // Prefetches the data that a read or write of this address will use.
  void prefetch(std::uint64_t address) const {
    for (const Buffer& buffer : buffers_)
      buffer.blocks.prefetch(static_cast<std::uint32_t>(address >> buffer.block_log2));
  }

  // `level` says where the line was written: 0 the queue, 1 the first buffer, ..., then the medium.
  struct Written {
    unsigned level;
    Nanoseconds accepted;
  };
  template <typename Vector>
  Written write(std::uint64_t address, Nanoseconds now) {
    const std::uint64_t line = address / cache_line.count;
    if (queue_.merges(line, now)) return {0, now + accept_};
    unsigned level = 0;
    const auto count = static_cast<unsigned>(buffers_.size());
    while (level < count && !look_up<Vector>(buffers_[level], level == 0, address, true)) ++level;
    const Nanoseconds drain = level < count ? buffers_[level].drain : media_drain_;
    if (count == 0) {
      combiner_.write(static_cast<std::uint32_t>(line), 0);
    } else {
      const unsigned log2 = buffers_[0].block_log2;
      combiner_.write(static_cast<std::uint32_t>(address >> log2),
                      static_cast<unsigned>(line & ((1U << (log2 - 6U)) - 1)));
    }
    return {level + 1, queue_.put(line, drain, now) + accept_};
  }
  // Begins a write to a block; returns how long the device stalls for it.
  Nanoseconds wear(std::uint64_t address, Nanoseconds now) {
    const Nanoseconds length = wear_.write(address);
    if (length.count > 0) queue_.stall(length, now);
    return length;
  }

  [[nodiscard]] std::uint64_t media_writes() const { return combiner_.media_writes(); }
  [[nodiscard]] std::uint64_t wear_stalls() const { return wear_.stalls(); }

 private:
  struct Buffer {
    Blocks blocks;
    unsigned block_log2;
    Nanoseconds drain;
  };

  template <typename Vector>
  bool look_up(Buffer& buffer, bool is_first, std::uint64_t address, bool write) {
    const auto block = static_cast<std::uint32_t>(address >> buffer.block_log2);
    const LookupResult result = buffer.blocks.access<Vector>(block, write);
    if (is_first && result.evicted_dirty()) combiner_.evict(result.evicted_block());
    return result.hit;
  }

  std::vector<Buffer> buffers_;
  WriteQueue queue_;
  Wear wear_;
  Combiner combiner_;
  Nanoseconds media_drain_;
  Nanoseconds accept_;
};

}  // namespace nearfar::sim
