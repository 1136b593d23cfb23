// Loads and ordinary stores in any share, in random order.
#include "measure/mixture.hpp"

namespace nearfar::measure {
namespace {

using Ordinary = RandomMixture<false>;
NEARFAR_KERNEL(Ordinary, "mixed-random", "loads and ordinary stores by --read-share, random")

}  // namespace
}  // namespace nearfar::measure
