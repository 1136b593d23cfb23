// Reuse distances against a list that is searched from its front.
#include <doctest/doctest.h>

#include <algorithm>
#include <list>
#include <random>
#include <vector>

#include "sim/reuse/reuse_tracker.hpp"

using nearfar::sim::ReuseStack;
using nearfar::sim::ReuseTracker;

namespace {

struct Stack {
  explicit Stack(std::uint32_t capacity)
      : memory(ReuseStack::bytes_for(capacity) / 8), stack(capacity, memory.data()) {}
  std::vector<std::uint64_t> memory;
  ReuseStack stack;
};

// What the stack must say, by definition.
struct Listed {
  std::uint32_t touch(std::uint64_t line) {
    const auto at = std::find(order.begin(), order.end(), line);
    const auto distance = at == order.end()
                              ? ReuseStack::unseen
                              : static_cast<std::uint32_t>(std::distance(order.begin(), at));
    if (at != order.end()) order.erase(at);
    order.push_front(line);
    return distance;
  }
  std::list<std::uint64_t> order;
};

}  // namespace

TEST_CASE("distances are the number of other lines since, through many compactions") {
  Stack made(64);
  Listed truth;
  std::mt19937_64 dice(1);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t line = dice() % 60 * 977;
    REQUIRE(made.stack.touch(line) == truth.touch(line));
  }
}

TEST_CASE("dropping the oldest keeps distances below the capacity exact") {
  Stack made(64);
  Listed truth;
  std::mt19937_64 dice(2);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t line = dice() % 200;
    const std::uint32_t expected = truth.touch(line);
    const std::uint32_t found = made.stack.touch(line);
    if (made.stack.over()) made.stack.drop_oldest();
    if (expected < 64) REQUIRE(found == expected);
    if (expected >= 64) REQUIRE(found == ReuseStack::unseen);
    REQUIRE(made.stack.live() <= 64);
  }
}

TEST_CASE("a cyclic sweep of any length has one distance, and the tracker finds it") {
  for (const std::uint64_t lines : {1000ull, 10'000ull, 100'000ull, 1'000'000ull}) {
    std::vector<std::uint64_t> memory(ReuseTracker::bytes() / 8);
    ReuseTracker tracker(memory.data());
    double known = 0, sum = 0, unseen = 0, far_sum = 0, far_known = 0;
    for (int pass = 0; pass < 4; ++pass) {
      for (std::uint64_t line = 0; line < lines; ++line) {
        if (!ReuseTracker::sampled(line)) continue;
        const auto touch = tracker.touch(line);
        if (pass < 2) continue;  // the far stack thins itself out in the first pass
        if (touch.known) {
          ++known;
          sum += static_cast<double>(touch.distance);
        } else {
          ++unseen;
        }
        if (touch.far && touch.far_known) {
          ++far_known;
          far_sum += static_cast<double>(touch.far_distance);
        }
      }
    }
    CAPTURE(lines);
    if (lines < ReuseTracker::near_reach() / 2) {
      CHECK(unseen == 0);
      CHECK(sum / known == doctest::Approx(static_cast<double>(lines)).epsilon(0.15));
    }
    if (lines > ReuseTracker::near_reach() * 2) CHECK(known == 0);
    CHECK(far_sum / far_known == doctest::Approx(static_cast<double>(lines)).epsilon(0.08));
  }
}
