// The one place that turns a kernel's time into ns per access or GB/s.
//
// Threads are started, pinned, joined inside each call, and calls are short: whoever calls can
// stop between two calls and nothing goes on running.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "measure/kernel.hpp"
#include "measure/memory.hpp"

namespace nearfar::measure {

// A thread that runs beside what is timed.
struct Companion {
  const Kernel* kernel = nullptr;  // null: spins without touching memory, to keep its core awake
  Memory* memory = nullptr;
  unsigned part = 0;  // works on the part-th of `parts` equal parts of the memory
  unsigned parts = 1;
  unsigned cpu = 0;
  Nanoseconds pause{};  // rest after every 2 KiB; 0: full speed
};

struct Timing {
  Nanoseconds per_iteration{};    // of thread CPU time, less the timer's own cost
  double companion_gb_per_s = 0;  // payload all companions drew meanwhile (wall time)
};

// Times `iterations` on `cpu` after `warm_up` iterations of the same; for latencies. CPU time, so
// that preemption does not count.
Timing time_alone(const Kernel& kernel, Memory& memory, std::uint64_t iterations,
                  std::uint64_t warm_up, unsigned chains, unsigned cpu,
                  std::span<const Companion> companions);

// GB/s of payload with one thread on each of `cpus`, each on its part of the memory, for about
// `duration` after `warm_up`. One thread: CPU time. Several: wall time, all starting together.
double bandwidth_gb_per_s(const Kernel& kernel, Memory& memory, std::span<const unsigned> cpus,
                          Nanoseconds duration, Nanoseconds warm_up,
                          std::span<const Companion> companions);

struct Timer {
  Nanoseconds overhead{};    // median cost of reading thread CPU time; subtracted once a timing
  Nanoseconds resolution{};  // smallest step seen between two different readings
};
const Timer& timer();

}  // namespace nearfar::measure
