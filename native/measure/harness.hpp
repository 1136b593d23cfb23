// The one place that turns a kernel's time into ns per access or GB/s.
//
// What is timed runs in the calling thread, pinned meanwhile; threads beside it are started, pinned
// and joined inside each call. Calls are short: whoever calls can stop between two calls and
// nothing goes on running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "measure/kernel.hpp"
#include "measure/memory.hpp"
#include "measure/timer.hpp"

namespace nearfar::measure {

// What one thread does.
struct Worker {
  unsigned cpu = 0;
  const Kernel* kernel = nullptr;  // null: spins without touching memory, to keep its core awake
  Memory* memory = nullptr;
  Memory* second = nullptr;  // what a kernel that copies stores to; null: the same memory
  Bytes region{};            // it uses only so much of its memories, from their start; 0: all
  unsigned part = 0;         // the part-th of `parts` equal parts of that
  unsigned parts = 1;
  Shape shape{};
  unsigned chains = 1;
  Nanoseconds pause{};  // rest after every 2 KiB (or access, if larger); 0: full speed
  const Operations* operations = &measure::operations();
};

// What one thread moved.
struct Drawn {
  double read_gb_per_s = 0;
  double written_gb_per_s = 0;  // ordinary stores and those past the caches

  [[nodiscard]] double total() const { return read_gb_per_s + written_gb_per_s; }
};

struct Timing {
  Nanoseconds per_iteration{};  // of thread CPU time, less the timer's own cost
  std::uint64_t iterations = 0;
  std::vector<Drawn> beside;  // what each co-runner drew meanwhile (wall time)
  Nanoseconds in_loops{};     // spent in the kernel's loop, warm-up included
  long switches = 0;          // how often the scheduler gave the timed core to something else
  // Whether that touches per_iteration: of time_alone, which leaves out what switches touched, if
  // too little was left; of time_each at any, because of its rarest times.
  bool disturbed = false;
};

// Iterations before those that are timed: all of them in one piece, or in passes until one takes as
// long as the one before.
struct WarmUp {
  std::uint64_t iterations = 0;
  std::uint64_t pass = 0;  // 0: in one piece
};

// Times `worker` after warming up by the same, for latencies: at least `iterations`, and
// more where those take less than half of `least` (they are then warm-up). CPU time, so that
// preemption does not count.
Timing time_alone(const Worker& worker, std::uint64_t iterations, const WarmUp& warm_up,
                  Nanoseconds least, std::span<const Worker> beside);

struct EachTiming {
  std::vector<float> ns;  // of every access in turn, less the clock's own cost
  Timing timing;          // per_iteration: the mean of their middle half
};
// Times every single one of `accesses` (4 bytes of memory each) after `warm_up`; the thread rests
// for `rest` before each.
EachTiming time_each(const Worker& worker, std::uint64_t accesses, std::uint64_t warm_up,
                     Nanoseconds rest, std::span<const Worker> beside);

struct Together {
  std::vector<Drawn> each;  // by worker; nothing of those that spin
  Nanoseconds in_loops{};   // as in Timing, of the worker that spent least
  bool disturbed = false;   // whether a worker missed its core for so long that rates are off
};
// All workers at once for about `duration` after `warm_up`, all starting together. One that works
// alone is timed by its CPU time unless `by_clock`, several by the clock.
Together together(std::span<const Worker> workers, Nanoseconds duration, Nanoseconds warm_up,
                  bool by_clock = false);

}  // namespace nearfar::measure
