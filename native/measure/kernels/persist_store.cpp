// Ordinary stores and a fence, without a flush: durable only if caches are (eADR); shows the cost
// of the fence.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using PersistStoreRandom = Persist<Scattered, false, nullptr>;
using PersistStoreSequential = Persist<InOrder, false, nullptr>;
NEARFAR_KERNEL(PersistStoreRandom, "persist-store", "stores and a fence, no flush, in random order")
NEARFAR_KERNEL(PersistStoreSequential, "persist-store-sequential",
               "stores and a fence, no flush, in order")

}  // namespace
}  // namespace nearfar::measure
