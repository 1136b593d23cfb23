// Both memories, and the prefetcher: when does a line arrive that is asked for at some time?
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "sim/window/window.hpp"

namespace nearfar::sim {

// Who is on the way. Requests come in program order, so their times jump; only the newest matter.
class InFlight {
 public:
  unsigned count(Cycles at) const {
    unsigned found = 0;
    for (std::size_t i = 0; i < requests; ++i) found += begins_[i] <= at && at < ends_[i] ? 1 : 0;
    return found;
  }
  void add(Cycles begin, Cycles end) {
    begins_[next_] = begin;
    ends_[next_] = end;
    next_ = (next_ + 1) % requests;
  }

 private:
  // As many as the largest windows have instructions.
  static constexpr std::size_t requests = 512;
  std::array<Cycles, requests> begins_{};
  std::array<Cycles, requests> ends_{};
  std::size_t next_ = 0;
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
  explicit MemorySide(const Medium& medium) : medium_(medium) {}

  Cycles arrives(Cycles asked) {
    const unsigned ahead = std::min(in_flight_.count(asked) + 1, most_in_flight);
    const Cycles there = std::max(
        {asked + medium_.latency[ahead], buffers_.carry(asked, medium_.buffer), carried(asked)});
    in_flight_.add(asked, there);
    return there;
  }
  // A line of a stream, `before` it the last arrived.
  Cycles arrives_in_stream(Cycles asked, Cycles before) {
    const Cycles there =
        std::max({asked + medium_.latency[1], before + medium_.stream, carried(asked)});
    in_flight_.add(asked, there);
    return there;
  }
  // Lines that the prefetcher is ahead: as many as take the latency.
  unsigned depth() const {
    return static_cast<unsigned>(std::clamp(medium_.latency[1] / medium_.stream, 1.0, 63.0));
  }
  bool has_prefetcher() const { return medium_.stream > 0; }

 private:
  Cycles carried(Cycles asked) { return bus_.carry(asked, medium_.line + medium_.write_back); }

  Medium medium_;
  InFlight in_flight_;
  Bus bus_;
  Bus buffers_;  // the core's own for lines on their way: as good as a bus
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
