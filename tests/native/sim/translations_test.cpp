#include "sim/cache/translations.hpp"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

#include "sim/cache/lru_set.hpp"

namespace {

using nearfar::sim::LineWord;
using nearfar::sim::Translations;

constexpr unsigned page_log2 = 12;
constexpr std::uint64_t entries = 1536;

// Counts the misses of sampled touches: one line in 64 of each page, one page in four.
std::uint64_t count(unsigned rate_log2, const std::vector<std::uint64_t>& addresses) {
  std::vector<LineWord> memory(Translations::geometry(entries, page_log2, rate_log2).lines());
  Translations pages(entries, page_log2, rate_log2, memory.data());
  Translations::Walk walk{};
  std::uint64_t misses = 0;
  for (const std::uint64_t address : addresses) {
    const std::uint64_t page = address >> page_log2;
    if (rate_log2 == 8 && ((page * 0xD6E8FEB86659FD93ull) >> 62) != 0) continue;
    if (rate_log2 == 8 && (address >> 6 & 63) != page % 64) continue;
    misses += pages.touch(address, walk);
  }
  return misses;
}

std::uint64_t next(std::uint64_t& state) { return state = state * 6364136223846793005ull + 1; }

}  // namespace

TEST_CASE("a sequential walk misses once per page") {
  std::vector<std::uint64_t> addresses;
  constexpr std::uint64_t size = 64 << 20;
  for (std::uint64_t at = 0; at < size; at += 64) addresses.push_back(at);
  CHECK(count(0, addresses) == size >> page_log2);
  CHECK(count(8, addresses) == doctest::Approx(size >> page_log2).epsilon(0.05));
}

TEST_CASE("random accesses miss at the share of pages that are not cached") {
  std::vector<std::uint64_t> addresses;
  constexpr std::uint64_t size = 256 << 20;
  std::uint64_t state = 1;
  for (unsigned i = 0; i < 2'000'000; ++i) addresses.push_back((next(state) >> 20) % size & ~63ull);
  const double expected = 2e6 * (1.0 - static_cast<double>(entries << page_log2) / size);
  CHECK(static_cast<double>(count(0, addresses)) == doctest::Approx(expected).epsilon(0.02));
  CHECK(static_cast<double>(count(8, addresses)) == doctest::Approx(expected).epsilon(0.1));
}

TEST_CASE("pages that fit miss once") {
  std::vector<std::uint64_t> addresses;
  for (unsigned round = 0; round < 50; ++round)
    for (std::uint64_t at = 0; at < 2 << 20; at += 64) addresses.push_back(at);
  CHECK(count(0, addresses) == 512);
  CHECK(count(8, addresses) <= 2 * 512);
}

TEST_CASE("a flushed line is clean or evicted") {
  std::vector<LineWord> ways(4);
  const auto store = [&](std::uint64_t line) {
    return nearfar::sim::access_lru_set(ways.data(), 4, line, 7, true);
  };
  store(1);
  store(2);
  CHECK(nearfar::sim::flush_lru_set(ways.data(), 4, 1, true));
  CHECK_FALSE(nearfar::sim::flush_lru_set(ways.data(), 4, 1, true));  // already clean
  CHECK_FALSE(nearfar::sim::flush_lru_set(ways.data(), 4, 9, false));
  CHECK(nearfar::sim::flush_lru_set(ways.data(), 4, 2, false));
  CHECK_FALSE(store(2).hit);
  CHECK(store(1).hit);
}
