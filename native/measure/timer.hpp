// What reading a clock costs, and its smallest step.
#pragma once

#include "base/units.hpp"

namespace nearfar::measure {

struct Timer {
  Nanoseconds overhead{};    // median cost of one reading; subtracted once a timing
  Nanoseconds resolution{};  // smallest step seen between two different readings
};
// Of thread CPU time. Measured at the first call.
const Timer& timer();
// Of the system's clock, wall time. Measured at the first call.
const Timer& wall_timer();

}  // namespace nearfar::measure
