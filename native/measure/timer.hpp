// Cost of reading a clock, and its smallest step.
#pragma once

#include "base/units.hpp"

namespace nearfar::measure {

struct Timer {
  Nanoseconds overhead{};    // median cost of a reading; subtracted once per timing
  Nanoseconds resolution{};  // smallest difference of two readings
};
// Timer of thread CPU time, measured on the first call.
const Timer& timer();
// Timer of wall time, measured on the first call.
const Timer& wall_timer();

}  // namespace nearfar::measure
