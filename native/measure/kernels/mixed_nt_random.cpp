// Loads and stores past the caches in any share, in random order.
#include "measure/mixture.hpp"

namespace nearfar::measure {
namespace {

using PastCaches = RandomMixture<true>;
NEARFAR_KERNEL(PastCaches, "mixed-nt-random", "loads and nt-stores by --read-share, random")

}  // namespace
}  // namespace nearfar::measure
