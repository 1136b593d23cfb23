// One chain of dependent loads over all lines in random order: idle read latency.
#include "measure/follow.hpp"

namespace nearfar::measure {
namespace {

NEARFAR_KERNEL(Follow<Links::random>, "chase", "dependent loads, random over the region")

}  // namespace
}  // namespace nearfar::measure
