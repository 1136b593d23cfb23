#include "measure/harness.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <system_error>
#include <vector>

#include "measure/core_to_core.hpp"
#include "measure/ticks.hpp"

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

unsigned some_cpu() { return static_cast<unsigned>(sched_getcpu()); }

constexpr unsigned no_such_cpu = 1000000;

Memory memory_of(Bytes size) { return Memory::anonymous(size, os::Pages::base, std::nullopt); }

Worker worker_of(const char* name, Memory& memory) {
  return {.cpu = some_cpu(), .kernel = &kernel(name), .memory = &memory};
}

}  // namespace

TEST_CASE("a timing is positive, and going on starts behind the run before") {
  Memory memory = memory_of(64_KiB);
  const Timing timing = time_alone(worker_of("chase", memory), 1000, {500}, {0}, {});
  CHECK(timing.per_iteration.count > 0);
  CHECK(timing.iterations == 1000);
  CHECK(timing.in_loops.count > 0);
  CHECK(timing.beside.empty());
  CHECK(memory.linked(64_KiB, {}, Links::random)->position == 1500);
}

TEST_CASE("a stretch is lengthened until it takes the least time") {
  Memory memory = memory_of(16_KiB);
  const Timing timing = time_alone(worker_of("chase", memory), 1000, {0}, {2e6}, {});
  CHECK(timing.iterations > 1000);
  CHECK(timing.in_loops.count > 1e6);
}

TEST_CASE("companions draw bandwidth, spinning ones none") {
  Memory memory = memory_of(64_KiB);
  Memory buffer = memory_of(1_MiB);
  const Worker chase = worker_of("chase", memory);
  const std::vector<Worker> load{worker_of("read", buffer)};
  // Both on one CPU, so long enough for the scheduler to let each run.
  const Timing timing = time_alone(chase, 20000000, {0}, {0}, load);
  REQUIRE(timing.beside.size() == 1);
  CHECK(timing.beside[0].read_gb_per_s > 0);
  CHECK(timing.beside[0].written_gb_per_s == 0);
  const std::vector<Worker> spin{{.cpu = chase.cpu}};
  CHECK(time_alone(chase, 1000, {0}, {0}, spin).beside[0].total() == 0);
}

TEST_CASE("every access is timed, also beside a load") {
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

TEST_CASE("the clock of single accesses is calibrated, and its cost is more than nothing") {
  const TickClock& clock = tick_clock();
  CHECK(clock.per_tick.count > 0.01);
  CHECK(clock.per_tick.count < 1000);
  CHECK(clock.overhead.count >= 0);
  CHECK(clock.resolution >= clock.per_tick);
  // Against another clock: ten milliseconds are ten milliseconds.
  const Nanoseconds start = os::wall_time();
  const std::uint64_t first = ticks_before();
  while (os::wall_time() < start + Nanoseconds{10e6}) {
  }
  const auto ticks = static_cast<double>(ticks_after() - first);
  const double wall = (os::wall_time() - start).count;
  CHECK(ticks * clock.per_tick.count == doctest::Approx(wall).epsilon(0.01));
}

TEST_CASE("the middle mean leaves outliers out and is finer than the clock") {
  std::vector<std::uint32_t> ticks{0, 4, 1000000, 4, 5, 5, 5, 0};
  CHECK(middle_mean(ticks) == doctest::Approx(4.5));
}

TEST_CASE("together, each worker is told what it moved") {
  Memory buffer = memory_of(1_MiB);
  Memory other = memory_of(1_MiB);
  std::vector<Worker> workers;
  for (unsigned part = 0; part < 3; ++part) {
    Worker worker = worker_of("write", buffer);
    worker.part = part;
    worker.parts = 3;
    workers.push_back(worker);
  }
  workers.push_back({.cpu = some_cpu()});
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

TEST_CASE("a pause slows a worker down") {
  Memory buffer = memory_of(1_MiB);
  Worker worker = worker_of("read", buffer);
  const double full = together(std::vector{worker}, {2e6}, {1e5}).each[0].total();
  worker.pause = {20000};
  CHECK(together(std::vector{worker}, {2e6}, {1e5}).each[0].total() < full / 2);
}

TEST_CASE("a CPU that is not there is an error of the caller, in the timed thread and beside it") {
  Memory memory = memory_of(64_KiB);
  Worker lost = worker_of("chase", memory);
  lost.cpu = no_such_cpu;
  CHECK_THROWS_AS(time_alone(lost, 1, {1}, {0}, {}), std::system_error);
  CHECK_THROWS_AS(time_each(lost, 1, 1, {0}, {}), std::system_error);
  const std::vector<Worker> beside{{.cpu = no_such_cpu}};
  CHECK_THROWS_AS(time_alone(worker_of("chase", memory), 1, {1}, {0}, beside), std::system_error);
  const std::vector<Worker> both{worker_of("chase", memory), lost};
  CHECK_THROWS_AS(together(both, {1e6}, {0}), std::system_error);
  Memory small = memory_of(4_KiB);
  CHECK_THROWS_AS(core_to_core(some_cpu(), no_such_cpu, small), std::system_error);
}

TEST_CASE("wrong use is refused") {
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
  if (cpus.size() < 2) return;  // nothing to pass it to
  Memory memory = memory_of(64_KiB);
  const HandOff result = core_to_core(cpus[0], cpus[1], memory);
  CHECK(result.line.count > 0);
  CHECK(result.modified.count > 0);
  CHECK(result.clean.count >= 0);
}

TEST_CASE("whoever asked for a timing may run where it could before") {
  cpu_set_t before;
  cpu_set_t after;
  REQUIRE(sched_getaffinity(0, sizeof before, &before) == 0);
  Memory memory = memory_of(64_KiB);
  time_alone(worker_of("chase", memory), 100, {100}, {0}, {});
  together(std::vector{worker_of("read", memory)}, {1e5}, {1e4});
  CHECK_THROWS(time_alone({.cpu = no_such_cpu, .kernel = &kernel("chase"), .memory = &memory}, 1,
                          {1}, {0}, {}));
  REQUIRE(sched_getaffinity(0, sizeof after, &after) == 0);
  CHECK(CPU_EQUAL(&before, &after));
}

TEST_CASE("a warm-up in passes ends once one is no faster, and never later than told") {
  Memory memory = memory_of(64_KiB);
  const Worker worker = worker_of("chase", memory);
  // A chase in the first caches is as fast from the second pass on, give or take a neighbour.
  time_alone(worker, 1000, {.iterations = 1'000'000, .pass = 10'000}, {0}, {});
  const std::uint64_t position = memory.linked(64_KiB, {}, Links::random)->position;
  CHECK(position >= 2 * 10'000 + 1000);
  CHECK(position <= 1'001'000);
}

TEST_CASE("switches are counted, and what they take is not timed") {
  Memory memory = memory_of(16_KiB);
  const Worker worker = worker_of("chase", memory);
  const std::vector<Worker> same_core{{.cpu = worker.cpu}};
  // 60 ms of its own: a scheduler's slices are some milliseconds.
  const Timing timing = time_alone(worker, 1000, {10'000}, {60e6}, same_core);
  CHECK(timing.switches > 0);
  // Half of the time and more was the other's.
  const double all = timing.per_iteration.count * static_cast<double>(timing.iterations);
  CHECK(all < 0.9 * timing.in_loops.count);
}
