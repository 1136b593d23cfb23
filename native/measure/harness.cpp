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

// Maximum length of later stretches of time_alone, as a ratio to the first.
constexpr double max_growth = 10000;
// CPU time counts as at least 1/20 of wall time. In some virtual machines the clock advances in
// scheduler ticks and can show less; the next stretch must not become endless.
constexpr double max_wall_over_cpu = 20;

// Counts how often the calling thread lost its core since construction.
class SwitchCounter {
 public:
  [[nodiscard]] long switches() const { return os::involuntary_switches() - switches_; }

 private:
  long switches_ = os::involuntary_switches();
};

// Runs `body(lane, co_runners)` on the worker's CPU, next to `beside`. It uses the calling thread:
// to wake another and to wait for it takes longer.
template <typename Body>
void run_alone(const Worker& worker, std::span<const Worker> beside, const StolenTicks* stolen,
               Body body) {
  if (worker.kernel == nullptr) throw std::invalid_argument("no worker has a kernel");
  prepare_memory(worker);
  Lane lane = lane_of(worker);
  CoRunners co_runners(beside, stolen);
  {
    const Pinned pinned(worker.cpu);
    // Under load, the warm-up must predict times and fill caches under the same load. Threads that
    // only spin may start during the warm-up.
    if (co_runners.load_memory()) co_runners.wait_until_running();
    sink.store(body(lane, co_runners), std::memory_order_relaxed);
    co_runners.finish();
  }
  save_position(worker, lane);
}

// Returns the number of iterations in a part, at `each` per iteration: a multiple of the accesses
// per fence.
std::uint64_t part_size(const Worker& worker, std::uint64_t iterations, Nanoseconds each) {
  const auto timed = static_cast<std::uint64_t>(part_time.count / std::max(each.count, 1e-3));
  const std::uint64_t min_iterations = std::max((iterations + max_parts - 1) / max_parts, timed);
  const std::uint64_t unit = std::max(worker.shape.fence_every, 1U);
  return (min_iterations + unit - 1) / unit * unit;
}

// Warms up by at most `warm_up` iterations. It stops after a pass that takes as long as the
// previous one, because the caches are then warm. Sets `passes` to the number of passes. Returns ns
// per iteration of the last pass.
Nanoseconds warm(const Kernel& kernel, Lane& lane, const WarmUp& warm_up, std::uint64_t& sum,
                 std::uint64_t& passes) {
  // While caches fill, a pass becomes shorter by more than noise explains.
  constexpr double settled_ratio = 0.95;
  const std::uint64_t each_pass =
      warm_up.pass == 0 ? warm_up.iterations : std::min(warm_up.pass, warm_up.iterations);
  Nanoseconds before{};
  for (std::uint64_t done = 0; done < warm_up.iterations; done += each_pass) {
    const Nanoseconds start = os::thread_cpu_time();
    sum += kernel.run(lane, each_pass);
    const Nanoseconds took = os::thread_cpu_time() - start;
    const bool is_settled = done > 0 && took.count > settled_ratio * before.count;
    before = took;
    ++passes;
    if (is_settled) break;
  }
  return {before.count / static_cast<double>(std::max<std::uint64_t>(each_pass, 1))};
}

}  // namespace

Timing time_alone(const Worker& worker, std::uint64_t iterations, const WarmUp& warm_up,
                  Nanoseconds min_time, std::span<const Worker> beside, const StolenTicks* stolen) {
  const Nanoseconds overhead = timer().overhead;
  Timing timing;
  run_alone(worker, beside, stolen, [&](Lane& lane, CoRunners& co_runners) {
    const Kernel& kernel = *worker.kernel;
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = 0;
    // Without a warm-up the time of an iteration is unknown: the stretch has a single part.
    Nanoseconds each{};
    if (warm_up.iterations > 0) each = warm(kernel, lane, warm_up, sum, timing.warm_up_passes);
    const Nanoseconds waited = co_runners.wait_until_running();
    Stretch stretch;
    auto time = [&](std::uint64_t count) {
      const std::uint64_t part = part_size(worker, count, each);
      const auto before = co_runners.iterations();
      stretch.begin();
      for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t now = std::min(part, count - done);
        sum += kernel.run(lane, now);
        stretch.end_part(now, overhead);
        done += now;
      }
      timing.beside = co_runners.traffic_since(before, stretch.wall());
    };
    // The warm-up predicts the iterations that take `min_time`.
    const double wanted =
        warm_up.iterations == 0 ? 0.0 : min_time.count / std::max(each.count, 1e-3);
    time(std::max(iterations, static_cast<std::uint64_t>(wanted)));
    // A cold warm-up overestimates the time; half of `min_time` is enough.
    for (int attempt = 0; attempt < 3 && stretch.cpu().count < min_time.count / 2; ++attempt) {
      const double took =
          std::max({stretch.cpu().count, stretch.wall().count / max_wall_over_cpu, 1.0});
      const double growth = std::min(min_time.count / took, max_growth);
      const auto count = static_cast<double>(stretch.iterations());
      each = {took / count};
      time(static_cast<std::uint64_t>(std::ceil(growth * count)));
    }
    timing.iterations = stretch.iterations();
    timing.per_iteration = stretch.per_iteration();
    timing.switches = stretch.switches();
    timing.disturbed = stretch.disturbed();
    timing.in_loops = os::wall_time() - begin - waited;
    return sum;
  });
  return timing;
}

EachTiming time_each(const Worker& worker, std::uint64_t accesses, std::uint64_t warm_up,
                     Nanoseconds rest_time, std::span<const Worker> beside) {
  const TickClock& clock = tick_clock();
  if (accesses == 0) throw std::invalid_argument("the number of timed accesses must not be 0");
  std::vector<std::uint32_t> ticks(accesses);
  EachTiming result;
  run_alone(worker, beside, nullptr, [&](Lane& lane, CoRunners& co_runners) {
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = worker.kernel->run(lane, warm_up);
    const Nanoseconds waited = co_runners.wait_until_running();
    const auto rest_ticks =
        static_cast<std::uint64_t>(std::max(rest_time.count, 0.0) / clock.per_tick.count);
    const SwitchCounter switch_counter;
    const auto before = co_runners.iterations();
    const Nanoseconds start = os::wall_time();
    sum += worker.kernel->each(lane, ticks, rest_ticks);
    const Nanoseconds end = os::wall_time();
    result.timing.beside = co_runners.traffic_since(before, end - start);
    result.timing.switches = switch_counter.switches();
    result.timing.disturbed = result.timing.switches != 0;
    result.timing.in_loops = end - begin - waited;
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
