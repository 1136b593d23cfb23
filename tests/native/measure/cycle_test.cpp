#include "measure/cycle.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <stdexcept>

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

bool is_permutation_of_all(std::vector<std::uint32_t> order) {
  std::ranges::sort(order);
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != i) return false;
  }
  return true;
}

Shape blocks_of(std::uint64_t lines) { return {.access = cache_line * lines}; }

}  // namespace

TEST_CASE("an order holds every line once, for every length and block size") {
  for (std::uint64_t lines = 64; lines <= 260; lines += 7) {
    for (const std::uint64_t block : {1U, 2U, 3U, 7U, 64U}) {
      // Lines behind the last whole block are not visited.
      const auto order = chase_order(lines, blocks_of(block), true, lines);
      CHECK(order.size() == lines / block * block);
      CHECK(is_permutation_of_all(order));
    }
  }
  CHECK(is_permutation_of_all(chase_order(1 << 16, {}, true, 5)));
}

TEST_CASE("lines of a block follow each other") {
  constexpr std::uint64_t block = 64;
  const auto order = chase_order(1024, blocks_of(block), true, 3);
  std::set<std::uint64_t> blocks;
  for (std::size_t i = 0; i < order.size(); i += block) {
    CHECK(order[i] % block == 0);
    blocks.insert(order[i] / block);
    for (std::size_t j = 0; j < block; ++j) CHECK(order[i + j] == order[i] + j);
  }
  CHECK(blocks.size() == 16);
}

TEST_CASE("a strided order visits every stride, and nothing between") {
  const auto order = chase_order(1000, {.stride = 512_B}, true, 1);
  CHECK(order.size() == 125);
  for (const auto line : order) CHECK(line % 8 == 0);
  CHECK(std::set<std::uint32_t>(order.begin(), order.end()).size() == 125);
  const auto in_order = chase_order(1000, {.access = 128_B, .stride = 512_B}, false, 1);
  CHECK(in_order.size() == 250);
  for (std::size_t i = 0; i < in_order.size(); ++i) CHECK(in_order[i] == i / 2 * 8 + i % 2);
}

TEST_CASE("a windowed order leaves a window only when it has visited all of it") {
  const auto order = chase_order(1000, {.window = 4_KiB}, true, 1);
  CHECK(is_permutation_of_all(order));
  for (std::size_t i = 0; i < order.size(); ++i) CHECK(order[i] / 64 == i / 64);
  CHECK(!std::ranges::is_sorted(order.begin(), order.begin() + 64));
}

TEST_CASE("seeds differ, and one seed repeats") {
  CHECK(chase_order(1000, {}, true, 1) == chase_order(1000, {}, true, 1));
  CHECK(chase_order(1000, {}, true, 1) != chase_order(1000, {}, true, 2));
}

TEST_CASE("a random order has next to no short steps") {
  // In a random order of 10,000 lines, one line on average follows its neighbour.
  const auto order = chase_order(10000, {}, true, 9);
  int neighbours = 0;
  for (std::size_t i = 1; i < order.size(); ++i) neighbours += order[i] == order[i - 1] + 1;
  CHECK(neighbours < 10);
}

TEST_CASE("an order refuses too much and too little memory") {
  CHECK_THROWS_AS(chase_order(std::uint64_t{1} << 32U, {}, true, 1), std::length_error);
  CHECK_THROWS_AS(chase_order(3, blocks_of(4), true, 1), std::invalid_argument);
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

TEST_CASE("chains that fit visit no line twice, in their run and the next") {
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

TEST_CASE("jumping to a state equals stepping there") {
  std::uint64_t state = scatter_at(0);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    CHECK(scatter_at(i) == state);
    state = scatter_next(state);
  }
}
