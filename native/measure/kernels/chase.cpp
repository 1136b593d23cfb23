// One chain of dependent loads over all lines in random order: idle read latency.
#include "measure/follow.hpp"

namespace nearfar::measure {
namespace {

NEARFAR_KERNEL(Follow<Links::random>, "chase", "dependent loads, random over the region")

// One chain of dependent loads, each to the next line: what prefetchers leave of the latency.
NEARFAR_KERNEL(Follow<Links::sequential>, "chase-sequential", "dependent loads, line after line")

}  // namespace
}  // namespace nearfar::measure
