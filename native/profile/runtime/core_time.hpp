// What a core takes while lines of two memories overlap: nearfar/predict/core_time.py, for numbers.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "profile/runtime/emulation.hpp"

namespace nearfar::profile {

inline double larger(double a, double b) { return a > b ? a : b; }

// The C library's is in libm, which instrumented programs need not have. A third of the exponent
// and mantissa bits is within 6 %; each of Newton's steps squares that.
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

// CPU time in ns: `other_ns` beside memory, and what two memories with bandwidths of their own
// take.
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

// Of what memory explains at the most overlap: what of a batch's shortfall the next one makes up
// for. Sampling alone scatters a batch by 6 %; beyond, near costs are too high, and are scaled.
inline constexpr double most_carried = 0.1;

// Near time to reckon a batch with, where `least_ns` is the least that near memory explains. A
// batch that took less than that by chance and one that took more do not cancel out: what is
// missing is stretched as memory is, and what is too much hides behind a stream. So what is missing
// is taken from the next batch, by way of `carried_ns`, 0 or less.
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
