// Sums of counters that many threads add to.
#pragma once

#include <sys/single_threaded.h>

#include <cstdint>

#include "base/keep_order.hpp"
#include "profile/runtime/locks.hpp"

namespace nearfar::profile {

// Collects the counts of one thread while it simulates a list. Without it, threads that share a hot
// counter would take its cache line from each other at every access, which takes longer than
// everything else. Plain data that starts as zeros.
struct CounterBatch {
  // A list of 32 accesses comes from few hot instructions, each with some counters.
  static constexpr unsigned places = 32;

  void count(std::uint64_t& counter, std::uint64_t amount) {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(&counter) * 0x9E3779B97F4A7C15ull;
    const auto place = static_cast<unsigned>(mixed >> 59);
    Sum& sum = sums[place];
    if (sum.counter != &counter) {
      std::uint64_t* const before = sum.counter;
      // This order ensures that no counter gets another one's amount, and that flush() looks at the
      // place, even if a signal handler jumps away.
      sum.counter = nullptr;
      keep_order();
      if (before != nullptr) add(*before, sum.amount);
      used |= 1u << place;
      sum.amount = 0;
      keep_order();
      sum.counter = &counter;
    }
    sum.amount += amount;
  }

  void flush() {
    for (; used != 0; used &= used - 1) {
      Sum& sum = sums[__builtin_ctz(used)];
      std::uint64_t* const counter = sum.counter;
      sum.counter = nullptr;
      if (counter != nullptr) add(*counter, sum.amount);
    }
  }

  struct Sum {
    std::uint64_t* counter;
    std::uint64_t amount;
  };
  Sum sums[places];
  std::uint32_t used;  // bit mask of places with a sum
};

// Adds to a counter immediately if no other thread adds, or without a batch (null).
inline void count(CounterBatch* batch, std::uint64_t& counter, std::uint64_t amount) {
  if (batch == nullptr || __libc_single_threaded != 0) {
    add(counter, amount);
  } else {
    batch->count(counter, amount);
  }
}

}  // namespace nearfar::profile
