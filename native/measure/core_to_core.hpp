// How long one core waits for a line that another has just written.
#pragma once

#include "base/units.hpp"
#include "measure/memory.hpp"

namespace nearfar::measure {

struct HandOff {
  // One way: from a store on one core to its being seen on the other, half of a round trip.
  Nanoseconds line{};
  // A chase over lines the other core has just written (modified there) ...
  Nanoseconds modified{};
  // ... and over lines that it has just read from memory (clean there); 0 where this processor has
  // no instruction that drops a line from all caches first.
  Nanoseconds clean{};
  bool disturbed = false;
};

// Between two different CPUs, on lines of `memory` (which node they are of matters); at least
// 4 KiB of it (better 64), whose content is lost. Takes some 10 ms; throws std::system_error for a
// CPU that is not there.
HandOff core_to_core(unsigned cpu_a, unsigned cpu_b, Memory& memory);

}  // namespace nearfar::measure
