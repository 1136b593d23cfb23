// Tests the write queue on both sides of every boundary in time.
#include "sim/device/write_queue.hpp"

#include <doctest/doctest.h>

using nearfar::Nanoseconds;
using nearfar::sim::WriteQueue;

TEST_CASE("lines enter at once until the queue is full, then as it drains") {
  WriteQueue queue({.lines = 3, .accept = {1}});
  CHECK(queue.put(0, {100}, {0}).count == 0);
  CHECK(queue.put(1, {100}, {0}).count == 0);
  CHECK(queue.put(2, {100}, {0}).count == 0);
  CHECK(queue.put(3, {100}, {0}).count == 100);  // when the first line is drained
  CHECK(queue.put(4, {100}, {100}).count == 200);
}

TEST_CASE("a store merges with a waiting line, not with a drained one") {
  WriteQueue queue({.lines = 2, .accept = {1}});
  queue.put(7, {100}, {0});
  CHECK(queue.merges(7, {99}));
  CHECK_FALSE(queue.merges(8, {99}));
  CHECK_FALSE(queue.merges(7, {100}));
}

TEST_CASE("without a queue a writer waits until its line is drained") {
  WriteQueue queue({.lines = 0, .accept = {1}});
  CHECK(queue.put(0, {100}, {5}).count == 105);
  CHECK(queue.put(1, {100}, {105}).count == 205);
}

TEST_CASE("a stalled device drains nothing") {
  WriteQueue queue({.lines = 1, .accept = {1}});
  queue.put(0, {100}, {0});
  queue.stall({1000}, {0});
  CHECK(queue.put(1, {100}, {1}).count == 1100);
}
