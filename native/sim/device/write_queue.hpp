// Write queue of a device: waiting lines can be overwritten in place.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/device/parameters.hpp"

namespace nearfar::sim {

// Lines drain one at a time in order of arrival; the target buffer sets the time of each.
class WriteQueue {
 public:
  explicit WriteQueue(const QueueParameters& parameters)
      : parameters_(parameters), waiting_(parameters.lines) {}

  // Returns whether `line` is in the queue at `now`, so that another write to it merges at no cost.
  bool merges(std::uint64_t line, Nanoseconds now) {
    drain_until(now);
    for (std::uint32_t i = 0; i < used_; ++i) {
      if (waiting_[at(i)].line == line) return true;
    }
    return false;
  }
  // Queues a line that takes `drain` to drain; returns the time at which it is accepted (`now` if
  // the queue has space).
  Nanoseconds put(std::uint64_t line, Nanoseconds drain, Nanoseconds now) {
    if (parameters_.lines == 0) {
      drained_ = {std::max(drained_.count, now.count) + drain.count};
      return drained_;
    }
    if (used_ == parameters_.lines) {
      now.count = std::max(now.count, waiting_[head_].done.count);
      drain_until(now);
    }
    drained_ = {std::max(drained_.count, now.count) + drain.count};
    waiting_[at(used_++)] = {line, drained_};
    return now;
  }
  // Pauses draining for `length`.
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
  void drain_until(Nanoseconds now) {
    while (used_ > 0 && waiting_[head_].done <= now) {
      head_ = at(1);
      --used_;
    }
  }

  QueueParameters parameters_;
  std::vector<Waiting> waiting_;
  std::uint32_t head_ = 0;
  std::uint32_t used_ = 0;
  Nanoseconds drained_;  // time at which the last line is drained
};

}  // namespace nearfar::sim
