// Each line loaded, changed and stored, in random order.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<Scattered, Update>;
NEARFAR_KERNEL(Visited, "read-modify-write-random",
               "each line loaded, changed, stored, in random order")

}  // namespace
}  // namespace nearfar::measure
