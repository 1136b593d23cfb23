// Independent loads a stride apart: what of an access a memory fetches at once.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<InOrder, Load>;
NEARFAR_KERNEL(Visited, "read-strided", "independent loads, --stride apart")

}  // namespace
}  // namespace nearfar::measure
