// Compares caches and buffers with closed forms, and every instruction set with the scalar form.
#include "sim/device/blocks.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using nearfar::sim::Avx2;
using nearfar::sim::Avx512;
using nearfar::sim::Blocks;
using nearfar::sim::Isa;
using nearfar::sim::LookupResult;
using nearfar::sim::Replacement;
using nearfar::sim::Scalar;
using nearfar::sim::Shape;
using nearfar::sim::usable_isas;

namespace {

LookupResult access(Blocks& blocks, Isa isa, std::uint32_t block, bool write) {
  if (isa == Isa::avx512) return blocks.access<Avx512>(block, write);
  if (isa == Isa::avx2) return blocks.access<Avx2>(block, write);
  return blocks.access<Scalar>(block, write);
}

double hit_share_of_last_sweep(const Shape& shape, std::uint32_t blocks, unsigned sweeps = 1) {
  Blocks cache(shape);
  std::uint32_t hits = 0;
  for (unsigned sweep = 0; sweep <= sweeps; ++sweep) {
    hits = 0;
    for (std::uint32_t i = 0; i < blocks; ++i) hits += cache.access<Scalar>(i, false).hit ? 1 : 0;
  }
  return static_cast<double>(hits) / blocks;
}

}  // namespace

TEST_CASE("LRU always hits in a sweep that fits and never in a longer one") {
  const std::vector<Shape> shapes{{.sets = 1, .ways = 2},   {.sets = 1, .ways = 16},
                                  {.sets = 1, .ways = 100}, {.sets = 1, .ways = 5000},
                                  {.sets = 64, .ways = 8},  {.sets = 48, .ways = 12}};
  for (const Shape& shape : shapes) {
    CAPTURE(shape.sets);
    CAPTURE(shape.ways);
    const std::uint32_t blocks = shape.sets * shape.ways;
    CHECK(hit_share_of_last_sweep(shape, blocks) == 1.0);
    // In a single set one more block makes every access miss.
    if (shape.sets == 1) CHECK(hit_share_of_last_sweep(shape, blocks + 1) == 0.0);
    CHECK(hit_share_of_last_sweep(shape, blocks + shape.sets) == 0.0);
  }
}

TEST_CASE(
    "a sweep over twice the capacity hits with random replacement as the fixed point predicts") {
  // Between two visits of a block of a cyclic sweep over n there are (n - 1) m misses, each of
  // which evicts it with probability 1/C: h = (1 - 1/C)^((n - 1)(1 - h)).
  for (const std::uint32_t capacity : {64U, 100U, 1000U}) {
    const std::uint32_t n = 2 * capacity;
    double h = 0.5;
    for (int i = 0; i < 200; ++i) h = std::pow(1 - 1.0 / capacity, (n - 1) * (1 - h));
    Blocks cache({.sets = 1, .ways = capacity, .replacement = Replacement::random});
    std::uint64_t hits = 0;
    const std::uint64_t accesses = 400ULL * n;
    for (std::uint64_t i = 0; i < accesses; ++i) {
      hits += cache.access<Scalar>(static_cast<std::uint32_t>(i % n), false).hit ? 1 : 0;
    }
    CAPTURE(capacity);
    CHECK(static_cast<double>(hits) / static_cast<double>(accesses) ==
          doctest::Approx(h).epsilon(0.03));
  }
}

TEST_CASE("every instruction set agrees with the scalar form") {
  for (const Isa isa : usable_isas()) {
    for (const auto replacement : {Replacement::lru, Replacement::random}) {
      for (const std::uint32_t ways : {1U, 2U, 3U, 4U, 5U, 8U, 11U, 12U, 16U, 72U, 128U, 129U}) {
        const std::uint32_t sets = ways <= 16 ? 37 : 1;
        Blocks ours({sets, ways, replacement});
        Blocks reference({sets, ways, replacement});
        std::mt19937 dice(5);
        for (int i = 0; i < 20'000; ++i) {
          const auto block = static_cast<std::uint32_t>(dice() % (sets * ways * 2));
          const bool write = dice() % 4 == 0;
          const LookupResult a = access(ours, isa, block, write);
          const LookupResult b = access(reference, Isa::scalar, block, write);
          REQUIRE(a.hit == b.hit);
          REQUIRE(a.evicted == b.evicted);
        }
      }
    }
  }
}

TEST_CASE("a block is evicted dirty if and only if it was written") {
  for (const auto replacement : {Replacement::lru, Replacement::random}) {
    for (const std::uint32_t ways : {2U, 40U, 300U}) {
      Blocks cache({.sets = 1, .ways = ways, .replacement = replacement});
      for (std::uint32_t i = 0; i < ways; ++i) cache.access<Scalar>(i, i % 2 == 0);
      cache.access<Scalar>(1, true);  // written while cached
      for (std::uint32_t i = 0; i < 50 * ways; ++i) {
        const LookupResult looked = cache.access<Scalar>(ways + i, false);
        if (looked.hit || looked.evicted_block() >= ways) continue;
        const bool written = looked.evicted_block() % 2 == 0 || looked.evicted_block() == 1;
        CHECK(looked.evicted_dirty() == written);
      }
    }
  }
}

TEST_CASE("impossible shapes are refused") {
  CHECK_THROWS_AS(Blocks({.sets = 0, .ways = 1}), std::invalid_argument);
  CHECK_THROWS_AS(Blocks({.sets = 1, .ways = 0}), std::invalid_argument);
  CHECK_THROWS_AS(Blocks({.sets = 2, .ways = 17}), std::invalid_argument);
  CHECK_NOTHROW(Blocks({.sets = 2, .ways = 16}));
}
