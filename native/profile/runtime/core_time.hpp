// CPU time while lines of two memories overlap: nearfar/predict/core_time.py, for single numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "profile/runtime/emulation.hpp"

namespace nearfar::profile {

inline double larger(double a, double b) { return a > b ? a : b; }

// libm's cbrt may be missing in instrumented programs. A third of the exponent and mantissa bits is
// within 6 %; each Newton step squares that error.
inline double cube_root(double x) {
  if (x <= 0.0) return 0.0;
  constexpr std::uint64_t two_thirds_of_bias = 0x2A9F7893782DA1CEull;
  auto root = std::bit_cast<double>(std::bit_cast<std::uint64_t>(x) / 3 + two_thirds_of_bias);
  for (int step = 0; step < 4; ++step) root = (2.0 * root + x / (root * root)) / 3.0;
  return root;
}

inline double cubed(double x) { return x * x * x; }

// Cost of `lines` (by charge, unsampled counts) at one degree of overlap.
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

// CPU time in ns: `other_ns` outside memory, plus the cost of two memories with separate
// bandwidths.
inline double core_time_ns(double other_ns, const LineCost& one, const LineCost& two) {
  const double loads = one.loads + two.loads;
  const double stream = one.stream + two.stream;
  const double buffers = one.buffers + two.buffers;
  const double reads = cubed(larger(one.reads, two.reads));
  const double all_lines = larger(one.all_lines, two.all_lines);
  double waiting = larger(cubed(other_ns + loads) + cubed(stream), cubed(buffers));
  waiting = larger(waiting, 1e-100);
  const double rise = (waiting + cubed(all_lines)) / (waiting + reads);
  return larger(all_lines, cube_root(waiting * rise));
}

// Largest shortfall of a batch that the next one makes up for, as a share of the memory time at the
// highest overlap. Sampling scatters a batch by 6 %; beyond, near costs are too high and are
// scaled.
inline constexpr double most_carried = 0.1;

// Near time used for a batch; near memory explains at least `least_ns`. Batches that are too short
// and too long by chance do not cancel out: missing time is stretched as memory time is, excess
// time hides behind a stream. So missing time is subtracted from the next batch, in `carried_ns`
// (<= 0).
inline double even_out(double near_ns, double least_ns, double& carried_ns) {
  const double with_carried_ns = near_ns + carried_ns;
  const double missing_ns = larger(least_ns - with_carried_ns, 0.0);
  const double kept_ns = larger(-missing_ns, -most_carried * least_ns);
  carried_ns = kept_ns;
  return larger(with_carried_ns - kept_ns, 0.0);
}

// The least that `lines` take near: what memory explains at the most overlap.
inline double least_time_ns(const double (&lines)[charges], const LineCost* near,
                            std::size_t factors) {
  return core_time_ns(0.0, cost_of(lines, near + (factors - 1) * charges), {});
}

// What a batch that took `near_ns` with all `lines` near would take with `moved` of them far.
// `near` and `far` are [factors][charges].
double far_time_ns(double near_ns, const double (&lines)[charges], const double (&moved)[charges],
                   const LineCost* near, const LineCost* far, std::size_t factors);

}  // namespace nearfar::profile
