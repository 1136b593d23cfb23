// Measures the timed part of a run: wall, CPU and kernel time, faults, counts, latencies.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/os.hpp"
#include "base/units.hpp"
#include "bench/counts.hpp"
#include "bench/histogram.hpp"

namespace nearfar::bench {

enum class Mode { time, latency, count };

// A thread's part of the timed stretch.
class Lane {
 public:
  Lane(unsigned place, std::uint64_t seed, bool time_each, const std::atomic<bool>& stop_flag)
      : index(place),
        random(seed * 0x9e3779b97f4a7c15ULL + place),
        stop(stop_flag),
        time_each_(time_each) {}

  // Runs `f` as one operation; it is timed in mode latency only.
  template <typename F>
  void operation(F&& f) {
    if (time_each_) {
      const double before = os::wall_time().count;
      f();
      latency.add(static_cast<std::uint64_t>(os::wall_time().count - before));
    } else {
      f();
    }
    ++operations_;
  }

  void add(std::uint64_t operations) noexcept { operations_ += operations; }
  [[nodiscard]] std::uint64_t operations() const { return operations_; }

  unsigned index;
  std::mt19937_64 random;
  const std::atomic<bool>& stop;  // set when the time of timed_for is over
  Histogram latency;

 private:
  std::uint64_t operations_ = 0;
  bool time_each_;
};

class Meter {
 public:
  using Body = std::function<void(Lane&)>;

  Meter(Mode mode, std::uint64_t seed) : mode_(mode), seed_(seed) {}

  // Runs `body` in each of `threads`, which start together; rethrows its exceptions.
  void timed(unsigned threads, const Body& body) { measure(threads, {0}, body); }
  // Runs `body` as timed() does, and sets `stop` after `length`.
  void timed_for(Nanoseconds length, unsigned threads, const Body& body) {
    measure(threads, length, body);
  }

  void note(const std::string& name, double figure) { notes.emplace_back(name, figure); }
  void say(const std::string& name, const std::string& text) { words.emplace_back(name, text); }

  [[nodiscard]] Mode mode() const { return mode_; }

  // Results.
  std::uint64_t operations = 0;
  Nanoseconds wall{};
  Nanoseconds cpu{};
  Nanoseconds kernel{};  // part of cpu
  std::uint64_t minor_faults = 0;
  std::uint64_t major_faults = 0;
  std::uint64_t context_switches = 0;  // involuntary
  Histogram latency;
  Counts counts{};
  bool counted = false;
  std::vector<std::pair<std::string, double>> notes;
  std::vector<std::pair<std::string, std::string>> words;

 private:
  void measure(unsigned threads, Nanoseconds length, const Body& body);
  Mode mode_;
  std::uint64_t seed_;
};

}  // namespace nearfar::bench
