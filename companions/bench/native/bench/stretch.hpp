// Length of a workload's timed part: a time, or a number of operations per thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/errors.hpp"
#include "bench/meter.hpp"

namespace nearfar::bench {

// Adds its parameters to a kind's own.
inline std::vector<Parameter> with_stretch(std::vector<Parameter> own) {
  own.push_back({"seconds", "1", "length of the timed stretch, s"});
  own.push_back({"operations", "0", "operations of each thread, instead of a time; 0: by time"});
  return with_common(std::move(own));
}

class Stretch {
 public:
  explicit Stretch(Arguments& arguments)
      : length_{arguments.number("seconds") * 1e9},
        operations_(arguments.count("operations")),
        threads_(static_cast<unsigned>(arguments.count("threads"))) {
    if (operations_ == 0 && !(length_.count > 0)) {
      throw BadArgument("seconds must be more than 0 unless operations is set");
    }
  }

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  // Repeats `operation(lane)` in every thread.
  template <typename Operation>
  void run(Meter& meter, Operation operation) const {
    run_threads(meter, [&](Lane& lane) {
      while (going(lane)) lane.operation([&] { operation(lane); });
    });
  }
  // For threads with their own state: `body(lane)` loops while going(lane).
  void run_threads(Meter& meter, const Meter::Body& body) const {
    if (operations_ > 0) {
      meter.timed(threads_, body);
    } else {
      meter.timed_for(length_, threads_, body);
    }
  }
  [[nodiscard]] bool going(const Lane& lane) const noexcept {
    return operations_ > 0 ? lane.operations() < operations_
                           : !lane.stop.load(std::memory_order_relaxed);
  }

 private:
  Nanoseconds length_;
  std::uint64_t operations_;
  unsigned threads_;
};

}  // namespace nearfar::bench
