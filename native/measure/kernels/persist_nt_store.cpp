// Stores past the caches and a fence: durable once the fence has ended.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using Random = Persist<Scattered, true, nullptr>;
using Sequential = Persist<InOrder, true, nullptr>;
NEARFAR_KERNEL(Random, "persist-nt-store", "stores past the caches and a fence, in random order")
NEARFAR_KERNEL(Sequential, "persist-nt-store-sequential",
               "stores past the caches and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
