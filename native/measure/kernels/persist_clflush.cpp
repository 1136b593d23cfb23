// Stores, clflush of each line (DC CIVAC on AArch64), which is serialised, and a fence.
#include "measure/orders.hpp"
#include "measure/persist.hpp"

namespace nearfar::measure {
namespace {

using PersistClflushRandom = Persist<Scattered, false, &Flushes::clflush>;
using PersistClflushSequential = Persist<InOrder, false, &Flushes::clflush>;
NEARFAR_KERNEL(PersistClflushRandom, "persist-clflush",
               "stores, clflush and a fence, in random order")
NEARFAR_KERNEL(PersistClflushSequential, "persist-clflush-sequential",
               "stores, clflush and a fence, in order")

}  // namespace
}  // namespace nearfar::measure
