// Fenced non-temporal stores in sequence over one region repeatedly: wear and wear levelling.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using Again = Persist<InOrder, true, nullptr>;
NEARFAR_KERNEL(Again, "overwrite", "fenced non-temporal stores, over one region repeatedly")

}  // namespace
}  // namespace nearfar::measure
