// Non-temporal stores and a fence: durable after the fence.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using Random = Persist<Scattered, true, nullptr>;
using Sequential = Persist<InOrder, true, nullptr>;
NEARFAR_KERNEL(Random, "persist-nt-store", "non-temporal stores and a fence, in random order")
NEARFAR_KERNEL(Sequential, "persist-nt-store-sequential",
               "non-temporal stores and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
