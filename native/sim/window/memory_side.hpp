// A memory as the core sees it: arrival times of requested lines, with miss buffers, bus and
// prefetcher.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sim/window/window.hpp"

namespace nearfar::sim {

// The core's miss buffers. Requests are simulated in program order, so their times are not
// monotonic and gaps are filled later.
class MissBuffers {
 public:
  explicit MissBuffers(std::uint32_t count) : count_(std::clamp(count, 1u, max_in_flight)) {}
  // Returns the time, `requested` or later, at which a buffer is free.
  Cycles free(Cycles requested) {
    const std::size_t first = at(requested);
    if (first >= in_use_.size() || in_use_[first] < count_) return requested;
    // Full slots stay full, so the known full range is skipped at once.
    const bool known = full_begin_ <= first && first < full_end_;
    std::size_t slot = known ? full_end_ : first;
    while (slot < in_use_.size() && in_use_[slot] >= count_) ++slot;
    if (!known) full_begin_ = first;
    full_end_ = slot;
    return static_cast<Cycles>(slot) * width;
  }
  unsigned in_use(Cycles time) const {
    const std::size_t slot = at(time);
    return slot < in_use_.size() ? in_use_[slot] : 0;
  }
  void occupy(Cycles begin, Cycles end) {
    const std::size_t last = std::max(at(begin) + 1, at(end));
    if (last > in_use_.size()) in_use_.resize(2 * last, 0);
    std::uint8_t* const slots = in_use_.data();
    std::size_t slot = at(begin);
    for (; slot + sizeof(Slots) <= last; slot += sizeof(Slots)) {
      Slots in_use;
      std::memcpy(&in_use, slots + slot, sizeof in_use);
      // A comparison gives -1 where it holds.
      in_use -= (Slots)(in_use != UINT8_MAX);
      std::memcpy(slots + slot, &in_use, sizeof in_use);
    }
    for (; slot < last; ++slot) {
      slots[slot] = static_cast<std::uint8_t>(slots[slot] + (slots[slot] < UINT8_MAX ? 1 : 0));
    }
  }

 private:
  // At -O2 compilers vectorise no loop of unknown length by themselves.
  using Slots = std::uint8_t __attribute__((vector_size(16)));
  static constexpr Cycles width = 4;

  static std::size_t at(Cycles time) { return static_cast<std::size_t>(time / width); }

  unsigned count_;
  std::vector<std::uint8_t> in_use_;
  std::size_t full_begin_ = 0;
  std::size_t full_end_ = 0;
};

// A bus that each line occupies for some time. Gaps are filled later.
class Bus {
 public:
  // Returns the time at which a line that starts at `from` has crossed the bus.
  Cycles carry(Cycles from, Cycles takes) {
    auto slot = static_cast<std::size_t>(from / width);
    for (Cycles left = takes;; ++slot) {
      if (slot >= used_.size()) used_.resize(2 * slot + 1, 0);
      const Cycles part = std::min(left, width - used_[slot]);
      used_[slot] += part;
      left -= part;
      if (left <= 0) break;
    }
    return std::max(from + takes, static_cast<Cycles>(slot) * width + used_[slot]);
  }

 private:
  // Slot length: the time of a few lines. The order of lines within a slot does not matter.
  static constexpr Cycles width = 64;
  std::vector<Cycles> used_;
};

class MemorySide {
 public:
  MemorySide(const Medium& medium, std::uint32_t miss_buffers)
      : medium_(medium), miss_buffers_(miss_buffers) {}

  // Returns the arrival time of a line. `in_sequence`: the previous line has opened its DRAM row,
  // so the line does not queue.
  Cycles arrives(Cycles requested, bool in_sequence) {
    const Cycles begin = miss_buffers_.free(requested);
    const unsigned in_flight =
        in_sequence ? 1 : std::min(miss_buffers_.in_use(begin) + 1, max_in_flight);
    const Cycles arrival = std::max(begin + medium_.latency[in_flight],
                                    on_bus(begin) - medium_.line + medium_.latency[1]);
    miss_buffers_.occupy(begin, arrival);
    return arrival;
  }
  // Returns the arrival time of a prefetched line of a stream whose last line arrived at `before`.
  Cycles arrives_in_stream(Cycles requested, Cycles before) {
    return std::max({requested + medium_.latency[1], before + medium_.stream, on_bus(requested)});
  }
  // Prefetch distance in lines: enough to cover the latency.
  unsigned depth() const {
    return static_cast<unsigned>(std::clamp(medium_.latency[1] / medium_.stream, 1.0, 63.0));
  }
  bool has_prefetcher() const { return medium_.stream > 0; }

