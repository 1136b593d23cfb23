#include "profile/runtime/core_time.hpp"

namespace nearfar::profile {

namespace {

// Time outside memory, ns, with which everything takes `near_ns`.
double other_ns(double near_ns, const LineCost& memory) {
  double low = 0.0;
  double high = near_ns;
  // 2^-20 of the time: far below the resolution of a batch's clock.
  for (int step = 0; step < 20; ++step) {
    const double middle = (low + high) / 2;
    (core_time_ns(middle, memory, {}) > near_ns ? high : low) = middle;
  }
  return (low + high) / 2;
}

LineCost between(const LineCost& one, const LineCost& other, double way) {
  const auto at = [way](double a, double b) { return a + way * (b - a); };
  return {at(one.loads, other.loads), at(one.stream, other.stream), at(one.buffers, other.buffers),
          at(one.reads, other.reads), at(one.all_lines, other.all_lines)};
}

// How far from costs that explain `near_ns` or more to others that explain less they explain just
// it, 0..1.
double way_to(const LineCost& more, const LineCost& less, double near_ns) {
  double low = 0.0;
  double high = 1.0;
  // Of two factors 10 % apart, 2^-12 of the way is nothing.
  for (int step = 0; step < 12; ++step) {
    const double middle = (low + high) / 2;
    (core_time_ns(0.0, between(more, less, middle), {}) > near_ns ? low : high) = middle;
  }
  return (low + high) / 2;
}

}  // namespace

double far_time_ns(double near_ns, const double (&lines)[charges], const double (&moved)[charges],
                   const LineCost* near, const LineCost* far, std::size_t factors) {
  const auto spent = [&](std::size_t factor) {
    return core_time_ns(0.0, cost_of(lines, near + factor * charges), {});
  };
  // The highest overlap at which memory explains all of near time.
  std::size_t factor = 0;
  for (std::size_t step = 1u << 31; step != 0; step >>= 1) {
    if (factor + step < factors && spent(factor + step) >= near_ns) factor += step;
  }
  double stays[charges];
  for (unsigned charge = 0; charge < charges; ++charge) {
    stays[charge] = lines[charge] - moved[charge];
  }
  const double explained = spent(factor);
  const std::size_t next = factor + 1 < factors ? factor + 1 : factor;
  const auto of = [&](const double(&some)[charges], const LineCost* costs, double way) {
    return between(cost_of(some, costs + factor * charges), cost_of(some, costs + next * charges),
                   way);
  };
  // Memory explains more than near time at this factor and less at the next. Where none does, the
  // near costs are too high by that, and so are the far ones.
  const double way = explained > near_ns && next != factor
                         ? way_to(of(lines, near, 0.0), of(lines, near, 1.0), near_ns)
                         : 0.0;
  const double scale = explained > near_ns && next == factor ? near_ns / explained : 1.0;
  const double other = explained < near_ns ? other_ns(near_ns, of(lines, near, 0.0)) : 0.0;
  return scale * core_time_ns(other, of(stays, near, way), of(moved, far, way));
}

}  // namespace nearfar::profile
