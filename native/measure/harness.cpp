#include "measure/harness.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include "base/os.hpp"
#include "measure/threads.hpp"

namespace nearfar::measure {
namespace {

// Between two looks at the clock: 64 KiB, about 5 us, against 25 ns for the look.
constexpr std::uint64_t block_lines = 1024;
// A companion rests after so many lines (2 KiB), so that its traffic is even at the scale of the
// 100 ns that a chased load takes.
constexpr std::uint64_t companion_lines = 32;

// What kernels return goes here, so that no work can be optimised away.
std::atomic<std::uint64_t> sink;

Lane lane_of(const Kernel& kernel, const Memory& memory, unsigned part, unsigned parts,
             unsigned chains) {
  if (kernel.needs_links()) {
    if (memory.order().empty()) throw std::logic_error("this kernel needs linked memory");
    // Several threads share the cycle, each in its own stretch.
    return {.base = memory.data(),
            .lines = memory.lines(),
            .order = memory.order().data(),
            .position = memory.position + memory.lines() / parts * part,
            .chains = chains};
  }
  const std::uint64_t lines = memory.lines() / parts;
  return {.base = memory.data() + part * lines * cache_line.count,
          .lines = lines,
          .order = nullptr,
          .position = memory.position,
          .chains = chains};
}

void check(const Kernel& kernel, unsigned chains) {
  if (chains < 1 || chains > kernel.max_chains()) {
    throw std::invalid_argument("this kernel has 1 to " + std::to_string(kernel.max_chains()) +
                                " chains");
  }
}

// A counter that one thread writes and others read, on a line of its own.
struct alignas(64) Count {
  std::atomic<std::uint64_t> lines{0};
};

class Companions {
 public:
  explicit Companions(std::span<const Companion> wanted) : wanted_(wanted), counts_(wanted.size()) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      threads_.start([this, i] { work(wanted_[i], counts_[i]); });
    }
    threads_.wait_for(static_cast<unsigned>(wanted.size()));
  }
  Companions(const Companions&) = delete;
  Companions& operator=(const Companions&) = delete;
  ~Companions() {
    threads_.stop();
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      // The next run goes on behind the one that came furthest.
      if (wanted_[i].memory != nullptr) {
        auto& position = wanted_[i].memory->position;
        position = std::max(position, counts_[i].lines.load());
      }
    }
  }

  void rethrow() {
    if (threads_.stopping()) threads_.join();
  }
  [[nodiscard]] double payload_bytes() const {
    double sum = 0;
    for (std::size_t i = 0; i < wanted_.size(); ++i) {
      if (wanted_[i].kernel == nullptr) continue;
      const auto payload = static_cast<double>(wanted_[i].kernel->traffic().payload().count);
      sum += payload * static_cast<double>(counts_[i].lines.load(std::memory_order_relaxed));
    }
    return sum;
  }

 private:
  void work(const Companion& companion, Count& count) {
    os::pin_thread(companion.cpu);
    if (companion.kernel == nullptr) {
      threads_.arrive();
      while (!threads_.stopping()) relax();
      return;
    }
    Lane lane = lane_of(*companion.kernel, *companion.memory, companion.part, companion.parts, 1);
    std::uint64_t sum = 0;
    std::uint64_t lines = lane.position;
    count.lines.store(lines, std::memory_order_relaxed);
    threads_.arrive();
    while (!threads_.stopping()) {
      sum += companion.kernel->run(lane, companion_lines);
      lines += companion_lines;
      count.lines.store(lines, std::memory_order_relaxed);
      if (companion.pause.count > 0) {
        const Nanoseconds end = os::wall_time() + companion.pause;
        while (os::wall_time() < end) relax();
      }
    }
    sink.store(sum, std::memory_order_relaxed);
  }

  std::span<const Companion> wanted_;
  std::vector<Count> counts_;
  Threads threads_;
};

