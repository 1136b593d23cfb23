// Loads and ordinary stores of whole lines in any share, in sequence: the load for loaded latency.
#include "measure/mixture.hpp"

namespace nearfar::measure {
namespace {

using Ordinary = Mixture<false>;
NEARFAR_KERNEL(Ordinary, "mixed", "loads and ordinary stores by --read-share, each in sequence")

// Loads and ordinary stores in any share, in random order.
using MixedRandom = RandomMixture<false>;
NEARFAR_KERNEL(MixedRandom, "mixed-random", "loads and ordinary stores by --read-share, random")

}  // namespace
}  // namespace nearfar::measure
