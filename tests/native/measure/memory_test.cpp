#include "measure/memory.hpp"

#include <doctest/doctest.h>

#include <system_error>

using namespace nearfar;
using namespace nearfar::measure;
using namespace nearfar::literals;

namespace {

// Whether following the set's links visits its lines in order and comes back.
bool leads_round(const Memory& memory, const LinkSet& set) {
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

TEST_CASE("orders of several regions and shapes live in one memory, and leave each other alone") {
  Memory memory = memory_of(64_KiB);
  struct Wanted {
    Bytes region;
    Shape shape;
    Links kind;
  };
  const Wanted all[] = {{64_KiB, {}, Links::random},
                        {16_KiB, {}, Links::random},
                        {64_KiB, {.access = 256_B}, Links::random},
                        {64_KiB, {.stride = 4_KiB}, Links::random},
                        {64_KiB, {.window = 4_KiB}, Links::random},
                        {32_KiB, {.stride = 128_B}, Links::sequential},
                        {64_KiB, {}, Links::sequential}};
  for (const auto& one : all) CHECK(memory.link(one.region, one.shape, one.kind));
  for (const auto& one : all) {
    CHECK(!memory.link(one.region, one.shape, one.kind));  // there already
    const LinkSet* set = memory.linked(one.region, one.shape, one.kind);
    REQUIRE(set != nullptr);
    CHECK(leads_round(memory, *set));
  }
}

TEST_CASE("of more orders than there are words, those that cost least to make again go first") {
  Memory memory = memory_of(64_KiB);
  for (std::uint64_t kib = 1; kib <= 20; ++kib) {
    const Bytes region{kib << 10U};
    CHECK(memory.link(region, {}, Links::random));
    CHECK(leads_round(memory, *memory.linked(region, {}, Links::random)));
  }
  CHECK(memory.linked(20_KiB, {}, Links::random) != nullptr);
  CHECK(memory.linked(1_KiB, {}, Links::random) == nullptr);
  CHECK(memory.link(1_KiB, {}, Links::random));
  // A large one that nobody asks for any more goes in the end.
  for (int again = 0; again < 200; ++again) {
    for (std::uint64_t kib = 1; kib <= 8; ++kib) memory.link({kib << 10U}, {}, Links::random);
  }
  CHECK(memory.linked(20_KiB, {}, Links::random) == nullptr);
}

TEST_CASE("a sequence is one at a time, whatever its region") {
  Memory memory = memory_of(64_KiB);
  memory.link(64_KiB, {}, Links::sequential);
  memory.link(8_KiB, {}, Links::sequential);
  CHECK(memory.linked(64_KiB, {}, Links::sequential) == nullptr);
  CHECK(leads_round(memory, *memory.linked(8_KiB, {}, Links::sequential)));
}

TEST_CASE("what is written over is no longer linked") {
  Memory memory = memory_of(4_KiB);
  memory.link(4_KiB, {}, Links::random);
  memory.forget_links();
  CHECK(memory.linked(4_KiB, {}, Links::random) == nullptr);
}

TEST_CASE("regions and shapes that cannot be are refused") {
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

TEST_CASE("memory is as large as asked for, whatever its pages") {
  CHECK(Memory::anonymous(16_KiB, os::Pages::transparent_huge, std::nullopt).size() == 16_KiB);
  CHECK(Memory::anonymous(100_B, os::Pages::base, std::nullopt).size() == 128_B);
  CHECK_THROWS_AS(Memory::file(-1, 4_KiB, false), std::system_error);
}
