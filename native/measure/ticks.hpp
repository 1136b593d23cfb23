// Clock for single accesses: a reading takes some 10 ns, less than that of a system clock.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "base/units.hpp"

#if defined(__x86_64__)
#include <x86intrin.h>
#elif !defined(__aarch64__)
#include "base/os.hpp"
#endif

namespace nearfar::measure {

// Returns the ticks of a constant-rate clock (time-stamp counter, generic timer). No later
// instruction begins before the clock is read.
inline std::uint64_t ticks_before() noexcept {
#if defined(__x86_64__)
  _mm_lfence();
  const std::uint64_t now = __rdtsc();
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("isb\n\tmrs %0, cntvct_el0\n\tisb" : "=r"(now)::"memory");
  return now;
#else
  return static_cast<std::uint64_t>(os::wall_time().count);
#endif
}

// Returns the ticks once all earlier loads have their values. Stores may still be in flight, even
// behind a store fence: see wait_for_stores().
inline std::uint64_t ticks_after() noexcept {
#if defined(__x86_64__)
  unsigned cpu = 0;
  const std::uint64_t now = __rdtscp(&cpu);
  _mm_lfence();
  return now;
#elif defined(__aarch64__)
  std::uint64_t now = 0;
  asm volatile("dsb ld\n\tisb\n\tmrs %0, cntvct_el0" : "=r"(now)::"memory");
  return now;
#else
  return static_cast<std::uint64_t>(os::wall_time().count);
#endif
}

struct TickClock {
  Nanoseconds per_tick{};    // calibrated against the system's clock
  Nanoseconds overhead{};    // time of an empty access; subtracted from every access
  Nanoseconds store_wait{};  // time of wait_for_stores() without stores in flight
  Nanoseconds resolution{};  // smallest step of timings
};
// Measured on the first call, which takes some 20 ms.
const TickClock& tick_clock();

// Mean of the middle half: it excludes outliers and is finer than the clock's step.
double middle_mean(std::vector<std::uint32_t> ticks);

// The loop of Kernel::each: times access(next()) for each of `ticks`.
template <typename Next, typename Access>
void time_accesses(std::span<std::uint32_t> ticks, std::uint64_t rest, Next next, Access access) {
  for (std::uint32_t& result : ticks) {
    auto at = next();
    if (rest != 0) {
      const std::uint64_t end = ticks_before() + rest;
      while (ticks_before() < end) {
      }
    }
    const std::uint64_t before = ticks_before();
    access(at);
    const std::uint64_t took = ticks_after() - before;
    constexpr std::uint64_t max_ticks = std::numeric_limits<std::uint32_t>::max();
    result = static_cast<std::uint32_t>(took < max_ticks ? took : max_ticks);
  }
}

}  // namespace nearfar::measure
