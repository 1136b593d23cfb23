#include "measure/harness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/os.hpp"
#include "measure/lane.hpp"
#include "measure/threads.hpp"
#include "measure/ticks.hpp"

namespace nearfar::measure {
namespace {

// A companion rests after so many lines (2 KiB), so that its traffic is even at the scale of the
// 100 ns that a chased load takes.
constexpr std::uint64_t companion_lines = 32;
// Between two looks at the clock, which takes some 25 ns: it costs less than 1 in 2,000.
constexpr Nanoseconds block_time{50e3};
// A second stretch of time_alone is at most so many times the first.
constexpr double most_growth = 10000;

// What kernels return goes here, so that no work can be optimised away.
std::atomic<std::uint64_t> sink;

std::uint64_t companion_iterations(const Worker& worker) {
  return std::max<std::uint64_t>(companion_lines / worker.shape.access_lines(), 1);
}

void rest(Nanoseconds pause) {
  if (pause.count <= 0) return;
  const Nanoseconds end = os::wall_time() + pause;
  while (os::wall_time() < end) relax();
}

Drawn drawn(const Worker& worker, std::uint64_t iterations, Nanoseconds time) {
  if (worker.kernel == nullptr || time.count <= 0) return {};
  const auto payload = static_cast<double>(worker.kernel->traffic(worker.shape).payload().count);
  const double rate = static_cast<double>(iterations) * payload / time.count;  // 1 B/ns is 1 GB/s
  const double loads = worker.kernel->loads_over_payload(worker.shape);
  return {.read_gb_per_s = rate * loads, .written_gb_per_s = rate * (1 - loads)};
}

// Whether the calling thread lost its core since this was made.
class Watch {
 public:
  [[nodiscard]] bool disturbed() const { return os::involuntary_switches() != switches_; }

 private:
  long switches_ = os::involuntary_switches();
};

// A counter that one thread writes and others read, on a line of its own.
struct alignas(64) Count {
  std::atomic<std::uint64_t> iterations{0};
};

// Threads that run beside what is timed until this is destroyed.
class Companions {
 public:
  explicit Companions(std::span<const Worker> wanted)
      : wanted_(wanted), counts_(wanted.size()), lanes_(wanted.size()) {
    for (const Worker& worker : wanted) make_ready(worker);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i].kernel != nullptr) lanes_[i] = lane_of(wanted[i]);
      threads_.start([this, i] { work(i); });
    }
    threads_.wait_for(static_cast<unsigned>(wanted.size()));
  }
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;
  ~Companions() {
    threads_.stop();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].kernel != nullptr) note_position(wanted_[i], lanes_[i]);
    }
  }

  void rethrow() {
    if (threads_.stopping()) threads_.join();
  }
  [[nodiscard]] std::vector<std::uint64_t> done() const {
    std::vector<std::uint64_t> counts;
    counts.reserve(counts_.size());
    for (const Count& count : counts_) {
      counts.push_back(count.iterations.load(std::memory_order_relaxed));
    }
    return counts;
  }
  [[nodiscard]] std::vector<Drawn> drawn_since(const std::vector<std::uint64_t>& before,
                                               Nanoseconds time) const {
    const auto now = done();
    std::vector<Drawn> all;
    for (std::size_t i = 0; i < now.size(); ++i) {
      all.push_back(drawn(wanted_[i], now[i] - before[i], time));
    }
    return all;
  }

 private:
  void work(std::size_t i) {
    const Worker& worker = wanted_[i];
    os::pin_thread(worker.cpu);
    threads_.arrive();
    if (worker.kernel == nullptr) {
      while (!threads_.stopping()) relax();
      return;
    }
    const std::uint64_t block = companion_iterations(worker);
    std::uint64_t sum = 0;
    std::uint64_t done = 0;
    while (!threads_.stopping()) {
      sum += worker.kernel->run(lanes_[i], block);
      done += block;
      counts_[i].iterations.store(done, std::memory_order_relaxed);
      rest(worker.pause);
    }
    sink.store(sum, std::memory_order_relaxed);
  }

  std::span<const Worker> wanted_;
  std::vector<Count> counts_;
  std::vector<Lane> lanes_;
  Threads threads_;
};

