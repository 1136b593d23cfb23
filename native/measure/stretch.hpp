// A timed stretch divided into parts, so that an interruption affects only some of them.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"

namespace nearfar::measure {

// Length of a part. A scheduler's time slice takes some milliseconds, and its end affects two
// parts. Reading clocks and counters between parts takes 1 us.
inline constexpr Nanoseconds part_time{0.5e6};
// Maximum parts of a stretch.
inline constexpr std::uint64_t max_parts = 64;

// Thread CPU time stops while a thread is preempted, but its caches must be filled again
// afterwards. So parts with a preemption, or directly after one, are left out. If too few parts
// remain, the whole stretch counts and is marked as disturbed.
class Stretch {
 public:
  void begin() {
    parts_.clear();
    switches_ = os::involuntary_switches();
    first_switches_ = switches_;
    wall_ = first_wall_ = os::wall_time();
    cpu_ = os::thread_cpu_time();
  }
  void end_part(std::uint64_t iterations, Nanoseconds clock_overhead) {
    const Nanoseconds cpu = os::thread_cpu_time();
    const long switches = os::involuntary_switches();
    parts_.push_back({iterations, cpu - cpu_ - clock_overhead, switches != switches_});
    switches_ = switches;
    wall_ = os::wall_time();
    cpu_ = os::thread_cpu_time();
  }

  [[nodiscard]] long switches() const { return switches_ - first_switches_; }
  [[nodiscard]] Nanoseconds wall() const { return wall_ - first_wall_; }
  [[nodiscard]] Nanoseconds cpu() const { return sum(false).time; }
  [[nodiscard]] std::uint64_t iterations() const { return sum(false).iterations; }
  // Whether less than a quarter of the stretch was unaffected.
  [[nodiscard]] bool disturbed() const { return sum(true).iterations * 4 < iterations(); }
  [[nodiscard]] Nanoseconds per_iteration() const {
    const Part counted = sum(!disturbed());
    return {std::max(counted.time.count, 0.0) / static_cast<double>(counted.iterations)};
  }

 private:
  struct Part {
    std::uint64_t iterations = 0;
    Nanoseconds time{};
    bool switched = false;
  };
  [[nodiscard]] Part sum(bool unaffected_only) const {
    Part all;
    bool affected = false;
    for (const Part& part : parts_) {
      const bool left_out = unaffected_only && (part.switched || affected);
      affected = part.switched;
      if (left_out) continue;
      all.iterations += part.iterations;
      all.time = all.time + part.time;
    }
    return all;
  }

  std::vector<Part> parts_;
  Nanoseconds wall_{};
  Nanoseconds first_wall_{};
  Nanoseconds cpu_{};
  long switches_ = 0;
  long first_switches_ = 0;
};

}  // namespace nearfar::measure
