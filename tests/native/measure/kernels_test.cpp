// Tests on every instruction set of this machine that each kernel does what it declares. New
// kernels are covered without changes here.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>
#include <vector>

#include "measure/kernel.hpp"
#include "measure/memory.hpp"

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

constexpr std::size_t words = 8;

// Returns memory with pairwise different words, so that a copy changes its target.
Memory memory_of(std::uint64_t lines) {
  Memory memory = Memory::anonymous(cache_line * lines, os::Pages::base, std::nullopt);
  auto* word = reinterpret_cast<std::uint64_t*>(memory.data());
  for (std::uint64_t i = 0; i < lines * words; ++i) word[i] = (i + 1) * 0x9E3779B97F4A7C15U;
  return memory;
}

Lane lane_on(Memory& memory, const Kernel& kernel, const Shape& shape = {}) {
  Lane lane{.base = memory.data(), .lines = memory.lines(), .shape = shape};
  if (kernel.links() == Links::none) return lane;
  memory.link(memory.size(), shape, kernel.links());
  const LinkSet* set = memory.linked(memory.size(), shape, kernel.links());
  REQUIRE(set != nullptr);
  lane.order = set->order.empty() ? nullptr : set->order.data();
  lane.visits = set->visits;
  lane.link = set->word;
  return lane;
}

std::vector<std::uint64_t> content(const Memory& memory) {
  std::vector<std::uint64_t> copied(memory.size().count / sizeof(std::uint64_t));
  std::memcpy(copied.data(), memory.data(), memory.size().count);
  return copied;
}

// Returns the iterations after which the kernel has touched each of its lines once.
std::uint64_t iterations_per_pass(const Kernel& kernel, const Memory& memory,
                                  const Shape& shape = {}) {
  return memory.size() / kernel.traffic(shape).touched();
}

std::set<std::size_t> lines_changed(const std::vector<std::uint64_t>& before,
                                    const std::vector<std::uint64_t>& after) {
  std::set<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed.insert(i / words);
  }
  return changed;
}

std::set<std::size_t> lines_written(const Kernel& kernel, const Shape& shape,
                                    std::uint64_t iterations, std::uint64_t lines,
                                    std::uint64_t position = 0) {
  Memory memory = memory_of(lines);
  Lane lane = lane_on(memory, kernel, shape);
  lane.position = position;
  const auto before = content(memory);
  kernel.run(lane, iterations);
  CHECK(lane.position == position + iterations);
  return lines_changed(before, content(memory));
}

// Checks every kernel on every instruction set that it supports.
template <typename Check>
void for_all(Check check) {
  for (const auto& operations : all_operations()) {
    CAPTURE(operations.name);
    for (const auto& entry : kernels()) {
      CAPTURE(entry.name);
      if (entry.kernel->missing(operations).empty()) check(*entry.kernel, operations);
    }
  }
}

}  // namespace

TEST_CASE("all kernels are registered, sorted by name") {
  std::vector<std::string> names;
  for (const auto& entry : kernels()) names.emplace_back(entry.name);
  CHECK(std::ranges::is_sorted(names));
  for (const char* name : {"chase",
                           "chase-sequential",
                           "chains",
                           "read",
                           "read-random",
                           "read-strided",
                           "write",
                           "write-random",
                           "write-strided",
                           "read-modify-write",
                           "read-modify-write-random",
                           "nt-store",
                           "nt-store-random",
                           "nt-store-strided",
                           "nt-load",
                           "copy",
                           "copy-nt",
                           "stream-copy",
                           "stream-scale",
                           "stream-add",
                           "stream-triad",
                           "stream-sum",
                           "gather",
                           "scatter",
                           "read-after-write",
                           "overwrite",
                           "mixed",
                           "mixed-nt",
                           "mixed-random",
                           "mixed-nt-random"}) {
    CAPTURE(name);
    CHECK(std::ranges::find(names, name) != names.end());
  }
  for (const char* flush : {"store", "nt-store", "clwb", "clflushopt", "clflush"}) {
    for (const char* order : {"", "-sequential"}) {
      CHECK_NOTHROW(kernel(std::string("persist-") + flush + order));
    }
  }
  CHECK_THROWS_AS(kernel("chasse"), std::out_of_range);
}

TEST_CASE("a kernel writes as many lines as it declares") {
  for_all([](const Kernel& kernel, const Operations& operations) {
    for (const std::uint64_t lines : {64U, 192U}) {  // a power of two and another number
      for (const std::uint64_t iterations : {1U, 5U, 0U}) {
        Memory memory = memory_of(lines);
        const std::uint64_t count =
            iterations == 0 ? iterations_per_pass(kernel, memory) : iterations;
        Lane lane = lane_on(memory, kernel, {.read_share = 0.5});
        const Traffic traffic = kernel.traffic(lane.shape);
        if (iterations != 0 && traffic.read.count % cache_line.count != 0) continue;
        lane.operations = &operations;
        const auto before = content(memory);
        kernel.run(lane, count);
        CHECK(lane.position == count);
        const std::uint64_t written = count * traffic.stored().count;
        CHECK(lines_changed(before, content(memory)).size() == written / cache_line.count);
      }
    }
  });
}

