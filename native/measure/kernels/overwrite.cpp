// Stores past the caches and a fence, in order over one region again and again: wear, and what
// a memory does about it.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using Again = Persist<InOrder, true, nullptr>;
NEARFAR_KERNEL(Again, "overwrite", "fenced stores past the caches, over one region again and again")

}  // namespace
}  // namespace nearfar::measure