Timer measure_timer(Nanoseconds (*now)()) {
  constexpr std::size_t readings = 1001;
  std::array<double, readings> steps{};
  double smallest = 1e9;
  for (double& step : steps) {
    const Nanoseconds first = now();
    const Nanoseconds second = now();
    step = (second - first).count;
    if (step > 0) smallest = std::min(smallest, step);
  }
  std::nth_element(steps.begin(), steps.begin() + readings / 2, steps.end());
  return {.overhead = {steps[readings / 2]}, .resolution = {smallest}};
}

// Of one look at the system's clock.
Nanoseconds look_cost() {
  static const Timer measured = measure_timer([] { return os::wall_time(); });
  return measured.overhead;
}

// Runs `body(lane)` on the worker's CPU beside `beside`.
template <typename Body>
void run_alone(const Worker& worker, std::span<const Worker> beside, Body body) {
  if (worker.kernel == nullptr) throw std::invalid_argument("there is no kernel to time");
  make_ready(worker);
  Lane lane = lane_of(worker);
  Companions companions(beside);
  Threads threads;
  threads.start([&] {
    os::pin_thread(worker.cpu);
    sink.store(body(lane, companions), std::memory_order_relaxed);
  });
  threads.join();
  companions.rethrow();
  note_position(worker, lane);
}

}  // namespace

const Timer& timer() {
  static const Timer measured = measure_timer([] { return os::thread_cpu_time(); });
  return measured;
}

