// Non-temporal stores of whole lines a stride apart: write amplification, interleaving.
#include "measure/visits.hpp"

namespace nearfar::measure {
namespace {

using Visited = Visits<InOrder, NtStore>;
NEARFAR_KERNEL(Visited, "nt-store-strided", "stores past the caches, --stride apart")

}  // namespace
}  // namespace nearfar::measure
