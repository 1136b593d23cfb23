// Loads and stores past the caches in any share, in sequence: what comes near read shares below a
// half, which ordinary stores cannot, for they read each line first.
#include "measure/mixture.hpp"

namespace nearfar::measure {
namespace {

using PastCaches = Mixture<true>;
NEARFAR_KERNEL(PastCaches, "mixed-nt", "loads and nt-stores by --read-share, each in sequence")

// Loads and stores past the caches in any share, in random order.
using MixedNtRandom = RandomMixture<true>;
NEARFAR_KERNEL(MixedNtRandom, "mixed-nt-random", "loads and nt-stores by --read-share, random")

}  // namespace
}  // namespace nearfar::measure