TEST_CASE("every line that a kernel declares as read changes its checksum or what it stores") {
  constexpr std::uint64_t lines = 64;
  for_all([](const Kernel& kernel, const Operations& operations) {
    const Traffic traffic = kernel.traffic({});
    // Reads of freshly written lines are not visible from outside.
    if (kernel.links() != Links::none || traffic.read.count == 0 || traffic.fences > 0) return;
    std::uint64_t seen = 0;
    Memory memory = memory_of(lines);
    const std::uint64_t pass = iterations_per_pass(kernel, memory);
    auto run = [&] {
      Lane lane = lane_on(memory, kernel);
      lane.operations = &operations;
      return kernel.run(lane, pass);
    };
    std::memset(memory.data(), 0, memory.size().count);
    const std::uint64_t plain = run();
    const auto stored = content(memory);
    for (std::uint64_t i = 0; i < lines; ++i) {
      std::memset(memory.data(), 0, memory.size().count);
      std::memset(memory.data() + i * cache_line.count, 0x5A, cache_line.count);
      const bool sum_differs = run() != plain;
      auto changed = lines_changed(stored, content(memory));
      changed.erase(i);
      seen += sum_differs || !changed.empty();
    }
    CHECK(seen == pass * traffic.read.count / cache_line.count);
  });
}

TEST_CASE("a chase returns to its start after all lines and not before") {
  constexpr std::uint64_t lines = 64;
  for (const char* name : {"chase", "chase-sequential"}) {
    CAPTURE(name);
    const Kernel& chase = kernel(name);
    Memory memory = memory_of(lines);
    std::set<std::uint64_t> visited;
    Lane lane = lane_on(memory, chase);
    for (std::uint64_t i = 0; i < lines; ++i) visited.insert(chase.run(lane, 1));
    CHECK(visited.size() == lines);
    Lane whole = lane_on(memory, chase);
    const std::uint64_t start = chase.run(whole, 0);
    CHECK(chase.run(whole, lines) == start);
    CHECK(chase.run(whole, lines / 2) != start);
  }
}

TEST_CASE("k chains together do the requested accesses") {
  Memory memory = memory_of(1024);
  for (unsigned chains = 1; chains <= 32; ++chains) {
    CAPTURE(chains);
    Lane lane = lane_on(memory, kernel("chains"));
    lane.chains = chains;
    const std::uint64_t steps = 5;
    const std::uint64_t sum = kernel("chains").run(lane, steps * chains);
    CHECK(lane.position == steps * chains);
    // Each chain ends where the next one began.
    std::uint64_t expected = 0;
    for (unsigned j = 1; j <= chains; ++j) expected += lane.order[(j * steps) % lane.visits];
    CHECK(sum == expected);
  }
}

TEST_CASE("accesses have the requested size, and a pass makes each once") {
  for (const char* name : {"write-random", "nt-store-random", "persist-nt-store", "overwrite",
                           "persist-store-sequential", "write", "nt-store"}) {
    CAPTURE(name);
    const Kernel& writes = kernel(name);
    if (!writes.missing(operations()).empty()) continue;
    const Shape shape{.access = 256_B};
    CHECK(writes.traffic(shape).stored() == 256_B);
    const auto written = lines_written(writes, shape, 5, 96);
    CHECK(written.size() == 20);
    for (const std::size_t line : written) CHECK(written.contains(line / 4 * 4));
    CHECK(lines_written(writes, shape, 24, 96).size() == 96);
  }
}

TEST_CASE("strided accesses are a stride apart and finally reach every line") {
  for (const char* name : {"write-strided", "nt-store-strided", "overwrite"}) {
    CAPTURE(name);
    const Kernel& writes = kernel(name);
    if (!writes.missing(operations()).empty()) continue;
    const Shape shape{.access = 128_B, .stride = 512_B};
    CHECK(lines_written(writes, shape, 3, 64) == std::set<std::size_t>{0, 1, 8, 9, 16, 17});
    // The second round over the region begins one access further on.
    CHECK(lines_written(writes, shape, 2, 64, 8) == std::set<std::size_t>{2, 3, 10, 11});
    CHECK(lines_written(writes, shape, 32, 64).size() == 64);
  }
}

TEST_CASE("windowed accesses touch a whole window before the next") {
  for (const char* name : {"write-random", "persist-store", "nt-store-random"}) {
    CAPTURE(name);
    const Kernel& writes = kernel(name);
    if (!writes.missing(operations()).empty()) continue;
    const Shape shape{.window = 1_KiB};
    for (std::uint64_t window = 0; window < 3; ++window) {
      const auto lines = lines_written(writes, shape, 16, 48, 16 * window);
      CHECK(lines.size() == 16);
      CHECK(*lines.begin() == 16 * window);
      CHECK(*lines.rbegin() == 16 * window + 15);
    }
    CHECK(lines_written(writes, shape, 8, 48).size() == 8);
  }
}

