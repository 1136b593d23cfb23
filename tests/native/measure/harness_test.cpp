#include "measure/harness.hpp"

#include <doctest/doctest.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <system_error>
#include <thread>
#include <vector>

#include "measure/core_to_core.hpp"
#include "measure/ticks.hpp"

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

unsigned current_cpu() { return static_cast<unsigned>(sched_getcpu()); }

constexpr unsigned missing_cpu = 1000000;

Memory memory_of(Bytes size) { return Memory::anonymous(size, os::Pages::base, std::nullopt); }

Worker worker_of(const char* name, Memory& memory) {
  return {.cpu = current_cpu(), .kernel = &kernel(name), .memory = &memory};
}

// Begins a while after its thread.
class SlowStart final : public Kernel {
 public:
  explicit SlowStart(std::atomic<bool>& begun) : begun_(begun) {}
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access};
  }
  std::uint64_t run(Lane& /*lane*/, std::uint64_t /*iterations*/) const override {
    if (!begun_) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    begun_ = true;
    return 0;
  }

 private:
  std::atomic<bool>& begun_;
};

// Counts its runs, and those before the other kernel began.
class AfterStart final : public Kernel {
 public:
  explicit AfterStart(const std::atomic<bool>& begun) : begun_(begun) {}
  [[nodiscard]] Traffic traffic(const Shape& shape) const override {
    return {.read = shape.access};
  }
  std::uint64_t run(Lane& /*lane*/, std::uint64_t /*iterations*/) const override {
    ++runs;
    if (!begun_) ++early;
    return 0;
  }
  mutable int runs = 0;
  mutable int early = 0;

 private:
  const std::atomic<bool>& begun_;
};

}  // namespace

TEST_CASE("a timing is positive, and the next run continues where the last one ended") {
  Memory memory = memory_of(64_KiB);
  const Timing timing = time_alone(worker_of("chase", memory), 1000, {500}, {0}, {});
  CHECK(timing.per_iteration.count > 0);
  CHECK(timing.iterations == 1000);
  CHECK(timing.in_loops.count > 0);
  CHECK(timing.beside.empty());
  CHECK(memory.linked(64_KiB, {}, Links::random)->position == 1500);
}

TEST_CASE("a run is lengthened until it takes the minimum time") {
  Memory memory = memory_of(16_KiB);
  const Timing timing = time_alone(worker_of("chase", memory), 1000, {0}, {2e6}, {});
  CHECK(timing.iterations > 1000);
  CHECK(timing.in_loops.count > 1e6);
}

TEST_CASE("loading workers move data, spinning workers move none") {
  Memory memory = memory_of(64_KiB);
  Memory buffer = memory_of(1_MiB);
  const Worker chase = worker_of("chase", memory);
  const std::vector<Worker> load{worker_of("read", buffer)};
  // Both share a CPU: the run is long enough for the scheduler to run each of them.
  const Timing timing = time_alone(chase, 20000000, {0}, {0}, load);
  REQUIRE(timing.beside.size() == 1);
  CHECK(timing.beside[0].read_gb_per_s > 0);
  CHECK(timing.beside[0].written_gb_per_s == 0);
  const std::vector<Worker> spin{{.cpu = chase.cpu}};
  CHECK(time_alone(chase, 1000, {0}, {0}, spin).beside[0].total() == 0);
}

TEST_CASE("a kernel warms up beside load that has begun") {
  std::atomic<bool> begun{false};
  Memory memory = memory_of(64_KiB);
  Memory buffer = memory_of(64_KiB);
  const SlowStart slow(begun);
  const AfterStart after(begun);
  Worker worker{.cpu = current_cpu(), .kernel = &after, .memory = &memory};
  const std::vector<Worker> load{{.cpu = current_cpu(), .kernel = &slow, .memory = &buffer}};
  time_alone(worker, 1, {1}, {0}, load);
  CHECK(after.runs > 0);
  CHECK(after.early == 0);
}

TEST_CASE("every access is timed, also under load") {
  Memory memory = memory_of(64_KiB);
  Memory buffer = memory_of(1_MiB);
  for (const char* name : {"chase", "read-random", "persist-store", "read-modify-write-random"}) {
    CAPTURE(name);
    Memory& used = std::string_view(name) == "chase" ? memory : buffer;
    const EachTiming timed = time_each(worker_of(name, used), 1000, 100, {50}, {});
    CHECK(timed.ns.size() == 1000);
    CHECK(std::ranges::all_of(timed.ns, [](float ns) { return ns >= 0; }));
    CHECK(std::ranges::any_of(timed.ns, [](float ns) { return ns > 0; }));
    CHECK(timed.timing.iterations == 1000);
  }
  const std::vector<Worker> load{worker_of("read", buffer)};
  CHECK(time_each(worker_of("chase", memory), 100, 0, {0}, load).timing.beside.size() == 1);
}

