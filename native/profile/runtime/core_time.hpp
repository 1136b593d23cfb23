// CPU time when lines of two memories overlap. nearfar/predict/core_time.py has the same model with
// explanations.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "profile/runtime/emulation.hpp"

namespace nearfar::profile {

inline double larger(double a, double b) { return a > b ? a : b; }

// Cube root, because instrumented programs may lack libm's cbrt. A third of the exponent and
// mantissa bits is within 6 %; each Newton step squares that error.
inline double cube_root(double x) {
  if (x <= 0.0) return 0.0;
  constexpr std::uint64_t two_thirds_of_bias = 0x2A9F7893782DA1CEull;
  auto root = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) / 3 + two_thirds_of_bias);
  for (int step = 0; step < 4; ++step) root = (2.0 * root + x / (root * root)) / 3.0;
  return root;
}

inline double cubed(double x) { return x * x * x; }

// Returns the cost of `lines` (unsampled counts, by charge) at one degree of overlap.
inline LineCost cost_of(const double (&lines)[charges], const LineCost* costs) {
  LineCost sum{};
  for (unsigned charge = 0; charge < charges; ++charge) {
    sum.loads += lines[charge] * costs[charge].loads;
    sum.stream += lines[charge] * costs[charge].stream;
    sum.buffers += lines[charge] * costs[charge].buffers;
    sum.reads += lines[charge] * costs[charge].reads;
    sum.all_lines += lines[charge] * costs[charge].all_lines;
  }
  return sum;
}

// Returns CPU time in ns: `other_ns` outside memory, plus the cost of two memories with separate
// bandwidths.
inline double core_time_ns(double other_ns, const LineCost& first, const LineCost& second) {
  const double loads = first.loads + second.loads;
  const double stream = first.stream + second.stream;
  const double buffers = first.buffers + second.buffers;
  const double reads = cubed(larger(first.reads, second.reads));
  const double all_lines = larger(first.all_lines, second.all_lines);
  double waiting = larger(cubed(other_ns + loads) + cubed(stream), cubed(buffers));
  waiting = larger(waiting, 1e-100);
  const double rise = (waiting + cubed(all_lines)) / (waiting + reads);
  return larger(all_lines, cube_root(waiting * rise));
}

// Maximum shortfall of a batch that is carried over to the next one, as a share of the memory time
// at the highest overlap. Sampling scatters batches by 6 %; a larger shortfall means that near
// costs are too high and must be scaled.
inline constexpr double max_carried = 0.1;

// Returns the near time to use for a batch; near memory explains at least `min_ns`. Batches that
// are too short and too long by chance do not cancel out: missing time is stretched like memory
// time, but excess time is hidden behind a stream. So missing time is subtracted from the next
// batch, in `carried_ns` (<= 0).
inline double even_out(double near_ns, double min_ns, double& carried_ns) {
  const double with_carried_ns = near_ns + carried_ns;
  const double missing_ns = larger(min_ns - with_carried_ns, 0.0);
  const double kept_ns = larger(-missing_ns, -max_carried * min_ns);
  carried_ns = kept_ns;
  return larger(with_carried_ns - kept_ns, 0.0);
}

// Returns the minimum time of `lines` in near memory: the time that memory explains at the highest
// overlap.
inline double min_time_ns(const double (&lines)[charges], const LineCost* near,
                          std::size_t factors) {
  return core_time_ns(0.0, cost_of(lines, near + (factors - 1) * charges), {});
}

// Returns the time of a batch that took `near_ns` with all `lines` near, if `moved` of them are
// far. `near` and `far` are [factors][charges].
double far_time_ns(double near_ns, const double (&lines)[charges], const double (&moved)[charges],
                   const LineCost* near, const LineCost* far, std::size_t factors);

}  // namespace nearfar::profile
