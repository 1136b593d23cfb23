#include "profile/runtime/core_time.hpp"

namespace nearfar::profile {

namespace {

// Returns the time outside memory, in ns, for which the total is `near_ns`.
double other_ns(double near_ns, const LineCost& memory) {
  double low = 0.0;
  double high = near_ns;
  // 2^-20 of the time is far below the resolution of a batch's clock.
  for (int step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2;
    (core_time_ns(middle, memory, {}) > near_ns ? high : low) = middle;
  }
  return (low + high) / 2;
}

LineCost between(const LineCost& first, const LineCost& second, double fraction) {
  const auto at = [fraction](double a, double b) { return a + fraction * (b - a); };
  return {at(first.loads, second.loads), at(first.stream, second.stream),
          at(first.buffers, second.buffers), at(first.reads, second.reads),
          at(first.all_lines, second.all_lines)};
}

// Interpolates between costs that explain at least `near_ns` (0) and costs that explain less (1).
// Returns the fraction at which they explain exactly `near_ns`, 0..1.
double fraction_to(const LineCost& more, const LineCost& less, double near_ns) {
  double low = 0.0;
  double high = 1.0;
  // 2^-12 of the way between two factors 10 % apart is negligible.
  for (int step = 0; step < 12; ++step) {
    const double middle = (low + high) / 2;
    (core_time_ns(0.0, between(more, less, middle), {}) > near_ns ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double far_time_ns(double near_ns, const double (&lines)[charges], const double (&moved)[charges],
                   const LineCost* near, const LineCost* far, std::size_t factors) {
  const auto memory_ns = [&](std::size_t factor) {
    return core_time_ns(0.0, cost_of(lines, near + factor * charges), {});
  };
  // The highest overlap at which memory explains the whole near time.
  std::size_t factor = 0;
  for (std::size_t step = 1u << 31; step != 0; step >>= 1) {
    if (factor + step < factors && memory_ns(factor + step) >= near_ns) factor += step;
  }
  double stays[charges];
  for (unsigned charge = 0; charge < charges; ++charge) {
    stays[charge] = lines[charge] - moved[charge];
  }
  const double explained = memory_ns(factor);
  const std::size_t next = factor + 1 < factors ? factor + 1 : factor;
  const auto interpolated_cost = [&](const double(&some_lines)[charges], const LineCost* costs,
                                     double fraction) {
    return between(cost_of(some_lines, costs + factor * charges),
                   cost_of(some_lines, costs + next * charges), fraction);
  };
  // At this factor memory explains more than near time, at the next factor less. If no factor
  // explains less, the near costs are too high by that ratio, and the far costs are too.
  const double fraction = explained > near_ns && next != factor
                              ? fraction_to(interpolated_cost(lines, near, 0.0),
                                            interpolated_cost(lines, near, 1.0), near_ns)
                              : 0.0;
  const double scale = explained > near_ns && next == factor ? near_ns / explained : 1.0;
  const double second =
      explained < near_ns ? other_ns(near_ns, interpolated_cost(lines, near, 0.0)) : 0.0;
  return scale * core_time_ns(second, interpolated_cost(stays, near, fraction),
                              interpolated_cost(moved, far, fraction));
}

}  // namespace nearfar::profile
