#include "sim/memory_mode/direct_mapped.hpp"

#include <doctest/doctest.h>

#include <stdexcept>

using nearfar::Bytes;
using nearfar::sim::DirectMapped;

TEST_CASE("lines a capacity apart share a slot, other lines do not") {
  DirectMapped near(Bytes{64 * 100});
  CHECK_FALSE(near.access(7, false).hit);
  CHECK(near.access(7, false).hit);
  CHECK_FALSE(near.access(8, false).hit);
  CHECK(near.access(7, true).hit);
  const auto conflict = near.access(107, false);
  CHECK_FALSE(conflict.hit);
  CHECK(conflict.evicted_dirty());
  CHECK(conflict.evicted_block() == 7);
  const auto back = near.access(7, false);
  CHECK_FALSE(back.evicted_dirty());
  CHECK(back.evicted_block() == 107);
}

TEST_CASE("an address too large for the tags is refused, the largest possible is not") {
  DirectMapped near(Bytes{64});
  CHECK_NOTHROW(near.access(32766, false));
  CHECK_THROWS_AS(near.access(32767, false), std::out_of_range);
}
