// Stores, clwb of each line and a fence (DC CVAP on AArch64): durable, and the line stays cached.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using PersistClwbRandom = Persist<Scattered, false, &Flushes::clwb>;
using PersistClwbSequential = Persist<InOrder, false, &Flushes::clwb>;
NEARFAR_KERNEL(PersistClwbRandom, "persist-clwb", "stores, clwb and a fence, in random order")
NEARFAR_KERNEL(PersistClwbSequential, "persist-clwb-sequential",
               "stores, clwb and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
