// Stores, clflushopt of each line and a fence: durable, and the line is dropped.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using PersistClflushoptRandom = Persist<Scattered, false, &Flushes::clflushopt>;
using PersistClflushoptSequential = Persist<InOrder, false, &Flushes::clflushopt>;
NEARFAR_KERNEL(PersistClflushoptRandom, "persist-clflushopt",
               "stores, clflushopt and a fence, in random order")
NEARFAR_KERNEL(PersistClflushoptSequential, "persist-clflushopt-sequential",
               "stores, clflushopt and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
