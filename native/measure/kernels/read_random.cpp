// Independent loads, one of each line, in random order: read bandwidth without prefetching.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<Scattered, Load>;
NEARFAR_KERNEL(Visited, "read-random", "independent loads, one of each line, in random order")

}  // namespace
}  // namespace nearfar::measure
