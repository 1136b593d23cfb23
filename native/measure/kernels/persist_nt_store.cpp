// Non-temporal stores and a fence: durable after the fence.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using PersistNtStoreRandom = Persist<Scattered, true, nullptr>;
using PersistNtStoreSequential = Persist<InOrder, true, nullptr>;
NEARFAR_KERNEL(PersistNtStoreRandom, "persist-nt-store",
               "non-temporal stores and a fence, in random order")
NEARFAR_KERNEL(PersistNtStoreSequential, "persist-nt-store-sequential",
               "non-temporal stores and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
