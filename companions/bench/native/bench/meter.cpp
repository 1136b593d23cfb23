#include "bench/meter.hpp"

#include <sys/resource.h>

#include <barrier>
#include <chrono>
#include <exception>
#include <memory>
#include <thread>

#include "bench/errors.hpp"
#include "nearfar/mark.h"

namespace nearfar::bench {
namespace {

Nanoseconds kernel_time(const rusage& usage) {
  return {static_cast<double>(usage.ru_stime.tv_sec) * 1e9 +
          static_cast<double>(usage.ru_stime.tv_usec) * 1e3};
}

rusage usage_now() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage;
}

}  // namespace

void Meter::measure(unsigned threads, Nanoseconds length, const Body& body) {
  if (threads == 0) throw BadArgument("threads=0: it must be at least 1");
  std::atomic<bool> stop{false};
  std::vector<std::unique_ptr<Lane>> lanes;
  for (unsigned i = 0; i < threads; ++i) {
    lanes.push_back(std::make_unique<Lane>(i, seed_, mode_ == Mode::latency, stop));
  }
  std::vector<std::exception_ptr> failed(threads);
  std::barrier<> begin(threads + 1);
  std::barrier<> end(threads + 1);
  // The threads outlive the measurement, so that neither their creation nor their end is measured.
  const auto run = [&](unsigned i) {
    begin.arrive_and_wait();
    try {
      body(*lanes[i]);
    } catch (...) {
      failed[i] = std::current_exception();
    }
    end.arrive_and_wait();
  };
  std::vector<std::jthread> others;
  // A single thread without a time limit runs here, so no thread needs to be woken.
  const bool alone = threads == 1 && length.count == 0;
  if (!alone) {
    for (unsigned i = 0; i < threads; ++i) others.emplace_back(run, i);
  }
  NEARFAR_BEGIN("timed");  // so that `nearfar profile` separates the timed part from the set-up
  const rusage before = usage_now();
  const bool counting = mode_ == Mode::count && nearfar_bench_count_begin != nullptr;
  if (counting) nearfar_bench_count_begin();
  const Nanoseconds cpu_before = os::read_clock(CLOCK_PROCESS_CPUTIME_ID);
  const Nanoseconds wall_before = os::wall_time();
  if (alone) {
    try {
      body(*lanes[0]);
    } catch (...) {
      failed[0] = std::current_exception();
    }
  } else {
    begin.arrive_and_wait();
    if (length.count > 0) {
      std::this_thread::sleep_for(std::chrono::duration<double, std::nano>(length.count));
      stop.store(true, std::memory_order_relaxed);
    }
    end.arrive_and_wait();
  }
  wall = os::wall_time() - wall_before;
  cpu = os::read_clock(CLOCK_PROCESS_CPUTIME_ID) - cpu_before;
  if (counting) {
    nearfar_bench_count_end(&counts);
    counted = true;
  }
  const rusage after = usage_now();
  kernel = kernel_time(after) - kernel_time(before);
  minor_faults = static_cast<std::uint64_t>(after.ru_minflt - before.ru_minflt);
  major_faults = static_cast<std::uint64_t>(after.ru_majflt - before.ru_majflt);
  context_switches = static_cast<std::uint64_t>(after.ru_nivcsw - before.ru_nivcsw);
  for (const auto& lane : lanes) operations += lane->operations();
  NEARFAR_END("timed", operations);
  others.clear();
  for (const std::exception_ptr& failure : failed) {
    if (failure) std::rethrow_exception(failure);
  }
  for (const auto& lane : lanes) latency.merge(lane->latency);
}

}  // namespace nearfar::bench
