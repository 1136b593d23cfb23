// Sums of counters that many threads add to.
#pragma once

#include <sys/single_threaded.h>

#include <cstdint>

#include "profile/runtime/locks.hpp"

namespace nearfar::profile {

// Collects what one thread adds while it simulates a list: threads that share a hot counter would
// else take its cache line from one another at every access, which takes longer than all the rest.
// Plain data that starts as zeros.
struct CounterBatch {
  // A list of 32 accesses has few hot instructions, each with some counters.
  static constexpr unsigned places = 32;

  void count(std::uint64_t& counter, std::uint64_t amount) {
    const std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(&counter) * 0x9E3779B97F4A7C15ull;
    const auto place = static_cast<unsigned>(mixed >> 59);
    Sum& sum = sums[place];
    if (sum.counter != &counter) {
      if (sum.counter != nullptr) add(*sum.counter, sum.amount);
      // In this order a signal handler that jumps away leaves a place that flush() looks at.
      used |= 1u << place;
      sum = {&counter, 0};
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
  std::uint32_t used;  // places that have a sum, by bits
};

// Adds to a counter at once if nobody else adds, or without a batch (null).
inline void count(CounterBatch* batch, std::uint64_t& counter, std::uint64_t amount) {
  if (batch == nullptr || __libc_single_threaded != 0) {
    add(counter, amount);
  } else {
    batch->count(counter, amount);
  }
}

}  // namespace nearfar::profile
