#include "profile/runtime/core_time.hpp"

namespace nearfar::profile {

namespace {

// ns beside memory at which everything takes `near_ns`; without any it takes less.
double other_ns(double near_ns, const LineCost& memory) {
  double low = 0.0;
  double high = near_ns;
  // 2^-20 of the time: far below what a batch's clock knows.
  for (int step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2;
    (core_time_ns(middle, memory, {}) > near_ns ? high : low) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double far_time_ns(double near_ns, const double (&lines)[charges], const double (&moved)[charges],
                   const LineCost* near, const LineCost* far, std::size_t factors) {
  const auto spent = [&](std::size_t factor) {
    return core_time_ns(0.0, cost_of(lines, near + factor * charges), {});
  };
  // The most overlap at which memory explains all of near time.
  std::size_t factor = 0;
  for (std::size_t step = 1u << 31; step != 0; step >>= 1) {
    if (factor + step < factors && spent(factor + step) >= near_ns) factor += step;
  }
  const LineCost* const near_costs = near + factor * charges;
  double stays[charges];
  for (unsigned charge = 0; charge < charges; ++charge) {
    stays[charge] = lines[charge] - moved[charge];
  }
  const double explained = spent(factor);
  const double scale = explained > near_ns ? near_ns / explained : 1.0;
  const double other = explained < near_ns ? other_ns(near_ns, cost_of(lines, near_costs)) : 0.0;
  return scale *
         core_time_ns(other, cost_of(stays, near_costs), cost_of(moved, far + factor * charges));
}

}  // namespace nearfar::profile
