// Threads that run next to the timed one, working or spinning; and the traffic of a worker.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

#include "base/os.hpp"
#include "measure/harness.hpp"
#include "measure/lane.hpp"
#include "measure/stolen.hpp"
#include "measure/threads.hpp"

namespace nearfar::measure {

// A co-runner pauses after this many lines (2 KiB), so that its traffic is even at the scale of 100
// ns, the time of a dependent load.
inline constexpr std::uint64_t co_runner_lines = 32;

// Receives the kernels' results, so that the compiler does not remove any work.
inline std::atomic<std::uint64_t> sink;

inline std::uint64_t co_runner_iterations(const Worker& worker) {
  return std::max<std::uint64_t>(co_runner_lines / worker.shape.access_lines(), 1);
}

inline void wait(Nanoseconds pause) {
  if (pause.count <= 0) return;
  const Nanoseconds end = os::wall_time() + pause;
  while (os::wall_time() < end) relax();
}

inline WorkerTraffic traffic_of(const Worker& worker, std::uint64_t iterations, Nanoseconds time) {
  if (worker.kernel == nullptr || time.count <= 0) return {};
  const auto payload = static_cast<double>(worker.kernel->traffic(worker.shape).payload().count);
  const double rate = static_cast<double>(iterations) * payload / time.count;  // 1 B/ns is 1 GB/s
  const double loads = worker.kernel->loads_over_payload(worker.shape);
  return {.read_gb_per_s = rate * loads, .written_gb_per_s = rate * (1 - loads)};
}

// A counter on its own cache line, written by one thread and read by others.
struct alignas(64) Count {
  std::atomic<std::uint64_t> iterations{0};
};

// Threads that run next to the timed one until this object is destroyed. It calls
// wait_until_running() before it takes times.
class CoRunners {
 public:
  // Once it is told to stop, one that only spins reads `stolen`, if any, for its next call.
  explicit CoRunners(std::span<const Worker> workers, const StolenTicks* stolen = nullptr)
      : workers_(workers), counts_(workers.size()), lanes_(workers.size()) {
    for (const Worker& worker : workers) prepare_memory(worker);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      if (workers[i].kernel == nullptr) {
        threads_.spin(workers[i].cpu, stolen == nullptr ? nullptr : stolen->read_ahead());
        continue;
      }
      lanes_[i] = lane_of(workers[i]);
      threads_.start(workers[i].cpu, [this, i] { work(i); });
    }
  }
  CoRunners(const CoRunners&) = delete;
  CoRunners& operator=(const CoRunners&) = delete;
  ~CoRunners() {
    threads_.stop();
    for (std::size_t i = 0; i < workers_.size(); ++i) {
      if (workers_[i].kernel != nullptr) save_position(workers_[i], lanes_[i]);
    }
  }

  // Whether any of them has a kernel; the others only spin.
  [[nodiscard]] bool load_memory() const {
    return std::ranges::any_of(workers_, [](const Worker& each) { return each.kernel != nullptr; });
  }
  // Waits until those with a kernel have run it. Returns how long it waited. Throws if one of them
  // failed.
  Nanoseconds wait_until_running() {
    const Nanoseconds begin = os::wall_time();
    threads_.sleep_until(static_cast<unsigned>(workers_.size()));
    if (threads_.stopping()) threads_.join();
    return os::wall_time() - begin;
  }
  // Stops the threads, and throws if one of them failed.
  void finish() {
    threads_.stop();
    threads_.join();
  }
  [[nodiscard]] std::vector<std::uint64_t> iterations() const {
    std::vector<std::uint64_t> counts;
    counts.reserve(counts_.size());
    for (const Count& count : counts_) {
      counts.push_back(count.iterations.load(std::memory_order_relaxed));
    }
    return counts;
  }
  [[nodiscard]] std::vector<WorkerTraffic> traffic_since(const std::vector<std::uint64_t>& before,
                                                         Nanoseconds time) const {
    const auto now = iterations();
    std::vector<WorkerTraffic> all;
    for (std::size_t i = 0; i < now.size(); ++i) {
      all.push_back(traffic_of(workers_[i], now[i] - before[i], time));
    }
    return all;
  }

 private:
  void work(std::size_t i) {
    const Worker& worker = workers_[i];
    const std::uint64_t block = co_runner_iterations(worker);
    std::uint64_t sum = 0;
    std::uint64_t done = 0;
    do {
      sum += worker.kernel->run(lanes_[i], block);
      if (done == 0) threads_.arrive();
      done += block;
      counts_[i].iterations.store(done, std::memory_order_relaxed);
      wait(worker.pause);
    } while (!threads_.stopping());
    sink.store(sum, std::memory_order_relaxed);
  }

  std::span<const Worker> workers_;
  std::vector<Count> counts_;
  std::vector<Lane> lanes_;
  Threads threads_;
};

}  // namespace nearfar::measure
