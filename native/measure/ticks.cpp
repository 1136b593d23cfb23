#include "measure/ticks.hpp"

#include <algorithm>
#include <numeric>
#include <vector>

#include "base/os.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

// At this length, the time to read both clocks (100 ns) and their drift are less than 1 in 10,000.
constexpr Nanoseconds calibration{10e6};

// Returns the step of the ticks: more than 1 if a slower clock drives the counter; a hypervisor's
// scaling adds jitter of 1. It is the smallest gap between groups of readings, or 1 if there is one
// group. `sorted`: timings of an empty access.
std::uint32_t step_of(const std::vector<std::uint32_t>& sorted) {
  constexpr std::uint32_t jitter = 2;
  std::uint32_t step = 0;
  // The last tenth contains interrupts.
  for (std::size_t i = 1; i < sorted.size() * 9 / 10; ++i) {
    const std::uint32_t gap = sorted[i] - sorted[i - 1];
    if (gap > jitter && (step == 0 || gap < step)) step = gap;
  }
  return std::max(step, 1U);
}

TickClock calibrate() {
  const Nanoseconds start = os::wall_time();
  const std::uint64_t first = ticks_before();
  Nanoseconds now = start;
  while (now < start + calibration) now = os::wall_time();
  const auto ticks = static_cast<double>(ticks_after() - first);
  TickClock clock{.per_tick = {(now - start).count / ticks}};

  std::vector<std::uint32_t> empty(10001);
  time_accesses(
      empty, 0, [] { return 0; }, [](int) {});
  std::ranges::sort(empty);
  clock.resolution = {step_of(empty) * clock.per_tick.count};
  clock.overhead = {middle_mean(empty) * clock.per_tick.count};
  time_accesses(
      empty, 0, [] { return 0; }, [](int) { wait_for_stores(); });
  const double waited = middle_mean(empty) * clock.per_tick.count;
  clock.store_wait = {std::max(waited - clock.overhead.count, 0.0)};
  return clock;
}

}  // namespace

const TickClock& tick_clock() {
  static const TickClock clock = calibrate();
  return clock;
}

double middle_mean(std::vector<std::uint32_t> ticks) {
  // A few thousand evenly spaced values give the same precision in a tenth of the time.
  constexpr std::size_t max_values = 8192;
  if (const std::size_t step = ticks.size() / max_values; step > 1) {
    for (std::size_t i = 0; i < max_values; ++i) ticks[i] = ticks[i * step];
    ticks.resize(max_values);
  }
  const auto quarter = static_cast<std::ptrdiff_t>(ticks.size() / 4);
  const auto low = ticks.begin() + quarter;
  const auto high = ticks.end() - quarter;
  std::nth_element(ticks.begin(), low, ticks.end());
  std::nth_element(low, high - 1, ticks.end());
  return std::accumulate(low, high, 0.0) / static_cast<double>(high - low);
}

}  // namespace nearfar::measure
