#include "measure/harness.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <utility>

#include "base/os.hpp"
#include "measure/lane.hpp"
#include "measure/pinned.hpp"
#include "measure/stretch.hpp"
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
// Of wall time, CPU time is at least one part in so many, or its clock steps by scheduler ticks (as
// in some virtual machines) and shows nothing of a short stretch: the next must not be endless.
constexpr double most_waiting = 20;

// Share of the time without its core from which a bandwidth is disturbed. One that works alone is
// timed by CPU time, and what it lost is lost for nobody; of several by the clock all of it counts.
constexpr double most_lost_alone = 0.75;
constexpr double most_lost_together = 0.02;

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
  [[nodiscard]] long switches() const { return os::involuntary_switches() - switches_; }

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
    threads_.sleep_until(static_cast<unsigned>(wanted.size()));
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
  // They stop at once, so that whoever goes on finds their cores free.
  void finish() {
    threads_.stop();
    threads_.join();
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

// Runs `body(lane)` on the worker's CPU beside `beside`, in the calling thread: to start another
// and to wait for it takes longer than 1 % of a sample wherever cores are busy.
template <typename Body>
void run_alone(const Worker& worker, std::span<const Worker> beside, Body body) {
  if (worker.kernel == nullptr) throw std::invalid_argument("there is no kernel to time");
  make_ready(worker);
  Lane lane = lane_of(worker);
  Companions companions(beside);
  companions.rethrow();
  {
    const Pinned pinned(worker.cpu);
    sink.store(body(lane, companions), std::memory_order_relaxed);
    companions.finish();
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

const Timer& timer() {
  static const Timer measured = measure_timer([] { return os::thread_cpu_time(); });
  return measured;
}

Timing time_alone(const Worker& worker, std::uint64_t iterations, const WarmUp& warm_up,
                  Nanoseconds least, std::span<const Worker> beside) {
  const Nanoseconds overhead = timer().overhead;
  Timing timing;
  run_alone(worker, beside, [&](Lane& lane, const Companions& companions) {
    const Kernel& kernel = *worker.kernel;
    const Nanoseconds begin = os::wall_time();
    std::uint64_t sum = 0;
    // Without warming up nothing is known of how long one takes: the stretch is in one part.
    Nanoseconds each{};
    if (warm_up.iterations > 0) each = warm(kernel, lane, warm_up.iterations, warm_up.pass, sum);
    Stretch stretch;
    auto time = [&](std::uint64_t count) {
      const std::uint64_t part = part_size(worker, count, each);
      const auto before = companions.done();
      stretch.begin();
      for (std::uint64_t done = 0; done < count;) {
        const std::uint64_t now = std::min(part, count - done);
        sum += kernel.run(lane, now);
        stretch.end_part(now, overhead);
        done += now;
      }
      timing.beside = companions.drawn_since(before, stretch.wall());
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
    Companions spins(spinning);
    spins.rethrow();
    Threads threads;
    auto work = [&](unsigned i) {
      const Worker& worker = timed[i];
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
      const Nanoseconds start = os::thread_cpu_time();
      const auto [done, wall] = run_for(duration, false);
      const Nanoseconds cpu = os::thread_cpu_time() - start - timer().overhead;
      const bool by_cpu = working == 1 && !by_clock;
      moved[i] = drawn(worker, done, by_cpu ? cpu : wall);
      const double most_lost = by_cpu ? most_lost_alone : most_lost_together;
      if (wall.count - cpu.count > most_lost * wall.count) {
        disturbed.store(true, std::memory_order_relaxed);
      }
      const double looking = static_cast<double>(looks) * look_cost().count;
      in_loops[i] = {warmed.count + wall.count - looking};
      sink.store(sum, std::memory_order_relaxed);
    };
    for (unsigned i = 1; i < working; ++i) {
      threads.start([&, i] {
        os::pin_thread(timed[i].cpu);
        work(i);
      });
    }
    const Pinned pinned(timed[0].cpu);
    work(0);
    threads.join();
    spins.finish();
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
