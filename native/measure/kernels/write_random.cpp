// Ordinary stores, one to each line, in random order: each line is owned first, written back later.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<Scattered, Store>;
NEARFAR_KERNEL(Visited, "write-random", "ordinary stores, one to each line, in random order")

}  // namespace
}  // namespace nearfar::measure
