#include "base/positions.hpp"

#include <doctest/doctest.h>

#include <map>
#include <random>

using nearfar::Positions;

TEST_CASE("a block takes the lowest positions that have space, also after a free") {
  Positions positions{};
  CHECK(positions.take(0x100000) == 0);
  CHECK(positions.take(0x200000) == 0x100000);
  CHECK(positions.take(0x100000) == 0x300000);
  positions.give(0x100000, 0x200000);
  CHECK(positions.take(0x180000) == 0x100000);
  CHECK(positions.take(0x100000) == 0x400000);
  CHECK(positions.take(0x80000) == 0x280000);
  CHECK(positions.end() == 0x500000);
}

TEST_CASE("what an allocator rounds up does not move later blocks") {
  Positions asked{};
  Positions usable{};
  for (int i = 0; i < 8; ++i) CHECK(asked.take(1 << 20) == usable.take((1 << 20) + 4080));
}

TEST_CASE("blocks never share a position") {
  Positions positions{};
  std::map<std::uint64_t, std::uint64_t> blocks;
  std::mt19937 dice(1);
  for (int step = 0; step < 20000; ++step) {
    if (!blocks.empty() && dice() % 2 == 0) {
      auto block = blocks.begin();
      std::advance(block, dice() % blocks.size());
      positions.give(block->first, block->second);
      blocks.erase(block);
      continue;
    }
    const std::uint64_t bytes = (1 + dice() % 64) << 12;
    const std::uint64_t begin = positions.take(bytes);
    const auto after = blocks.lower_bound(begin);
    if (after != blocks.end()) REQUIRE(begin + bytes <= after->first);
    if (after != blocks.begin()) {
      const auto before = std::prev(after);
      REQUIRE(before->first + before->second <= begin);
    }
    blocks[begin] = bytes;
    REQUIRE(positions.end() >= begin + bytes);
  }
  for (const auto& [begin, bytes] : blocks) positions.give(begin, bytes);
}