TEST_CASE("the clock of single accesses is calibrated") {
  const TickClock& clock = tick_clock();
  CHECK(clock.per_tick.count > 0.01);
  CHECK(clock.per_tick.count < 1000);
  CHECK(clock.overhead.count >= 0);
  CHECK(clock.resolution >= clock.per_tick);
  // The tick clock agrees with the wall clock over ten milliseconds.
  const Nanoseconds start = os::wall_time();
  const std::uint64_t first = ticks_before();
  while (os::wall_time() < start + Nanoseconds{10e6}) {
  }
  const auto ticks = static_cast<double>(ticks_after() - first);
  const double wall = (os::wall_time() - start).count;
  CHECK(ticks * clock.per_tick.count == doctest::Approx(wall).epsilon(0.01));
}

TEST_CASE("the middle mean ignores outliers and is finer than the clock's resolution") {
  std::vector<std::uint32_t> ticks{0, 4, 1000000, 4, 5, 5, 5, 0};
  CHECK(middle_mean(ticks) == doctest::Approx(4.5));
}

TEST_CASE("parallel workers each get their own bandwidth") {
  Memory buffer = memory_of(1_MiB);
  Memory other = memory_of(1_MiB);
  std::vector<Worker> workers;
  for (unsigned part = 0; part < 3; ++part) {
    Worker worker = worker_of("write", buffer);
    worker.part = part;
    worker.parts = 3;
    workers.push_back(worker);
  }
  workers.push_back({.cpu = current_cpu()});
  Worker copy = worker_of("copy", buffer);
  copy.second = &other;
  workers.push_back(copy);
  const ParallelTiming result = together(workers, {2e6}, {1e5});
  REQUIRE(result.each.size() == 5);
  for (unsigned part = 0; part < 3; ++part) {
    CHECK(result.each[part].written_gb_per_s > 0);
    CHECK(result.each[part].read_gb_per_s == 0);
  }
  CHECK(result.each[3].total() == 0);
  CHECK(result.each[4].read_gb_per_s == doctest::Approx(result.each[4].written_gb_per_s));
  CHECK(result.in_loops.count > 0);
}

TEST_CASE("non-temporal copies copy no zeros, and keep links and a file's content") {
  const auto zeros = [](const Memory& memory, Bytes size) {
    const auto* words = reinterpret_cast<const std::uint64_t*>(memory.data());
    return std::count(words, words + size.count / sizeof *words, 0U);
  };
  for (const char* name : {"copy-nt", "stream-triad-nt", "triad-nt"}) {
    CAPTURE(name);
    if (!kernel(name).missing(operations()).empty()) continue;
    Memory source = memory_of(64_KiB);
    Memory target = memory_of(64_KiB);
    source.link(64_KiB, {}, Links::random);
    Worker worker = worker_of(name, source);
    worker.second = &target;
    worker.region = 32_KiB;
    time_alone(worker, 512, {0}, {0}, {});
    CHECK(zeros(source, 32_KiB) == 0);
    CHECK(zeros(source, 64_KiB) > 0);
    time_alone(worker_of("chase", source), 1024, {0}, {0}, {});  // a lost link would crash

    const int file = memfd_create("nearfar-test", MFD_CLOEXEC);
    REQUIRE(file >= 0);
    REQUIRE(ftruncate(file, 1 << 16) == 0);
    Memory of_file = Memory::file(file, 64_KiB, false);
    close(file);
    worker.memory = &of_file;
    time_alone(worker, 512, {0}, {0}, {});
    CHECK(zeros(of_file, 64_KiB) == (1 << 16) / 8);
  }
}

TEST_CASE("a pause slows a worker down") {
  Memory buffer = memory_of(1_MiB);
  Worker worker = worker_of("read", buffer);
  const double full = together(std::vector{worker}, {2e6}, {1e5}).each[0].total();
  worker.pause = {20000};
  CHECK(together(std::vector{worker}, {2e6}, {1e5}).each[0].total() < full / 2);
}

