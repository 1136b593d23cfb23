// Tests the map of large ranges. The runtime is not a linkable library: include its sources.
#include "profile/runtime/regions.cpp"

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

namespace nearfar::profile {
__thread Thread this_thread = {};
}

using nearfar::profile::Region;
using nearfar::profile::Regions;

TEST_CASE("a hole cut into a region leaves both its sides") {
  Regions regions;
  REQUIRE(regions.reserve());
  CHECK(regions.insert({0x1000, 0x9000, 5, true}));
  std::uint64_t removed = 0;
  regions.remove(0x3000, 0x5000, [&](const Region& part) {
    CHECK(part.site == 5);
    CHECK(part.counted);
    removed += part.end - part.begin;
  });
  CHECK(removed == 0x2000);
  CHECK(regions.find(0x2fff) == 5);
  CHECK(regions.find(0x3000) == 0);
  CHECK(regions.find(0x4fff) == 0);
  CHECK(regions.find(0x5000) == 5);
  CHECK(regions.find(0x8fff) == 5);
  CHECK(regions.find(0x9000) == 0);
  CHECK(regions.find(0xfff) == 0);
}

TEST_CASE("fill takes only unoccupied ranges") {
  Regions regions;
  REQUIRE(regions.reserve());
  CHECK(regions.insert({0x3000, 0x4000, 7, true}));
  CHECK(regions.insert({0x6000, 0x7000, 8, true}));
  CHECK(regions.fill({0x1000, 0x8000, 9, false}));
  CHECK(regions.find(0x1000) == 9);
  CHECK(regions.find(0x3000) == 7);
  CHECK(regions.find(0x4000) == 9);
  CHECK(regions.find(0x6fff) == 8);
  CHECK(regions.find(0x7fff) == 9);
}

TEST_CASE("random mappings and unmappings agree with a map of pages") {
  Regions regions;
  REQUIRE(regions.reserve());
  std::map<std::uint64_t, std::uint16_t> pages;
  Regions::Cursor last{};
  std::mt19937 dice(4);
  for (int i = 0; i < 3000; ++i) {
    const std::uint64_t begin = dice() % 200;
    const std::uint64_t end = begin + 1 + dice() % 20;
    regions.remove(begin << 12, end << 12, [&](const Region& part) {
      for (std::uint64_t page = part.begin >> 12; page < part.end >> 12; ++page) {
        CHECK(pages[page] == part.site);
        pages.erase(page);
      }
    });
    for (std::uint64_t page = begin; page < end; ++page) CHECK(pages.count(page) == 0);
    if (dice() % 3 == 0) continue;
    const auto site = static_cast<std::uint16_t>(4 + dice() % 50);
    CHECK(regions.insert({begin << 12, end << 12, site, true}));
    for (std::uint64_t page = begin; page < end; ++page) pages[page] = site;
    const std::uint64_t probe = dice() % 220;
    const auto page = pages.find(probe);
    const std::uint16_t expected = page == pages.end() ? 0 : page->second;
    CHECK(regions.find((probe << 12) + 5) == expected);
    // The second time, and before the next change also for neighbours, by the cursor.
    CHECK(regions.find((probe << 12) + 5, last) == expected);
    CHECK(regions.find((probe << 12) + 7, last) == expected);
    const auto neighbour = pages.find(probe + 1);
    CHECK(regions.find((probe + 1) << 12, last) ==
          (neighbour == pages.end() ? 0 : neighbour->second));
  }
}

TEST_CASE("a full table refuses new regions and keeps its own") {
  Regions regions;
  REQUIRE(regions.reserve());
  // Ascending order is quick; descending order would move all regions at each insertion.
  for (std::uint64_t i = 0; i < Regions::capacity; ++i) {
    REQUIRE(regions.insert({i << 13, (i << 13) + 4096, 4, true}));
  }
  CHECK_FALSE(regions.insert({1ull << 40, (1ull << 40) + 4096, 5, true}));
  CHECK(regions.find(0) == 4);
  CHECK(regions.find(1ull << 40) == 0);
}

TEST_CASE("a reader finds a region while others come and go before it") {
  Regions regions;
  REQUIRE(regions.reserve());
  CHECK(regions.insert({0x100000, 0x200000, 9, true}));
  std::atomic<bool> ended = false;
  std::thread writer([&] {
    for (int round = 0; round < 20'000; ++round) {
      for (std::uint64_t i = 1; i < 9; ++i) regions.insert({i << 12, (i + 1) << 12, 3, true});
      regions.remove(0x1000, 0x9000, [](const Region&) {});
    }
    ended = true;
  });
  std::uint64_t wrong = 0;
  while (!ended) wrong += regions.find(0x180000) != 9;
  writer.join();
  CHECK(wrong == 0);
}