 private:
  // The controller writes dirty lines back in batches of this many.
  static constexpr double batch = 8;

  Cycles on_bus(Cycles requested) {
    written_ += medium_.write_back;
    if (written_ >= batch * medium_.write) {
      bus_.carry(requested, written_);
      written_ = 0;
    }
    return bus_.carry(requested, medium_.line);
  }

  Medium medium_;
  MissBuffers miss_buffers_;
  Bus bus_;
  Cycles written_ = 0;
};

// Streams of consecutive lines; the prefetcher follows them from the third line on.
class Streams {
 public:
  struct Stream {
    std::uint32_t length = 0;
    Cycles arrived = 0;
    // Arrival times by line number. Only entries that this stream wrote are read, so a new stream
    // need not clear them.
    std::array<Cycles, 64> requested;
  };
  static constexpr std::uint32_t followed_from = 3;

  Streams() {
    for (Lines& lines : continuing_) lines.fill(no_line);
    for (std::uint32_t at = 0; at < count; ++at) {
      older_[at] = at - 1;
      newer_[at] = at + 1;
    }
  }

  // Returns the stream that `line` continues, or a new one.
  Stream& of(std::uint32_t line) {
    std::uint32_t at = continued_by(line);
    if (at == count) at = begin();
    Stream& stream = streams_[at];
    use(at);
    const std::uint32_t step = stream.length == 0 ? 0 : line - continuing_[same][at];
    if (stream.length != 0 && step == 0) return stream;
    ++stream.length;
    continuing_[same][at] = line;
    // The second line decides the direction.
    continuing_[up][at] = line + (step == 0 ? 1 : step);
    continuing_[down][at] = line + (step == 0 ? -1 : step);
    return stream;
  }

 private:
  // As many streams as cores track (Intel's streamer: 32).
  static constexpr std::uint32_t count = 32;
  static constexpr std::uint32_t no_line = UINT32_MAX;
  enum Which : std::uint8_t { same, up, down };
  using Lines = std::array<std::uint32_t, count>;

  // Returns the first stream that `line` continues; `count` if there is none, as for most lines of
  // random accesses. Without branches on a stream, the search is vectorised.
  [[nodiscard]] std::uint32_t continued_by(std::uint32_t line) const {
    std::uint32_t any = 0;
    for (std::uint32_t at = 0; at < count; ++at) any |= continues(at, line);
    if (any == 0) return count;
    std::uint32_t at = 0;
    while (continues(at, line) == 0) ++at;
    return at;
  }
  [[nodiscard]] std::uint32_t continues(std::uint32_t at, std::uint32_t line) const {
    return (continuing_[same][at] == line ? 1U : 0U) | (continuing_[up][at] == line ? 1U : 0U) |
           (continuing_[down][at] == line ? 1U : 0U);
  }
  // Returns the stream that was not used for longest, emptied.
  [[nodiscard]] std::uint32_t begin() {
    streams_[oldest_].length = 0;
    streams_[oldest_].arrived = 0;
    return oldest_;
  }
  void use(std::uint32_t at) {
    if (at == newest_) return;
    const std::uint32_t newer = newer_[at];
    const std::uint32_t older = older_[at];
    (at == oldest_ ? oldest_ : newer_[older]) = newer;
    older_[newer] = older;
    older_[at] = newest_;
    newer_[newest_] = at;
    newest_ = at;
  }

  std::array<Stream, count> streams_;
  std::array<Lines, 3> continuing_;  // lines that continue each stream
  // By recency of use. The ends' outer neighbours are not read.
  Lines older_;
  Lines newer_;
  std::uint32_t oldest_ = 0;
  std::uint32_t newest_ = count - 1;
};

}  // namespace nearfar::sim
