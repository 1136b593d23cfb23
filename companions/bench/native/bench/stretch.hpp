// How long a workload's timed part is: a time, or a number of operations of each thread.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "bench/arguments.hpp"
#include "bench/errors.hpp"
#include "bench/meter.hpp"

namespace nearfar::bench {

// Its parameters, for a kind's own.
inline std::vector<Parameter> with_stretch(std::vector<Parameter> own) {
  own.push_back({"seconds", "1", "length of the timed stretch, s"});
  own.push_back({"operations", "0", "of each thread, in place of a length of time; 0: by time"});
  return with_common(std::move(own));
}

class Stretch {
 public:
  explicit Stretch(Arguments& given)
      : length_{given.number("seconds") * 1e9},
        operations_(given.count("operations")),
        threads_(static_cast<unsigned>(given.count("threads"))) {
    if (operations_ == 0 && !(length_.count > 0)) {
      throw BadArgument("seconds must be more than 0 where operations does not say how many");
    }
  }

  [[nodiscard]] unsigned threads() const noexcept { return threads_; }

  // `operation(lane)`, again and again in every thread.
  template <typename Operation>
  void run(Meter& meter, Operation operation) const {
    run_threads(meter, [&](Lane& lane) {
      while (going(lane)) lane.operation([&] { operation(lane); });
    });
  }
  // For threads with a state of their own: `body(lane)` loops while going(lane).
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