TEST_CASE("read-after-write returns what it wrote, window by window") {
  const Kernel& both = kernel("read-after-write");
  if (!both.missing(operations()).empty()) return;
  for (const Bytes window : {0_B, 512_B}) {
    const Shape shape{.access = 128_B, .window = window};
    Memory memory = memory_of(64);
    Lane lane = lane_on(memory, both, shape);
    // The i-th access writes i into all its 16 words.
    CHECK(both.run(lane, 8) == 16 * (1 + 2 + 3 + 4 + 5 + 6 + 7 + 8));
    CHECK(lane.position == 8);
  }
}

TEST_CASE("a mix has the requested read share, at any point and over a pass") {
  constexpr std::uint64_t lines = 6400;
  for (const char* name : {"mixed", "mixed-nt", "mixed-random", "mixed-nt-random"}) {
    CAPTURE(name);
    const Kernel& mixed = kernel(name);
    if (!mixed.missing(operations()).empty()) continue;
    for (const double share : {0.0, 0.1, 1.0 / 3, 0.5, 0.9, 1.0}) {
      CAPTURE(share);
      const Shape shape{.read_share = share};
      const auto expected = [&](std::uint64_t count) {
        return static_cast<double>(count) * (1 - share);
      };
      CHECK(static_cast<double>(lines_written(mixed, shape, lines, lines).size()) ==
            doctest::Approx(expected(lines)).epsilon(0.001));
      const auto begun = static_cast<double>(lines_written(mixed, shape, 1000, lines).size());
      CHECK(begun > expected(1000) - 1.5);
      CHECK(begun < expected(1000) + 1.5);
      CHECK(mixed.loads_over_payload(shape) == share);
      const auto declared = static_cast<double>(mixed.traffic(shape).read.count);
      CHECK(declared > 64 * share - 1);
      CHECK(declared <= 64 * share);
    }
  }
}

TEST_CASE("a kernel does the same in two short runs as in one long run") {
  for_all([](const Kernel& kernel, const Operations& operations) {
    if (kernel.traffic({}).stored().count != 0 || kernel.links() != Links::none) return;
    Memory memory = memory_of(96);
    Lane once = lane_on(memory, kernel);
    once.operations = &operations;
    Lane twice = once;
    const std::uint64_t sum = kernel.run(twice, 3) + kernel.run(twice, 4);
    CHECK(twice.position == 7);
    kernel.run(once, 7);
    CHECK(once.position == twice.position);
    CHECK(once.skipped == twice.skipped);
    CHECK(sum != 0);
  });
}

TEST_CASE("kernels copy to a second memory if they get one") {
  for_all([](const Kernel& kernel, const Operations& operations) {
    if (!kernel.has_target()) return;
    Memory from = memory_of(64);
    Memory to = memory_of(64);
    std::memset(to.data(), 0, to.size().count);
    Lane lane = lane_on(from, kernel);
    lane.operations = &operations;
    lane.target = to.data();
    const auto source = content(from);
    const Traffic traffic = kernel.traffic({});
    const std::uint64_t pass = from.size() / traffic.read;
    kernel.run(lane, pass);
    CHECK(content(from) == source);
    const auto changed = lines_changed(std::vector<std::uint64_t>(512, 0), content(to));
    CHECK(changed.size() == pass);
  });
}

TEST_CASE("single accesses are timed where the kernel can") {
  for_all([](const Kernel& kernel, const Operations& operations) {
    Memory memory = memory_of(64);
    Lane lane = lane_on(memory, kernel);
    lane.operations = &operations;
    std::vector<std::uint32_t> ticks(20, 0xFFFFFFFFU);
    if (!kernel.can_time_each()) {
      CHECK_THROWS_AS(kernel.each(lane, ticks, 0), std::logic_error);
      return;
    }
    const auto before = content(memory);
    kernel.each(lane, ticks, 10);
    CHECK(lane.position == 20);
    for (const std::uint32_t each : ticks) CHECK(each != 0xFFFFFFFFU);
    const std::uint64_t written = 20 * kernel.traffic({}).stored().count / cache_line.count;
    CHECK(lines_changed(before, content(memory)).size() == written);
  });
}

TEST_CASE("the read share counts what crosses the bus") {
  auto share = [](const char* name) { return kernel(name).traffic({}).read_share(); };
  CHECK(share("read") == 1.0);
  CHECK(share("nt-store") == 0.0);
  CHECK(share("copy-nt") == 0.5);
  CHECK(share("write") == 0.5);  // a store reads the line for ownership first
  CHECK(share("copy") == doctest::Approx(2.0 / 3));
  CHECK(share("stream-triad") == 0.75);
  CHECK(share("read-modify-write") == 0.5);  // the read already brought the line
}

TEST_CASE("kernels declare their flushes and fences") {
  const Shape shape{.access = 256_B, .fence_every = 4};
  const Traffic clwb = kernel("persist-clwb").traffic(shape);
  CHECK(clwb.flushed == 256_B);
  CHECK(clwb.fences == 0.25);
  CHECK(kernel("persist-nt-store").traffic(shape).flushed == 0_B);
  CHECK(kernel("read").traffic(shape).fences == 0);
}
