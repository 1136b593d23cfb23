// Stores, clwb of each line and a fence (DC CVAP on AArch64): durable, and the line stays cached.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using Random = Persist<Scattered, false, &Flushes::clwb>;
using Sequential = Persist<InOrder, false, &Flushes::clwb>;
NEARFAR_KERNEL(Random, "persist-clwb", "stores, clwb and a fence, in random order")
NEARFAR_KERNEL(Sequential, "persist-clwb-sequential", "stores, clwb and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
