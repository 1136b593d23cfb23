// Compares reuse distances with a linearly searched list.
#include <doctest/doctest.h>
#include <setjmp.h>
#include <signal.h>

#include <algorithm>
#include <cstring>
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

// The reuse distance by its definition.
struct ReferenceStack {
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

TEST_CASE("distances count the other lines since the last touch, through many compactions") {
  for (const std::uint32_t capacity : {16u, 64u, 1024u}) {
    Stack tested(capacity);
    ReferenceStack reference;
    std::mt19937_64 dice(1);
    for (int i = 0; i < 20'000; ++i) {
      const std::uint64_t line = dice() % (capacity - 4) * 977;
      REQUIRE(tested.stack.touch(line) == reference.touch(line));
    }
  }
}

TEST_CASE("dropping the oldest lines keeps distances below the capacity exact") {
  Stack tested(64);
  ReferenceStack reference;
  std::mt19937_64 dice(2);
  for (int i = 0; i < 20'000; ++i) {
    const std::uint64_t line = dice() % 200;
    const std::uint32_t expected = reference.touch(line);
    const std::uint32_t distance = tested.stack.touch(line);
    tested.stack.drop_excess();
    if (expected < 64) REQUIRE(distance == expected);
    if (expected >= 64) REQUIRE(distance == ReuseStack::unseen);
    REQUIRE(tested.stack.live() <= 64);
  }
}

TEST_CASE("the tracker finds the single distance of a cyclic sweep of any length") {
  for (const std::uint64_t lines : {1000ull, 10'000ull, 100'000ull, 1'000'000ull}) {
    std::vector<std::uint64_t> memory(ReuseTracker::bytes() / 8);
    ReuseTracker tracker(memory.data());
    double known = 0, sum = 0, unseen = 0, far_sum = 0, far_known = 0;
    for (int pass = 0; pass < 4; ++pass) {
      for (std::uint64_t line = 0; line < lines; ++line) {
        if (!ReuseTracker::sampled(line)) continue;
        const auto touch = tracker.touch(line);
        if (pass < 2) continue;  // the far stack lowers its sampling rate in the first pass
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

#if defined(__x86_64__)
namespace {

Stack* stepped = nullptr;
unsigned steps = 0;
unsigned wrong_steps = 0;
unsigned steps_left = 0;
sigjmp_buf after_jump;

// Touches lines round-robin; returns whether distances are exact after compactions have rebuilt all
// counts.
bool recovers(ReuseStack& stack) {
  const std::uint64_t lines = stack.capacity() - 4;
  constexpr unsigned rounds = 16;
  bool exact = true;
  for (unsigned round = 0; round < rounds; ++round) {
    for (std::uint64_t line = 0; line < lines; ++line) {
      const std::uint32_t distance = stack.touch(line * 977);
      stack.drop_excess();
      if (round >= rounds / 2) exact &= distance == lines - 1;
    }
  }
  return exact;
}

// The state here is what a signal handler would leave by a jump. Tries it, and restores it.
void try_and_restore(int) {
  const ReuseStack stack_before = stepped->stack;
  const std::vector<std::uint64_t> memory_before = stepped->memory;
  ++steps;
  if (!recovers(stepped->stack)) ++wrong_steps;
  stepped->stack = stack_before;
  memcpy(stepped->memory.data(), memory_before.data(), memory_before.size() * 8);
}

void jump_after_steps(int) {
  if (--steps_left == 0) siglongjmp(after_jump, 1);
}

// Calls `handler` after each instruction between begin() and end().
class SingleSteps {
 public:
  explicit SingleSteps(void (*handler)(int)) {
    struct sigaction action {};
    action.sa_handler = handler;
    REQUIRE(sigaction(SIGTRAP, &action, &before_) == 0);
  }
  ~SingleSteps() { sigaction(SIGTRAP, &before_, nullptr); }
  SingleSteps(const SingleSteps&) = delete;
  SingleSteps& operator=(const SingleSteps&) = delete;

  static void begin() {
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() | trap_flag);
  }
  static void end() {
    __builtin_ia32_writeeflags_u64(__builtin_ia32_readeflags_u64() & ~trap_flag);
  }

 private:
  static constexpr std::uint64_t trap_flag = 1u << 8;
  struct sigaction before_ {};
};

}  // namespace

TEST_CASE("a jump out of any instruction leaves a stack that counts exactly after a compaction") {
  SingleSteps const single_steps(try_and_restore);
  for (const std::uint32_t capacity : {16u, 64u}) {
    Stack tested(capacity);
    stepped = &tested;
    steps = wrong_steps = 0;
    std::mt19937_64 dice(3);
    const auto touch = [&] {
      const std::uint64_t line = dice() % (2ul * capacity) * 977;
      tested.stack.touch(line);
      tested.stack.drop_excess();
    };
    // The first slots fill, and then there is a compaction.
    for (unsigned i = 0; i < 4 * capacity - 8; ++i) touch();
    for (unsigned i = 0; i < 16; ++i) {
      SingleSteps::begin();
      touch();
      SingleSteps::end();
    }
    SingleSteps::begin();
    tested.stack.keep_only([](std::uint64_t line) { return line % 2 == 0; });
    SingleSteps::end();
    CHECK(steps > 1000);
    CHECK(wrong_steps == 0);
  }
}

TEST_CASE("many jumps out of the same instruction leave such a stack too") {
  constexpr std::uint32_t capacity = 16;
  // More than there are slots, or entries in the table.
  constexpr unsigned most_jumps = 160;
  SingleSteps const single_steps(jump_after_steps);
  // Static, because a jump back may lose other changes of local variables.
  static unsigned instruction, jumps;
  static bool completed;
  completed = false;
  // Each of the first instructions, then fewer: without optimisation there are hundreds.
  for (instruction = 1; !completed; instruction += 1 + instruction / 20) {
    Stack tested(capacity);
    for (jumps = 0; jumps < most_jumps && !completed; ++jumps) {
      steps_left = instruction;
      if (sigsetjmp(after_jump, 1) != 0) continue;
      SingleSteps::begin();
      tested.stack.touch(jumps * 977ul);
      tested.stack.drop_excess();
      SingleSteps::end();
      // The first touch of a stack has the fewest instructions.
      completed = jumps == 0;
    }
    CAPTURE(instruction);
    CHECK(recovers(tested.stack));
  }
  CHECK(instruction > 30);
}
#endif
