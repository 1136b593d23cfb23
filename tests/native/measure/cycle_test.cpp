#include "measure/cycle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <numeric>
#include <set>

using namespace nearfar::measure;

namespace {

bool holds_each_once(std::vector<std::uint32_t> order) {
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

}  // namespace

TEST_CASE("an order holds every line once, for every length and block size") {
  for (std::uint64_t lines = 1; lines <= 130; ++lines) {
    for (const std::uint64_t block : {1U, 2U, 3U, 7U, 64U, 200U}) {
      const auto order = random_order(lines, block, lines);
      CHECK(order.size() == lines);
      CHECK(holds_each_once(order));
    }
  }
  CHECK(holds_each_once(random_order(1 << 16, 1, 5)));
}

TEST_CASE("lines of a block follow each other") {
  constexpr std::uint64_t block = 64;
  const auto order = random_order(1000, block, 3);  // the last block is partial: 40 lines
  std::size_t i = 0;
  while (i < order.size()) {
    const auto number = order[i] / block;
    const std::size_t size = number == 15 ? 40 : block;
    for (std::size_t j = i; j < i + size; ++j) CHECK(order[j] / block == number);
    i += size;
  }
}

TEST_CASE("seeds differ, and one seed repeats") {
  CHECK(random_order(1000, 1, 1) == random_order(1000, 1, 1));
  CHECK(random_order(1000, 1, 1) != random_order(1000, 1, 2));
}

TEST_CASE("a random order has no short steps to speak of") {
  // Of 10,000 shuffled lines 2 in 10,000 follow their neighbour; a prefetcher's feast has more.
  const auto order = random_order(10000, 1, 9);
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  CHECK(neighbours < 10);
}

TEST_CASE("chains are equally spaced") {
  for (unsigned chains = 1; chains <= 32; ++chains) {
    for (const std::uint64_t steps : {1U, 10U, 100U, 100000U}) {
      constexpr std::uint64_t lines = 4096;
      const auto starts = chain_starts(lines, chains, steps, 77);
      REQUIRE(starts.size() == chains);
      CHECK(starts[0] == 77);
      const std::uint64_t spacing = steps * chains <= lines ? steps : lines / chains;
      for (unsigned j = 1; j < chains; ++j) {
        CHECK((starts[j] + lines - starts[j - 1]) % lines == spacing % lines);
      }
    }
  }
}

TEST_CASE("chains that fit visit no line twice, and the next run none of theirs") {
  constexpr std::uint64_t lines = 1000;
  std::set<std::uint64_t> visited;
  std::uint64_t position = 0;
  for (const unsigned chains : {1U, 2U, 3U, 4U, 6U, 8U}) {
    const std::uint64_t steps = 100 / chains;
    for (const std::uint64_t start : chain_starts(lines, chains, steps, position)) {
      for (std::uint64_t i = 0; i < steps; ++i) CHECK(visited.insert((start + i) % lines).second);
    }
    position += steps * chains;
  }
}

TEST_CASE("the low bits of a scattered sequence take every value, for every number of bits") {
  for (unsigned bits = 0; bits <= 14; ++bits) {
    const std::uint64_t lines = std::uint64_t{1} << bits;
    std::set<std::uint64_t> seen;
    for (std::uint64_t i = 0; i < lines; ++i) seen.insert(scatter_at(1000 + i) & (lines - 1));
    CHECK(seen.size() == lines);
  }
}

TEST_CASE("jumping to a state is stepping there") {
  std::uint64_t state = scatter_at(0);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    CHECK(scatter_at(i) == state);
    state = scatter_next(state);
  }
}
