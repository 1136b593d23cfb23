// Time in which a core gets a line that another core has just written.
#pragma once

#include "base/units.hpp"
#include "measure/memory.hpp"

namespace nearfar::measure {

struct HandOff {
  // From a store on one core until another core sees it: half a round trip.
  Nanoseconds line{};
  // Chase over lines that the other core has just written (modified there).
  Nanoseconds modified{};
  // Chase over lines that the other core has just read from memory (clean there); 0 if the
  // processor has no instruction that drops a line from all caches.
  Nanoseconds clean{};
  bool disturbed = false;
};

// Measures between two different CPUs, on lines of `memory`, whose node matters and whose content
// is lost. It needs at least 4 KiB, better 64. Takes some 10 ms; throws std::system_error for a
// missing CPU.
HandOff core_to_core(unsigned cpu_a, unsigned cpu_b, Memory& memory);

}  // namespace nearfar::measure
