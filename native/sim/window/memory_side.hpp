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
  static constexpr std::size_t requests = 2 * most_in_flight;
  std::array<Cycles, requests> begins_{};
  std::array<Cycles, requests> ends_{};
  std::size_t next_ = 0;
};

// A bus that is taken for some time by each line; gaps may be filled later.
class Bus {
 public:
  explicit Bus(Cycles longest) : width_(std::max(smallest, lines_per_slot * longest)) {}
  // When a line that is there at `from` is over the bus.
  Cycles carry(Cycles from, Cycles takes) {
    if (takes <= 0) return from;
    auto slot = static_cast<std::size_t>(from / width_);
    for (;; ++slot) {
      if (slot >= used_.size()) used_.resize(2 * slot + 1, 0);
      if (used_[slot] + takes <= width_) break;
    }
    used_[slot] += takes;
    return std::max(from, static_cast<Cycles>(slot) * width_) + takes;
  }

 private:
  static constexpr Cycles smallest = 64;
  static constexpr Cycles lines_per_slot = 8;
  Cycles width_;
  std::vector<Cycles> used_;
};

class MemorySide {
 public:
  explicit MemorySide(const Medium& medium)
      : medium_(medium), bus_(medium.line + medium.write_back) {}

  Cycles arrives(Cycles asked) {
    const unsigned ahead = std::min(in_flight_.count(asked) + 1, most_in_flight);
    const Cycles there = std::max(asked + medium_.latency[ahead], carried(asked));
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