Timing time_alone(const Worker& worker, std::uint64_t iterations, std::uint64_t warm_up,
                  Nanoseconds least, std::span<const Worker> beside) {
  const Nanoseconds overhead = timer().overhead;
  Timing timing;
  run_alone(worker, beside, [&](Lane& lane, const Companions& companions) {
    const Kernel& kernel = *worker.kernel;
    const Nanoseconds begin = os::wall_time();
    const Nanoseconds warm_begin = os::thread_cpu_time();
    std::uint64_t sum = kernel.run(lane, warm_up);
    const Nanoseconds warmed = os::thread_cpu_time() - warm_begin;
    Nanoseconds took;
    Nanoseconds wall_end;
    auto stretch = [&](std::uint64_t count) {
      const Watch watch;
      const auto before = companions.done();
      const Nanoseconds wall = os::wall_time();
      const Nanoseconds start = os::thread_cpu_time();
      sum += kernel.run(lane, count);
      took = os::thread_cpu_time() - start - overhead;
      wall_end = os::wall_time();
      timing.beside = companions.drawn_since(before, wall_end - wall);
      timing.disturbed = watch.disturbed();
      timing.iterations = count;
    };
    // The warm-up tells how many iterations take so long.
    const double wanted =
        warm_up == 0 ? 0.0
                     : least.count / std::max(warmed.count, 1.0) * static_cast<double>(warm_up);
    stretch(std::max(iterations, static_cast<std::uint64_t>(wanted)));
    // A cold warm-up foretells too much; half of what was asked for will do.
    for (int longer = 0; longer < 3 && took.count < least.count / 2; ++longer) {
      const double growth = std::min(least.count / std::max(took.count, 1.0), most_growth);
      stretch(
          static_cast<std::uint64_t>(std::ceil(growth * static_cast<double>(timing.iterations))));
    }
    timing.in_loops = wall_end - begin;
    timing.per_iteration = {std::max(took.count, 0.0) / static_cast<double>(timing.iterations)};
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
  run_alone(worker, beside, [&](Lane& lane, const Companions& companions) {
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = worker.kernel->run(lane, warm_up);
    const auto rest_ticks =
        static_cast<std::uint64_t>(std::max(rest_time.count, 0.0) / clock.per_tick.count);
    const Watch watch;
    const auto before = companions.done();
    const Nanoseconds start = os::wall_time();
    sum += worker.kernel->each(lane, ticks, rest_ticks);
    const Nanoseconds end = os::wall_time();
    result.timing.beside = companions.drawn_since(before, end - start);
    result.timing.disturbed = watch.disturbed();
    result.timing.in_loops = end - begin;
    return sum;
  });
  result.ns.resize(accesses);
  for (std::uint64_t i = 0; i < accesses; ++i) {
    const double ns = ticks[i] * clock.per_tick.count - clock.overhead.count;
    result.ns[i] = static_cast<float>(std::max(ns, 0.0));
  }
  const double middle = middle_mean(std::move(ticks)) * clock.per_tick.count - clock.overhead.count;
  result.timing.per_iteration = {std::max(middle, 0.0)};
  result.timing.iterations = accesses;
  return result;
}

Together together(std::span<const Worker> workers, Nanoseconds duration, Nanoseconds warm_up,
                  bool by_clock) {
  const auto working = static_cast<unsigned>(std::ranges::count_if(
      workers, [](const Worker& worker) { return worker.kernel != nullptr; }));
  if (working == 0) throw std::invalid_argument("there is no kernel to time");
  for (const Worker& worker : workers) make_ready(worker);
  std::vector<Worker> timed;
  std::vector<Worker> spinning;
  for (const Worker& worker : workers) {
    (worker.kernel == nullptr ? spinning : timed).push_back(worker);
  }
  std::vector<Lane> lanes;
  lanes.reserve(timed.size());
  for (const Worker& worker : timed) lanes.push_back(lane_of(worker));
  std::vector<Drawn> moved(working);
  std::vector<Nanoseconds> in_loops(working);
  std::atomic<bool> disturbed{false};
  {
    const Companions spins(spinning);
    Threads threads;
    for (unsigned i = 0; i < working; ++i) {
      threads.start([&, i] {
        const Worker& worker = timed[i];
        os::pin_thread(worker.cpu);
        std::uint64_t block = companion_iterations(worker);
        std::uint64_t sum = 0;
        std::uint64_t looks = 0;
        auto run_for = [&](Nanoseconds time, bool grow) {
          const Nanoseconds begin = os::wall_time();
          std::uint64_t done = 0;
          Nanoseconds now = begin;
          do {
            sum += worker.kernel->run(lanes[i], block);
            done += block;
            rest(worker.pause);
            const Nanoseconds before = now;
            now = os::wall_time();
            ++looks;
            if (grow && worker.pause.count <= 0 && now < before + block_time) block *= 2;
          } while (now < begin + time && !threads.stopping());
          return std::pair{done, now - begin};
        };
        const Nanoseconds warmed = run_for(warm_up, true).second;
        threads.arrive();
        threads.wait_for(working);
        const Watch watch;
        const Nanoseconds start = os::thread_cpu_time();
        const auto [done, wall] = run_for(duration, false);
        const Nanoseconds cpu = os::thread_cpu_time() - start - timer().overhead;
        moved[i] = drawn(worker, done, working == 1 && !by_clock ? cpu : wall);
        if (watch.disturbed()) disturbed.store(true, std::memory_order_relaxed);
        const double looking = static_cast<double>(looks) * look_cost().count;
        in_loops[i] = {warmed.count + wall.count - looking};
        sink.store(sum, std::memory_order_relaxed);
      });
    }
    threads.join();
  }
  Together result{
      .each = {}, .in_loops = *std::ranges::min_element(in_loops), .disturbed = disturbed};
  unsigned next = 0;
  for (const Worker& worker : workers) {
    result.each.push_back(worker.kernel == nullptr ? Drawn{} : moved[next++]);
  }
  for (unsigned i = 0; i < working; ++i) note_position(timed[i], lanes[i]);
  return result;
}

}  // namespace nearfar::measure
