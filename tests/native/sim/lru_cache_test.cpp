// Compares the last-level cache with closed forms.
#include "sim/cache/lru_cache.hpp"

#include <doctest/doctest.h>

#include <random>
#include <vector>

using nearfar::Bytes;
using nearfar::sim::CacheGeometry;
using nearfar::sim::LineWord;
using nearfar::sim::LruCache;
using nearfar::sim::Outcome;

namespace {

struct Bench {
  explicit Bench(CacheGeometry geometry) : ways(geometry.lines()), cache(geometry, ways.data()) {}

  void touch(std::uint64_t line, bool store = false, std::uint16_t owner = 1) {
    const Outcome outcome = cache.access(line, owner, store);
    ++accesses;
    if (!outcome.hit) ++misses;
    if (outcome.evicted.dirty()) ++write_backs;
  }
  void sweep(std::uint64_t lines, bool store = false) {
    for (std::uint64_t line = 0; line < lines; ++line) touch(line, store);
  }

  std::vector<LineWord> ways;
  LruCache cache;
  std::uint64_t accesses = 0, misses = 0, write_backs = 0;
};

constexpr CacheGeometry small = CacheGeometry::of(Bytes{1 << 20}, 16, 0);  // 16384 lines

}  // namespace

TEST_CASE("a sweep that fits misses once per line, however often it is repeated") {
  Bench bench(small);
  for (int i = 0; i < 5; ++i) bench.sweep(16384);
  CHECK(bench.misses == 16384);
  CHECK(bench.write_backs == 0);
}

TEST_CASE("with one line more than fits, its set thrashes and the others still hit") {
  Bench bench(small);
  for (int i = 0; i < 5; ++i) bench.sweep(16384 + 1);
  // 17 lines take turns in 16 ways of set 0: LRU misses each of them every time.
  CHECK(bench.misses == 16384 - 16 + 5 * 17);
}

TEST_CASE("a cyclic sweep of twice the capacity misses always") {
  Bench bench(small);
  for (int i = 0; i < 4; ++i) bench.sweep(2 * 16384);
  CHECK(bench.misses == bench.accesses);
}

TEST_CASE("every stored line is written back when it is evicted, and only then") {
  Bench bench(small);
  bench.sweep(16384, true);
  CHECK(bench.write_backs == 0);
  for (std::uint64_t line = 0; line < 16384; ++line) bench.touch(line + 16384);
  CHECK(bench.write_backs == 16384);
  for (std::uint64_t line = 0; line < 16384; ++line) bench.touch(line + 2 * 16384);
  CHECK(bench.write_backs == 16384);  // clean lines are evicted silently
}

TEST_CASE("a line stays dirty when it is read after being written") {
  Bench bench({1, 2});
  bench.touch(0, true);
  bench.touch(0, false);
  bench.touch(1, false);
  bench.touch(0, false);  // from the second way
  bench.touch(2, false);  // evicts 1
  CHECK(bench.write_backs == 0);
  bench.touch(3, false);  // evicts 0
  CHECK(bench.write_backs == 1);
}

TEST_CASE("a write-back belongs to the line's last owner") {
  std::vector<LineWord> ways(2);
  LruCache cache({1, 2}, ways.data());
  cache.access(7, 10, true);
  cache.access(7, 11, false);  // freed and allocated again while cached
  cache.access(8, 12, false);
  const Outcome outcome = cache.access(9, 13, false);
  CHECK(outcome.evicted.owner() == 11);
  CHECK(outcome.evicted.line() == 7);
  CHECK(outcome.evicted.dirty());
}

TEST_CASE("uniformly random accesses hit with the cached share of the lines") {
  // With n lines on s sets of w ways, each set serves n/s lines uniformly; LRU caches w of them.
  for (const std::uint64_t lines : {32768ull, 65536ull, 262144ull}) {
    Bench bench(small);
    std::mt19937_64 dice(lines);
    for (std::uint64_t i = 0; i < 20 * lines; ++i) bench.touch(dice() % lines);
    bench.accesses = bench.misses = 0;
    for (int i = 0; i < 1'000'000; ++i) bench.touch(dice() % lines);
    const double hit_share = 1 - static_cast<double>(bench.misses) / 1e6;
    CHECK(hit_share == doctest::Approx(16384.0 / static_cast<double>(lines)).epsilon(0.01));
  }
}

TEST_CASE("LRU holds exactly the most recent lines of a set") {
  Bench bench({1, 4});
  for (const std::uint64_t line : {1, 2, 3, 4, 1, 5}) bench.touch(line);  // 2 was the oldest
  const std::uint64_t before = bench.misses;
  for (const std::uint64_t line : {3, 4, 1, 5}) bench.touch(line);
  CHECK(bench.misses == before);
  bench.touch(2);
  CHECK(bench.misses == before + 1);
}

TEST_CASE("all sets are used when their number is not a power of two") {
  const CacheGeometry odd = CacheGeometry::of(Bytes{48ull * 64 * 12}, 12, 0);
  CHECK(odd.sets == 48);
  Bench bench(odd);
  for (int i = 0; i < 3; ++i) bench.sweep(48 * 12);
  CHECK(bench.misses == 48 * 12);
}

TEST_CASE("a sampled cache is the whole cache divided by the rate") {
  CHECK(CacheGeometry::of(Bytes{32 << 20}, 16, 6).sets == 512);
  CHECK(CacheGeometry::of(Bytes{32 << 20}, 16, 6).simulated(6) == Bytes{32 << 20});
  // Too small for the rate: the minimum of one set represents more than the requested size.
  CHECK(CacheGeometry::of(Bytes{16 << 10}, 16, 6).simulated(6) == Bytes{64 << 10});
}