Timer measure_timer() {
  constexpr std::size_t readings = 1001;
  std::array<double, readings> steps{};
  double smallest = 1e9;
  for (double& step : steps) {
    const Nanoseconds first = os::thread_cpu_time();
    const Nanoseconds second = os::thread_cpu_time();
    step = (second - first).count;
    if (step > 0) smallest = std::min(smallest, step);
  }
  std::nth_element(steps.begin(), steps.begin() + readings / 2, steps.end());
  return {.overhead = {steps[readings / 2]}, .resolution = {smallest}};
}

}  // namespace

const Timer& timer() {
  static const Timer measured = measure_timer();
  return measured;
}

Timing time_alone(const Kernel& kernel, Memory& memory, std::uint64_t iterations,
                  std::uint64_t warm_up, unsigned chains, unsigned cpu,
                  std::span<const Companion> wanted) {
  check(kernel, chains);
  const Nanoseconds overhead = timer().overhead;
  Timing timing;
  Threads threads;
  Companions companions(wanted);
  threads.start([&] {
    os::pin_thread(cpu);
    Lane lane = lane_of(kernel, memory, 0, 1, chains);
    std::uint64_t sum = kernel.run(lane, warm_up);
    const double drawn = companions.payload_bytes();
    const Nanoseconds wall = os::wall_time();
    const Nanoseconds start = os::thread_cpu_time();
    sum += kernel.run(lane, iterations);
    const Nanoseconds took = os::thread_cpu_time() - start - overhead;
    const Nanoseconds wall_took = os::wall_time() - wall;
    timing.companion_gb_per_s = (companions.payload_bytes() - drawn) / wall_took.count;
    timing.per_iteration = {std::max(took.count, 0.0) / static_cast<double>(iterations)};
    memory.position = lane.position;
    sink.store(sum, std::memory_order_relaxed);
  });
  threads.join();
  companions.rethrow();
  return timing;
}

double bandwidth_gb_per_s(const Kernel& kernel, Memory& memory, std::span<const unsigned> cpus,
                          Nanoseconds duration, Nanoseconds warm_up,
                          std::span<const Companion> wanted) {
  if (cpus.empty()) throw std::invalid_argument("bandwidth needs at least one CPU");
  const auto parts = static_cast<unsigned>(cpus.size());
  std::vector<double> lines_per_ns(parts, 0);
  std::vector<std::uint64_t> positions(parts, 0);
  Threads threads;
  Companions companions(wanted);
  for (unsigned part = 0; part < parts; ++part) {
    threads.start([&, part] {
      os::pin_thread(cpus[part]);
      Lane lane = lane_of(kernel, memory, part, parts, 1);
      std::uint64_t sum = 0;
      auto run_for = [&](Nanoseconds time) {
        const Nanoseconds begin = os::wall_time();
        std::uint64_t done = 0;
        Nanoseconds now = begin;
        do {
          sum += kernel.run(lane, block_lines);
          done += block_lines;
          now = os::wall_time();
        } while (now < begin + time && !threads.stopping());
        return std::pair{done, now - begin};
      };
      run_for(warm_up);
      threads.arrive();
      threads.wait_for(parts);
      const Nanoseconds start = os::thread_cpu_time();
      const auto [done, wall] = run_for(duration);
      const Nanoseconds cpu = os::thread_cpu_time() - start - timer().overhead;
      lines_per_ns[part] = static_cast<double>(done) / (parts == 1 ? cpu : wall).count;
      positions[part] = lane.position - (kernel.needs_links() ? memory.lines() / parts * part : 0);
      sink.store(sum, std::memory_order_relaxed);
    });
  }
  threads.join();
  companions.rethrow();
  memory.position = *std::ranges::max_element(positions);
  double sum = 0;
  for (const double rate : lines_per_ns) sum += rate;
  return sum * static_cast<double>(kernel.traffic().payload().count);  // 1 B/ns is 1 GB/s
}

}  // namespace nearfar::measure
