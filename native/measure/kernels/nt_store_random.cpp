// Non-temporal stores of whole lines in random order.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<Scattered, NtStore>;
NEARFAR_KERNEL(Visited, "nt-store-random", "stores past the caches in random order")

}  // namespace
}  // namespace nearfar::measure
