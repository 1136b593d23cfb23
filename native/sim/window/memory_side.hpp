// Both memories, and the prefetcher: when does a line arrive that is asked for at some time?
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/window/window.hpp"

namespace nearfar::sim {

// The core's buffers for lines on the way. Requests come in program order, so their times jump, and
// gaps are filled later.
class MissBuffers {
 public:
  explicit MissBuffers(std::uint32_t count) : count_(std::clamp(count, 1u, most_in_flight)) {}
  // When a buffer is free, from `asked` on.
  Cycles free(Cycles asked) {
    const std::size_t first = at(asked);
    if (first >= held_.size() || held_[first] < count_) return asked;
    // What is full stays full: a queue is passed at once.
    const bool known = full_begin_ <= first && first < full_end_;
    std::size_t slot = known ? full_end_ : first;
    while (slot < held_.size() && held_[slot] >= count_) ++slot;
    if (!known) full_begin_ = first;
    full_end_ = slot;
    return static_cast<Cycles>(slot) * width;
  }
  unsigned held(Cycles time) const {
    const std::size_t slot = at(time);
    return slot < held_.size() ? held_[slot] : 0;
  }
  void hold(Cycles begin, Cycles end) {
    const std::size_t last = std::max(at(begin) + 1, at(end));
    if (last > held_.size()) held_.resize(2 * last, 0);
    for (std::size_t slot = at(begin); slot < last; ++slot) {
      if (held_[slot] < UINT8_MAX) ++held_[slot];
    }
  }

 private:
  static constexpr Cycles width = 4;

  static std::size_t at(Cycles time) { return static_cast<std::size_t>(time / width); }

  unsigned count_;
  std::vector<std::uint8_t> held_;
  std::size_t full_begin_ = 0;
  std::size_t full_end_ = 0;
};

// A bus that is taken for some time by each line; gaps that were left are filled later.
class Bus {
 public:
  // When a line that is there at `from` is over the bus.
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
  // A few lines' time: order within it does not matter.
  static constexpr Cycles width = 64;
  std::vector<Cycles> used_;
};

class MemorySide {
 public:
  MemorySide(const Medium& medium, std::uint32_t miss_buffers)
      : medium_(medium), miss_buffers_(miss_buffers) {}

  // `in_sequence`: it does not queue for a row of memory, which the line before has opened.
  Cycles arrives(Cycles asked, bool in_sequence) {
    const Cycles begin = miss_buffers_.free(asked);
    const unsigned ahead =
        in_sequence ? 1 : std::min(miss_buffers_.held(begin) + 1, most_in_flight);
    const Cycles there = std::max(begin + medium_.latency[ahead],
                                  carried(begin) - medium_.line + medium_.latency[1]);
    miss_buffers_.hold(begin, there);
    return there;
  }
  // A line of a stream, `before` it the last arrived.
  Cycles arrives_in_stream(Cycles asked, Cycles before) {
    return std::max({asked + medium_.latency[1], before + medium_.stream, carried(asked)});
  }
  // Lines that the prefetcher is ahead: as many as take the latency.
  unsigned depth() const {
    return static_cast<unsigned>(std::clamp(medium_.latency[1] / medium_.stream, 1.0, 63.0));
  }
  bool has_prefetcher() const { return medium_.stream > 0; }

 private:
  // A controller collects lines that are written back, and writes many at once.
  static constexpr double batch = 8;

  Cycles carried(Cycles asked) {
    written_ += medium_.write_back;
    if (written_ >= batch * medium_.write) {
      bus_.carry(asked, written_);
      written_ = 0;
    }
    return bus_.carry(asked, medium_.line);
  }

  Medium medium_;
  MissBuffers miss_buffers_;
  Bus bus_;
  Cycles written_ = 0;
};

// Lines that advance by one: followed from the third on.
class Streams {
 public:
  struct Stream {
    std::uint32_t last = UINT32_MAX - 1;
    std::uint32_t step = 0;
    std::uint32_t length = 0;
    std::uint64_t used = 0;
    Cycles arrived = 0;
    std::array<Cycles, 64> asked{};  // by line number
  };
  static constexpr std::uint32_t followed_from = 3;

  // The stream that `line` continues, or a new one.
  Stream& of(std::uint32_t line) {
    ++now_;
    Stream* oldest = streams_.data();
    for (Stream& stream : streams_) {
      if (stream.used < oldest->used) oldest = &stream;
      if (stream.used == 0) continue;
      const std::uint32_t step = line - stream.last;
      if (step == 0 || (stream.length > 1 ? step == stream.step : step + 1 <= 2)) {
        if (step != 0) {
          stream.step = step;
          ++stream.length;
        }
        stream.last = line;
        stream.used = now_;
        return stream;
      }
    }
    *oldest = Stream();
    oldest->last = line;
    oldest->length = 1;
    oldest->used = now_;
    return *oldest;
  }

 private:
  // As many as cores were seen to follow (Intel's streamer: 32).
  std::array<Stream, 32> streams_{};
  std::uint64_t now_ = 0;
};

}  // namespace nearfar::sim
