// Lines waiting to be drained, in time: a line that is waiting may be written again in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/device/parameters.hpp"

namespace nearfar::sim {

// Drained first in, first out, one line at a time, each line as long as its buffer takes.
class WriteQueue {
 public:
  explicit WriteQueue(const QueueParameters& parameters)
      : parameters_(parameters), waiting_(parameters.lines) {}

  // Whether `line` waits at `now`; if so it is merged and costs the queue nothing.
  bool merges(std::uint64_t line, Nanoseconds now) {
    leave(now);
    for (std::uint32_t i = 0; i < used_; ++i) {
      if (waiting_[at(i)].line == line) return true;
    }
    return false;
  }
  // When a line that takes `drain` to drain has been accepted; `now` if there is room at once.
  Nanoseconds put(std::uint64_t line, Nanoseconds drain, Nanoseconds now) {
    if (parameters_.lines == 0) {
      drained_ = {std::max(drained_.count, now.count) + drain.count};
      return drained_;
    }
    if (used_ == parameters_.lines) {
      now.count = std::max(now.count, waiting_[head_].done.count);
      leave(now);
    }
    drained_ = {std::max(drained_.count, now.count) + drain.count};
    waiting_[at(used_++)] = {line, drained_};
    return now;
  }
  // The device does nothing else for so long.
  void stall(Nanoseconds length, Nanoseconds now) {
    drained_ = {std::max(drained_.count, now.count) + length.count};
    for (std::uint32_t i = 0; i < used_; ++i) waiting_[at(i)].done.count += length.count;
  }

 private:
  struct Waiting {
    std::uint64_t line = 0;
    Nanoseconds done;
  };
  [[nodiscard]] std::uint32_t at(std::uint32_t i) const {
    const std::uint32_t index = head_ + i;
    return index < parameters_.lines ? index : index - parameters_.lines;
  }
  void leave(Nanoseconds now) {
    while (used_ > 0 && waiting_[head_].done <= now) {
      head_ = at(1);
      --used_;
    }
  }

  QueueParameters parameters_;
  std::vector<Waiting> waiting_;
  std::uint32_t head_ = 0;
  std::uint32_t used_ = 0;
  Nanoseconds drained_;  // when the last line will be
};

}  // namespace nearfar::sim
