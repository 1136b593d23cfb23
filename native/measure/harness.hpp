// Times kernels: ns per access, or GB/s.
//
// The timed kernel runs in the calling thread, which is pinned for that time, next to kept threads
// (threads.hpp). Calls are short, so callers can stop between two calls.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "measure/kernel.hpp"
#include "measure/memory.hpp"
#include "measure/stolen.hpp"
#include "measure/timer.hpp"

namespace nearfar::measure {

// Work of one thread.
struct Worker {
  unsigned cpu = 0;
  const Kernel* kernel = nullptr;  // null: spins without touching memory, to keep its core awake
  Memory* memory = nullptr;
  Memory* second = nullptr;  // target of kernels that copy; null: the same memory
  Bytes region{};            // bytes of its memories that it uses, from the start; 0: all
  unsigned part = 0;         // index of its part, if the region is divided into `parts` equal parts
  unsigned parts = 1;
  Shape shape{};
  unsigned chains = 1;
  Nanoseconds pause{};  // rest after every 2 KiB (or access, if larger); 0: full speed
  const Operations* operations = &measure::operations();
};

// Bandwidth of one thread.
struct WorkerTraffic {
  double read_gb_per_s = 0;
  double written_gb_per_s = 0;  // ordinary and non-temporal stores

  [[nodiscard]] double total() const { return read_gb_per_s + written_gb_per_s; }
};

struct Timing {
  Nanoseconds per_iteration{};  // thread CPU time without the timer's overhead
  std::uint64_t iterations = 0;
  std::vector<WorkerTraffic> beside;  // bandwidth of each co-runner meanwhile (by wall time)
  Nanoseconds in_loops{};             // time in the kernel's loop, including the warm-up
  std::uint64_t warm_up_passes = 0;   // until a pass took as long as the previous one
  long switches = 0;                  // involuntary context switches of the timed thread
  // Whether switches affect per_iteration. time_alone leaves out affected parts, and is disturbed
  // if too few remain; time_each is disturbed by any switch, because of its rarest times.
  bool disturbed = false;
};

// Untimed iterations: all at once, or in passes until a pass takes as long as the previous pass.
struct WarmUp {
  std::uint64_t iterations = 0;
  std::uint64_t pass = 0;  // iterations of a pass; 0: all at once
};

// Times `worker` after a warm-up, for latencies: at least `iterations`, and more if these take less
// than half of `min_time`. Uses CPU time, so preemption does not count. A co-runner that only spins
// then reads `stolen`, if any, for its next call.
Timing time_alone(const Worker& worker, std::uint64_t iterations, const WarmUp& warm_up,
                  Nanoseconds min_time, std::span<const Worker> beside,
                  const StolenTicks* stolen = nullptr);

struct EachTiming {
  std::vector<float> ns;  // per access, without the clock's overhead
  Timing timing;          // per_iteration: mean of their middle half
};
// Times each of `accesses` (4 bytes of memory each) after `warm_up`; the thread rests for `rest`
// before each.
EachTiming time_each(const Worker& worker, std::uint64_t accesses, std::uint64_t warm_up,
                     Nanoseconds rest, std::span<const Worker> beside);

struct ParallelTiming {
  std::vector<WorkerTraffic> each;  // one per worker; zero for workers that spin
  Nanoseconds in_loops{};           // as in Timing; minimum of all workers
  bool disturbed = false;           // whether a worker lost its core for too long
};
// Runs all workers at once for about `duration` after `warm_up`. A single worker is timed by its
// CPU time unless `by_clock`, several by wall time.
ParallelTiming together(std::span<const Worker> workers, Nanoseconds duration, Nanoseconds warm_up,
                        bool by_clock = false);

}  // namespace nearfar::measure
