// Loads and non-temporal stores in any share, in sequence. Unlike ordinary stores, which read each
// line first, they reach read shares below a half.
#include "measure/mixture.hpp"

namespace nearfar::measure {
namespace {

using MixedNt = Mixture<true>;
NEARFAR_KERNEL(MixedNt, "mixed-nt", "loads and nt-stores by --read-share, each in sequence")

// Loads and non-temporal stores in any share, in random order.
using MixedNtRandom = RandomMixture<true>;
NEARFAR_KERNEL(MixedNtRandom, "mixed-nt-random", "loads and nt-stores by --read-share, random")

}  // namespace
}  // namespace nearfar::measure
