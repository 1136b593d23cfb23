#include "measure/timer.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/os.hpp"

namespace nearfar::measure {
namespace {

Timer measure_timer(Nanoseconds (*now)()) {
  constexpr std::size_t readings = 1001;
  std::array<double, readings> steps{};
  double smallest = 1e9;
  for (double& step : steps) {
    const Nanoseconds first = now();
    const Nanoseconds second = now();
    step = (second - first).count;
    if (step > 0) smallest = std::min(smallest, step);
  }
  std::nth_element(steps.begin(), steps.begin() + readings / 2, steps.end());
  return {.overhead = {steps[readings / 2]}, .resolution = {smallest}};
}

}  // namespace

const Timer& timer() {
  static const Timer measured = measure_timer([] { return os::thread_cpu_time(); });
  return measured;
}

const Timer& wall_timer() {
  static const Timer measured = measure_timer([] { return os::wall_time(); });
  return measured;
}

}  // namespace nearfar::measure