TEST_CASE("a missing CPU throws, in the timed thread and in its load") {
  Memory memory = memory_of(64_KiB);
  Worker lost = worker_of("chase", memory);
  lost.cpu = missing_cpu;
  CHECK_THROWS_AS(time_alone(lost, 1, {1}, {0}, {}), std::system_error);
  CHECK_THROWS_AS(time_each(lost, 1, 1, {0}, {}), std::system_error);
  const std::vector<Worker> beside{{.cpu = missing_cpu}};
  CHECK_THROWS_AS(time_alone(worker_of("chase", memory), 1, {1}, {0}, beside), std::system_error);
  const std::vector<Worker> both{worker_of("chase", memory), lost};
  CHECK_THROWS_AS(together(both, {1e6}, {0}), std::system_error);
  Memory small = memory_of(4_KiB);
  CHECK_THROWS_AS(core_to_core(current_cpu(), missing_cpu, small), std::system_error);
}

TEST_CASE("invalid workers are refused") {
  Memory memory = memory_of(64_KiB);
  auto refused = [&](auto change) {
    Worker worker = worker_of("chase", memory);
    change(worker);
    CHECK_THROWS_AS(time_alone(worker, 1, {1}, {0}, {}), std::invalid_argument);
    CHECK_THROWS_AS(together(std::vector{worker}, {1e5}, {0}), std::invalid_argument);
  };
  refused([](Worker& worker) { worker.chains = 2; });
  refused([](Worker& worker) {
    worker.kernel = &kernel("chains");
    worker.chains = 33;
  });
  refused([](Worker& worker) { worker.kernel = nullptr; });
  refused([](Worker& worker) { worker.memory = nullptr; });
  refused([](Worker& worker) { worker.region = 1_MiB; });
  refused([](Worker& worker) { worker.shape.access = 1_B; });
  refused([&](Worker& worker) { worker.second = &memory; });
  refused([](Worker& worker) {
    worker.kernel = &kernel("read");
    worker.part = 1;
  });
  refused([](Worker& worker) {
    worker.kernel = &kernel("read");
    worker.shape.access = 16_KiB;
  });
  CHECK_THROWS_AS(time_each(worker_of("read", memory), 10, 0, {0}, {}), std::logic_error);
  CHECK_THROWS_AS(core_to_core(0, 0, memory), std::invalid_argument);
}

TEST_CASE("a line passes between two cores, modified and clean") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(sched_getaffinity(0, sizeof(allowed), &allowed) == 0);
  std::vector<unsigned> cpus;
  for (unsigned cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu) {
    if (CPU_ISSET(cpu, &allowed)) cpus.push_back(cpu);
  }
  if (cpus.size() < 2) return;  // the machine has no second CPU
  Memory memory = memory_of(64_KiB);
  const HandOff result = core_to_core(cpus[0], cpus[1], memory);
  CHECK(result.line.count > 0);
  CHECK(result.modified.count > 0);
  CHECK(result.clean.count >= 0);
}

TEST_CASE("a timing leaves the caller's CPU affinity unchanged") {
  cpu_set_t before;
  cpu_set_t after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  Memory memory = memory_of(64_KiB);
  time_alone(worker_of("chase", memory), 100, {100}, {0}, {});
  together(std::vector{worker_of("read", memory)}, {1e5}, {1e4});
  CHECK_THROWS(time_alone({.cpu = missing_cpu, .kernel = &kernel("chase"), .memory = &memory}, 1,
                          {1}, {0}, {}));
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("a warm-up ends once a pass is no faster, and at its limit at the latest") {
  Memory memory = memory_of(64_KiB);
  const Worker worker = worker_of("chase", memory);
  // A chase in L1 reaches its speed by the second pass, unless another process disturbs it.
  time_alone(worker, 1000, {.iterations = 1'000'000, .pass = 10'000}, {0}, {});
  const std::uint64_t position = memory.linked(64_KiB, {}, Links::random)->position;
  CHECK(position >= 2 * 10'000 + 1000);
  CHECK(position <= 1'001'000);
}

TEST_CASE("context switches are counted, and their time is left out") {
  Memory memory = memory_of(16_KiB);
  const Worker worker = worker_of("chase", memory);
  const std::vector<Worker> same_core{{.cpu = worker.cpu}};
  // The scheduler's slices last some milliseconds, far less than the 60 ms run.
  const Timing timing = time_alone(worker, 1000, {10'000}, {60e6}, same_core);
  CHECK(timing.switches > 0);
  // The other thread had at least half of the time.
  const double timed_ns = timing.per_iteration.count * static_cast<double>(timing.iterations);
  CHECK(timed_ns < 0.9 * timing.in_loops.count);
}
