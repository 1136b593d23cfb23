#include "measure/harness.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/os.hpp"
#include "measure/co_runners.hpp"
#include "measure/lane.hpp"
#include "measure/pinned.hpp"
#include "measure/stretch.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {
namespace {

// A second stretch of time_alone is at most so many times the first.
constexpr double most_growth = 10000;
// Of wall time, CPU time is at least one part in so many, or its clock steps by scheduler ticks (as
// in some virtual machines) and shows nothing of a short stretch: the next must not be endless.
constexpr double most_waiting = 20;

// Whether the calling thread lost its core since this was made.
class Watch {
 public:
  [[nodiscard]] long switches() const { return os::involuntary_switches() - switches_; }

 private:
  long switches_ = os::involuntary_switches();
};

// Runs `body(lane)` on the worker's CPU beside `beside`, in the calling thread: to start another
// and to wait for it takes longer than 1 % of a sample wherever cores are busy.
template <typename Body>
void run_alone(const Worker& worker, std::span<const Worker> beside, Body body) {
  if (worker.kernel == nullptr) throw std::invalid_argument("there is no kernel to time");
  make_ready(worker);
  Lane lane = lane_of(worker);
  CoRunners co_runners(beside);
  co_runners.rethrow();
  {
    const Pinned pinned(worker.cpu);
    sink.store(body(lane, co_runners), std::memory_order_relaxed);
    co_runners.finish();
  }
  note_position(worker, lane);
}

// How many iterations of what takes so long make a part; a multiple of what is fenced together.
std::uint64_t part_size(const Worker& worker, std::uint64_t iterations, Nanoseconds each) {
  const auto timed = static_cast<std::uint64_t>(part_time.count / std::max(each.count, 1e-3));
  const std::uint64_t least = std::max((iterations + most_parts - 1) / most_parts, timed);
  const std::uint64_t unit = std::max(worker.shape.fence_every, 1U);
  return (least + unit - 1) / unit * unit;
}

// Warms up by `warm_up` iterations, pass after pass, fewer once a pass is as long as the one
// before: caches then hold what they will. Returns ns per iteration of the last.
Nanoseconds warm(const Kernel& kernel, Lane& lane, std::uint64_t warm_up, std::uint64_t pass,
                 std::uint64_t& sum) {
  // A cache that still fills makes a pass shorter by more than clocks and neighbours do.
  constexpr double settled = 0.95;
  const std::uint64_t each_pass = pass == 0 ? warm_up : std::min(pass, warm_up);
  Nanoseconds before{};
  for (std::uint64_t done = 0; done < warm_up; done += each_pass) {
    const Nanoseconds start = os::thread_cpu_time();
    sum += kernel.run(lane, each_pass);
    const Nanoseconds took = os::thread_cpu_time() - start;
    const bool is_settled = done > 0 && took.count > settled * before.count;
    before = took;
    if (is_settled) break;
  }
  return {before.count / static_cast<double>(std::max<std::uint64_t>(each_pass, 1))};
}

}  // namespace

Timing time_alone(const Worker& worker, std::uint64_t iterations, const WarmUp& warm_up,
                  Nanoseconds least, std::span<const Worker> beside) {
  const Nanoseconds overhead = timer().overhead;
  Timing timing;
  run_alone(worker, beside, [&](Lane& lane, const CoRunners& co_runners) {
    const Kernel& kernel = *worker.kernel;
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = 0;
    // Without warming up nothing is known of how long one takes: the stretch is in one part.
    Nanoseconds each{};
    if (warm_up.iterations > 0) each = warm(kernel, lane, warm_up.iterations, warm_up.pass, sum);
    Stretch stretch;
    auto time = [&](std::uint64_t count) {
      const std::uint64_t part = part_size(worker, count, each);
      const auto before = co_runners.done();
      stretch.begin();
      for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t now = std::min(part, count - done);
        sum += kernel.run(lane, now);
        stretch.end_part(now, overhead);
        done += now;
      }
      timing.beside = co_runners.drawn_since(before, stretch.wall());
    };
    // The warm-up tells how many iterations take so long.
    const double wanted = warm_up.iterations == 0 ? 0.0 : least.count / std::max(each.count, 1e-3);
    time(std::max(iterations, static_cast<std::uint64_t>(wanted)));
    // A cold warm-up foretells too much; half of what was asked for will do.
    for (int longer = 0; longer < 3 && stretch.cpu().count < least.count / 2; ++longer) {
      const double took = std::max({stretch.cpu().count, stretch.wall().count / most_waiting, 1.0});
      const double growth = std::min(least.count / took, most_growth);
      const auto count = static_cast<double>(stretch.iterations());
      each = {took / count};
      time(static_cast<std::uint64_t>(std::ceil(growth * count)));
    }
    timing.iterations = stretch.iterations();
    timing.per_iteration = stretch.per_iteration();
    timing.switches = stretch.switches();
    timing.disturbed = stretch.disturbed();
    timing.in_loops = os::wall_time() - begin;
    return sum;
  });
  return timing;
}

EachTiming time_each(const Worker& worker, std::uint64_t accesses, std::uint64_t warm_up,
                     Nanoseconds rest_time, std::span<const Worker> beside) {
  const TickClock& clock = tick_clock();
  if (accesses == 0) throw std::invalid_argument("at least one access is timed");
  std::vector<std::uint32_t> ticks(accesses);
  EachTiming result;
  run_alone(worker, beside, [&](Lane& lane, const CoRunners& co_runners) {
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = worker.kernel->run(lane, warm_up);
    const auto rest_ticks =
        static_cast<std::uint64_t>(std::max(rest_time.count, 0.0) / clock.per_tick.count);
    const Watch watch;
    const auto before = co_runners.done();
    const Nanoseconds start = os::wall_time();
    sum += worker.kernel->each(lane, ticks, rest_ticks);
    const Nanoseconds end = os::wall_time();
    result.timing.beside = co_runners.drawn_since(before, end - start);
    result.timing.switches = watch.switches();
    result.timing.disturbed = result.timing.switches != 0;
    result.timing.in_loops = end - begin;
    return sum;
  });
  result.ns.resize(accesses);
  const bool waits = worker.kernel->each_waits_for_stores(worker.shape);
  const double own_ns = clock.overhead.count + (waits ? clock.store_wait.count : 0.0);
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const double ns = ticks[i] * clock.per_tick.count - own_ns;
    result.ns[i] = static_cast<float>(std::max(ns, 0.0));
  }
  const double middle = middle_mean(std::move(ticks)) * clock.per_tick.count - own_ns;
  result.timing.per_iteration = {std::max(middle, 0.0)};
  result.timing.iterations = accesses;
  return result;
}

}  // namespace nearfar::measure
