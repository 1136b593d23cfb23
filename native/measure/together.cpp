// Runs several workers at once, for bandwidths.
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "base/os.hpp"
#include "measure/co_runners.hpp"
#include "measure/harness.hpp"
#include "measure/lane.hpp"
#include "measure/pinned.hpp"
#include "measure/threads.hpp"

namespace nearfar::measure {
namespace {

// Time between two readings of the clock; a reading takes some 25 ns, less than 1 in 2,000 of this.
constexpr Nanoseconds block_time{50e3};

// Maximum share of time without a core; above it, a bandwidth is disturbed. A single worker is
// timed by CPU time, so a lost core hardly matters; several workers are timed by wall time, so all
// of the loss counts.
constexpr double max_lost_alone = 0.75;
constexpr double max_lost_together = 0.02;

}  // namespace

ParallelTiming together(std::span<const Worker> workers, Nanoseconds duration, Nanoseconds warm_up,
                        bool by_clock) {
  const auto working = static_cast<unsigned>(std::ranges::count_if(
      workers, [](const Worker& worker) { return worker.kernel != nullptr; }));
  if (working == 0) throw std::invalid_argument("no worker has a kernel");
  for (const Worker& worker : workers) prepare_memory(worker);
  std::vector<Worker> timed;
  std::vector<Worker> spinning;
  for (const Worker& worker : workers) {
    (worker.kernel == nullptr ? spinning : timed).push_back(worker);
  }
  std::vector<Lane> lanes;
  lanes.reserve(timed.size());
  for (const Worker& worker : timed) lanes.push_back(lane_of(worker));
  std::vector<WorkerTraffic> bandwidths(working);
  std::vector<Nanoseconds> in_loops(working);
  std::atomic<bool> disturbed{false};
  {
    CoRunners spinners(spinning);
    spinners.wait_until_running();
    Threads threads;
    auto work = [&](unsigned i) {
      const Worker& worker = timed[i];
      std::uint64_t block = co_runner_iterations(worker);
      std::uint64_t sum = 0;
      std::uint64_t clock_readings = 0;
      // Runs for `time`, and on while `more`.
      auto run_for = [&](Nanoseconds time, bool grow, auto more) {
        const Nanoseconds begin = os::wall_time();
        std::uint64_t done = 0;
        Nanoseconds now = begin;
        do {
          sum += worker.kernel->run(lanes[i], block);
          done += block;
          wait(worker.pause);
          const Nanoseconds before = now;
          now = os::wall_time();
          ++clock_readings;
          if (grow && worker.pause.count <= 0 && now < before + block_time) block *= 2;
        } while ((now < begin + time || more()) && !threads.stopping());
        return std::pair{done, now - begin};
      };
      // Warms up until all have, so that none waits for a thread that started later.
      bool arrived = false;
      const Nanoseconds warmed = run_for(warm_up, true, [&] {
                                   if (!arrived) threads.arrive();
                                   arrived = true;
                                   return !threads.have_arrived(working);
                                 }).second;
      const Nanoseconds start = os::thread_cpu_time();
      const auto [done, wall] = run_for(duration, false, [] { return false; });
      const Nanoseconds cpu = os::thread_cpu_time() - start - timer().overhead;
      const bool by_cpu = working == 1 && !by_clock;
      bandwidths[i] = traffic_of(worker, done, by_cpu ? cpu : wall);
      const double max_lost = by_cpu ? max_lost_alone : max_lost_together;
      if (wall.count - cpu.count > max_lost * wall.count) {
        disturbed.store(true, std::memory_order_relaxed);
      }
      const double reading_clock_ns =
          static_cast<double>(clock_readings) * wall_timer().overhead.count;
      in_loops[i] = {warmed.count + wall.count - reading_clock_ns};
      sink.store(sum, std::memory_order_relaxed);
    };
    for (unsigned i = 1; i < working; ++i) threads.start(timed[i].cpu, [&, i] { work(i); });
    const Pinned pinned(timed[0].cpu);
    work(0);
    threads.join(/*soon=*/true);
    spinners.finish();
  }
  ParallelTiming result{
      .each = {}, .in_loops = *std::ranges::min_element(in_loops), .disturbed = disturbed};
  unsigned next = 0;
  for (const Worker& worker : workers) {
    result.each.push_back(worker.kernel == nullptr ? WorkerTraffic{} : bandwidths[next++]);
  }
  for (unsigned i = 0; i < working; ++i) save_position(timed[i], lanes[i]);
  return result;
}

}  // namespace nearfar::measure
