// A chain of dependent loads over all lines in random order: idle read latency.
#include "measure/follow.hpp"

namespace nearfar::measure {
namespace {

NEARFAR_KERNEL(Follow<Links::random>, "chase", "dependent loads, random over the region")

// A chain of dependent loads in sequence: the latency that prefetchers leave.
NEARFAR_KERNEL(Follow<Links::sequential>, "chase-sequential", "dependent loads, line after line")

}  // namespace
}  // namespace nearfar::measure
