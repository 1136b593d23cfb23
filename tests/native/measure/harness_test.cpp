#include "measure/harness.hpp"

#include <doctest/doctest.h>
#include <sched.h>

#include <system_error>
#include <thread>
#include <vector>

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

unsigned some_cpu() { return static_cast<unsigned>(sched_getcpu()); }

constexpr unsigned no_such_cpu = 1000000;

Memory linked(Bytes size) {
  Memory memory = Memory::anonymous(size, os::Pages::base, std::nullopt);
  memory.link(1, 1);
  return memory;
}

}  // namespace

TEST_CASE("a timing is positive, and going on starts behind the run before") {
  Memory memory = linked(64_KiB);
  const Timing timing = time_alone(kernel("chase"), memory, 1000, 500, 1, some_cpu(), {});
  CHECK(timing.per_iteration.count > 0);
  CHECK(timing.companion_gb_per_s == 0);
  CHECK(memory.position == 1500);
}

TEST_CASE("companions draw bandwidth, spinning ones none") {
  Memory memory = linked(64_KiB);
  Memory buffer = Memory::anonymous(1_MiB, os::Pages::base, std::nullopt);
  const unsigned cpu = some_cpu();
  const std::vector<Companion> load{{.kernel = &kernel("read"), .memory = &buffer, .cpu = cpu}};
  // Both on one CPU, so long enough for the scheduler to let each run.
  const Timing timing = time_alone(kernel("chase"), memory, 20000000, 0, 1, cpu, load);
  CHECK(timing.companion_gb_per_s > 0);
  const std::vector<Companion> spin{{.cpu = cpu}};
  CHECK(time_alone(kernel("chase"), memory, 1000, 0, 1, cpu, spin).companion_gb_per_s == 0);
}

TEST_CASE("bandwidth of one and of several threads is positive") {
  Memory buffer = Memory::anonymous(1_MiB, os::Pages::base, std::nullopt);
  const unsigned cpu = some_cpu();
  for (const std::vector<unsigned>& cpus : {std::vector{cpu}, std::vector{cpu, cpu, cpu}}) {
    CHECK(bandwidth_gb_per_s(kernel("write"), buffer, cpus, {1e6}, {1e5}, {}) > 0);
  }
}

TEST_CASE("a CPU that is not there is an error of the caller, in the timed thread and beside it") {
  Memory memory = linked(64_KiB);
  CHECK_THROWS_AS(time_alone(kernel("chase"), memory, 1, 1, 1, no_such_cpu, {}), std::system_error);
  const std::vector<Companion> beside{{.cpu = no_such_cpu}};
  CHECK_THROWS_AS(time_alone(kernel("chase"), memory, 1, 1, 1, some_cpu(), beside),
                  std::system_error);
  const std::vector<unsigned> cpus{some_cpu(), no_such_cpu};
  CHECK_THROWS_AS(bandwidth_gb_per_s(kernel("read"), memory, cpus, {1e6}, {0}, {}),
                  std::system_error);
}

TEST_CASE("wrong use is refused") {
  Memory plain = Memory::anonymous(64_KiB, os::Pages::base, std::nullopt);
  CHECK_THROWS_AS(time_alone(kernel("chase"), plain, 1, 1, 1, some_cpu(), {}), std::logic_error);
  Memory memory = linked(64_KiB);
  CHECK_THROWS_AS(time_alone(kernel("chase"), memory, 1, 1, 2, some_cpu(), {}),
                  std::invalid_argument);
  CHECK_THROWS_AS(time_alone(kernel("chains"), memory, 1, 1, 33, some_cpu(), {}),
                  std::invalid_argument);
  CHECK_THROWS_AS(bandwidth_gb_per_s(kernel("read"), memory, {}, {1}, {1}, {}),
                  std::invalid_argument);
}

TEST_CASE("memory is as large as asked for, whatever its pages") {
  CHECK(Memory::anonymous(16_KiB, os::Pages::transparent_huge, std::nullopt).size() == 16_KiB);
  CHECK(Memory::anonymous(100_B, os::Pages::base, std::nullopt).size() == 128_B);
  CHECK_THROWS_AS(Memory::file(-1, 4_KiB, false), std::system_error);
}
