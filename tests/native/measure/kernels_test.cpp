// What every kernel declares, against what it does. A new kernel is judged by this as it is.
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

constexpr std::uint64_t lines = 64;
constexpr std::size_t words = 8;

Memory linked_page(std::uint64_t seed) {
  Memory memory = Memory::anonymous(4_KiB, os::Pages::base, std::nullopt);
  memory.link(1, seed);
  return memory;
}

Lane lane_on(Memory& memory) {
  return {.base = memory.data(),
          .lines = memory.lines(),
          .order = memory.order().data(),
          .position = 0,
          .chains = 1};
}

std::vector<std::uint64_t> content(const Memory& memory) {
  std::vector<std::uint64_t> words_now(memory.size().count / sizeof(std::uint64_t));
  std::memcpy(words_now.data(), memory.data(), memory.size().count);
  return words_now;
}

// Iterations after which every line the kernel would ever touch has been touched once.
std::uint64_t whole_pass(const Kernel& kernel) {
  return lines * cache_line.count / kernel.traffic().payload().count;
}

std::uint64_t lines_changed(const std::vector<std::uint64_t>& before,
                            const std::vector<std::uint64_t>& after) {
  std::set<std::size_t> changed;
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i] != after[i]) changed.insert(i / words);
  }
  return changed.size();
}

}  // namespace

TEST_CASE("the kernels of this version are there, sorted") {
  std::vector<std::string> names;
  for (const auto& entry : kernels()) names.emplace_back(entry.name);
  CHECK(std::ranges::is_sorted(names));
  for (const char* name : {"chase", "chase-sequential", "chains", "read", "read-random", "write",
                           "write-random", "nt-store", "nt-store-random", "copy"}) {
    CHECK(std::ranges::find(names, name) != names.end());
  }
  CHECK_THROWS_AS(kernel("chasse"), std::out_of_range);
}

TEST_CASE("a kernel writes as many lines as it declares, and each pass reaches all of them") {
  for (const auto& entry : kernels()) {
    CAPTURE(entry.name);
    const Traffic traffic = entry.kernel->traffic();
    const std::uint64_t written = (traffic.written + traffic.non_temporal).count;
    for (const std::uint64_t iterations :
         {std::uint64_t{1}, std::uint64_t{13}, whole_pass(*entry.kernel)}) {
      Memory memory = linked_page(1);
      const auto before = content(memory);
      Lane lane = lane_on(memory);
      entry.kernel->run(lane, iterations);
      CHECK(lane.position == iterations);
      CHECK(lines_changed(before, content(memory)) == iterations * written / cache_line.count);
    }
  }
}

TEST_CASE("what a kernel declares as read changes its checksum, line by line") {
  for (const auto& entry : kernels()) {
    CAPTURE(entry.name);
    const Kernel& kernel = *entry.kernel;
    if (kernel.needs_links() || kernel.traffic().read.count == 0) continue;
    std::uint64_t seen = 0;
    Memory memory = linked_page(1);
    std::memset(memory.data(), 0, memory.size().count);
    for (std::uint64_t i = 0; i < lines; ++i) {
      Lane lane = lane_on(memory);
      const std::uint64_t plain = kernel.run(lane, whole_pass(kernel));
      std::memset(memory.data() + i * cache_line.count, 0x5A, cache_line.count);
      lane.position = 0;
      seen += kernel.run(lane, whole_pass(kernel)) != plain;
      std::memset(memory.data(), 0, memory.size().count);
    }
    const Traffic traffic = kernel.traffic();
    CHECK(seen == whole_pass(kernel) * traffic.read.count / cache_line.count);
  }
}

TEST_CASE("a chase returns to where it began after all lines, and not before") {
  for (const char* name : {"chase", "chase-sequential"}) {
    CAPTURE(name);
    Memory memory = linked_page(7);
    std::set<std::uint64_t> visited;
    Lane lane = lane_on(memory);
    for (std::uint64_t i = 0; i < lines; ++i) visited.insert(kernel(name).run(lane, 1));
    CHECK(visited.size() == lines);
    Lane whole = lane_on(memory);
    const std::uint64_t start = kernel(name).run(whole, 0);
    CHECK(kernel(name).run(whole, lines) == start);
    CHECK(kernel(name).run(whole, lines / 2) != start);
  }
}

TEST_CASE("k chains together do the accesses they are asked for") {
  Memory memory = Memory::anonymous(64_KiB, os::Pages::base, std::nullopt);
  memory.link(1, 3);
  for (unsigned chains = 1; chains <= 32; ++chains) {
    CAPTURE(chains);
    Lane lane = lane_on(memory);
    lane.chains = chains;
    const std::uint64_t steps = 5;
    const std::uint64_t sum = kernel("chains").run(lane, steps * chains);
    CHECK(lane.position == steps * chains);
    // Each chain ends where the next one began.
    std::uint64_t expected = 0;
    for (unsigned j = 1; j <= chains; ++j) {
      expected += memory.order()[(j * steps) % memory.lines()] * cache_line.count;
    }
    CHECK(sum == expected);
  }
}

TEST_CASE("read share counts what crosses the bus") {
  CHECK(kernel("read").traffic().read_share() == 1.0);
  CHECK(kernel("nt-store").traffic().read_share() == 0.0);
  CHECK(kernel("copy").traffic().read_share() == 0.5);
  CHECK(kernel("write").traffic().read_share() == 0.5);  // lines are owned before they are written
}
