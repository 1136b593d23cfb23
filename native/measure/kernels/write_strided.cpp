// Ordinary stores a stride apart.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<InOrder, Store>;
NEARFAR_KERNEL(Visited, "write-strided", "ordinary stores, --stride apart")

}  // namespace
}  // namespace nearfar::measure
