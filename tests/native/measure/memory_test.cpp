#include "measure/memory.hpp"

#include <doctest/doctest.h>

#include <system_error>

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

// Returns whether the set's links visit its lines in order and return to the start.
bool is_cycle(const Memory& memory, const LinkSet& set) {
  auto word = [&](std::uint64_t visit) {
    const std::uint64_t line = set.order.empty() ? visit : set.order[visit];
    return memory.data() + line * cache_line.count + set.word * sizeof(std::byte*);
  };
  const std::byte* at = word(0);
  for (std::uint64_t visit = 1; visit <= set.visits; ++visit) {
    at = *reinterpret_cast<std::byte* const*>(at);
    if (at != word(visit == set.visits ? 0 : visit)) return false;
  }
  return true;
}

Memory memory_of(Bytes size) { return Memory::anonymous(size, os::Pages::base, std::nullopt); }

}  // namespace

TEST_CASE("orders of several regions and shapes coexist in a memory") {
  Memory memory = memory_of(64_KiB);
  struct Order {
    Bytes region;
    Shape shape;
    Links kind;
  };
  const Order orders[] = {{64_KiB, {}, Links::random},
                          {16_KiB, {}, Links::random},
                          {64_KiB, {.access = 256_B}, Links::random},
                          {64_KiB, {.stride = 4_KiB}, Links::random},
                          {64_KiB, {.window = 4_KiB}, Links::random},
                          {32_KiB, {.stride = 128_B}, Links::sequential},
                          {64_KiB, {}, Links::sequential}};
  for (const auto& order : orders) CHECK(memory.link(order.region, order.shape, order.kind));
  for (const auto& order : orders) {
    CHECK(!memory.link(order.region, order.shape, order.kind));  // already linked
    const LinkSet* set = memory.linked(order.region, order.shape, order.kind);
    REQUIRE(set != nullptr);
    CHECK(is_cycle(memory, *set));
  }
}

TEST_CASE("when the words run out, the orders that are cheapest to rebuild are dropped") {
  Memory memory = memory_of(64_KiB);
  for (std::uint64_t kib = 1; kib <= 20; ++kib) {
    const Bytes region{kib << 10U};
    CHECK(memory.link(region, {}, Links::random));
    CHECK(is_cycle(memory, *memory.linked(region, {}, Links::random)));
  }
  CHECK(memory.linked(20_KiB, {}, Links::random) != nullptr);
  CHECK(memory.linked(1_KiB, {}, Links::random) == nullptr);
  CHECK(memory.link(1_KiB, {}, Links::random));
  // A large order that nobody uses any more is dropped in the end.
  for (int again = 0; again < 200; ++again) {
    for (std::uint64_t kib = 1; kib <= 8; ++kib) memory.link({kib << 10U}, {}, Links::random);
  }
  CHECK(memory.linked(20_KiB, {}, Links::random) == nullptr);
}

TEST_CASE("a memory has one sequential order at a time") {
  Memory memory = memory_of(64_KiB);
  memory.link(64_KiB, {}, Links::sequential);
  memory.link(8_KiB, {}, Links::sequential);
  CHECK(memory.linked(64_KiB, {}, Links::sequential) == nullptr);
  CHECK(is_cycle(memory, *memory.linked(8_KiB, {}, Links::sequential)));
}

TEST_CASE("sequences of shorter and longer regions share links, and keep their places") {
  Memory memory = memory_of(64_KiB);
  for (const Bytes region : {8_KiB, 32_KiB, 16_KiB, 8_KiB, 64_KiB, 32_KiB, 64_B, 64_KiB}) {
    CHECK(memory.link(region, {}, Links::sequential));
    CHECK(!memory.link(region, {}, Links::sequential));
    LinkSet* set = memory.linked(region, {}, Links::sequential);
    REQUIRE(set != nullptr);
    CHECK(is_cycle(memory, *set));
    set->position = region.count;
  }
  memory.link(16_KiB, {}, Links::sequential);
  CHECK(memory.linked(16_KiB, {}, Links::sequential)->position == 16 << 10);
}

TEST_CASE("overwritten memory is no longer linked") {
  Memory memory = memory_of(4_KiB);
  memory.link(4_KiB, {}, Links::random);
  memory.forget_links();
  CHECK(memory.linked(4_KiB, {}, Links::random) == nullptr);
}

TEST_CASE("impossible regions and shapes are refused") {
  Memory memory = memory_of(4_KiB);
  CHECK_THROWS_AS(memory.link(8_KiB, {}, Links::random), std::invalid_argument);
  CHECK_THROWS_AS(memory.link(64_B, {.access = 128_B}, Links::random), std::invalid_argument);
  CHECK_THROWS_AS(memory.link(4_KiB, {.access = 100_B}, Links::random), std::invalid_argument);
  CHECK_THROWS_AS(memory.link(4_KiB, {}, Links::none), std::invalid_argument);
  CHECK_THROWS_AS(check({.access = 128_B, .stride = 64_B}), std::invalid_argument);
  CHECK_THROWS_AS(check({.stride = 256_B, .window = 128_B}), std::invalid_argument);
  CHECK_THROWS_AS(check({.read_share = 1.01}), std::invalid_argument);
  CHECK_THROWS_AS(check({.read_share = -0.01}), std::invalid_argument);
  CHECK_THROWS_AS(check({.fence_every = 0}), std::invalid_argument);
  CHECK_NOTHROW(check({.access = 64_B, .stride = 64_B, .window = 64_B, .read_share = 1}));
}

TEST_CASE("memory has the requested size with any page size") {
  CHECK(Memory::anonymous(16_KiB, os::Pages::transparent_huge, std::nullopt).size() == 16_KiB);
  CHECK(Memory::anonymous(100_B, os::Pages::base, std::nullopt).size() == 128_B);
  CHECK_THROWS_AS(Memory::file(-1, 4_KiB, false), std::system_error);
}
