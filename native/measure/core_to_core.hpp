// Time that a core needs to get a line that another core has just written.
#pragma once

#include "base/units.hpp"
#include "measure/memory.hpp"

namespace nearfar::measure {

struct HandOff {
  // Time from a store on one core until another core sees it: half a round trip.
  Nanoseconds line{};
  // Time per line of a chase over lines that the other core has just written (modified in its
  // cache).
  Nanoseconds modified{};
  // Time per line of a chase over lines that the other core has just read from memory (clean in its
  // cache); 0 if the processor has no instruction that evicts a line from all caches.
  Nanoseconds clean{};
  bool disturbed = false;
};

// Measures between two different CPUs, on lines of `memory`. The memory's node matters; its content
// is lost. It must have at least 4 KiB, better 64 KiB. Takes some 10 ms; throws std::system_error
// if a CPU does not exist.
HandOff core_to_core(unsigned cpu_a, unsigned cpu_b, Memory& memory);

}  // namespace nearfar::measure
