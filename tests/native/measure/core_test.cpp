#include <doctest/doctest.h>
#include <sched.h>

#include <algorithm>
#include <stdexcept>

#include "measure/core/code.hpp"
#include "measure/core/probe.hpp"

namespace nearfar::measure {
namespace {

constexpr Bytes chain{16U << 20U};

// One that this process may use: CPU 0 may be another's.
unsigned some_cpu() { return static_cast<unsigned>(sched_getcpu()); }

bool all_positive(const Trials& times) {
  return std::ranges::all_of(times, [](float ns) { return ns > 0; });
}

TEST_CASE("every named instruction and operation can be generated and takes time") {
  if (!missing_code().empty()) return;
  CoreProbe probe(chain, some_cpu(), 1);
  for (const std::string& filler : filler_names()) {
    CAPTURE(filler);
    CHECK(all_positive(probe.throughput(filler, 3)));
    CHECK(all_positive(probe.overlap({filler}, {0, 1, 64}, 2)));
  }
  for (const std::string& operation : operation_names()) {
    CAPTURE(operation);
    CHECK(all_positive(probe.dependent(operation, 3)));
  }
}

TEST_CASE("a probe returns a row of trials for each point") {
  if (!missing_code().empty()) return;
  CoreProbe probe(chain, some_cpu(), 1);
  CHECK(probe.overlap({"lea", "nop"}, {1, 2, 3}, 4).size() == 12);
  CHECK(probe.chains({1, 64}, 5).size() == 10);
  CHECK(probe.branches(6).size() == 12);
  CHECK(probe.after_stream(4, 64, 1, true, 7).size() == 7);
}

TEST_CASE("unknown instructions and sizes that do not fit are refused") {
  if (!missing_code().empty()) return;
  CoreProbe probe(chain, some_cpu(), 1);
  CHECK_THROWS_AS(probe.overlap({"no such"}, {1}, 1), std::invalid_argument);
  CHECK_THROWS_AS(probe.overlap({}, {1}, 1), std::invalid_argument);
  CHECK_THROWS_AS(probe.chains({65}, 1), std::invalid_argument);
  CHECK_THROWS_AS(probe.after_stream(0, 64, 1, false, 1), std::invalid_argument);
  CHECK_THROWS_AS(CoreProbe({1U << 20U}, some_cpu(), 1), std::invalid_argument);
  Memory memory = Memory::anonymous({1U << 20U}, os::Pages::base, std::nullopt);
  CHECK(spread_chase(memory, os::base_page, 256, some_cpu(), 3).size() == 3);
  CHECK_THROWS_AS(spread_chase(memory, os::base_page, 257, some_cpu(), 1), std::invalid_argument);
}

}  // namespace
}  // namespace nearfar::measure
