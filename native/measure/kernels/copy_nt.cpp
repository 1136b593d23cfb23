// As many loads as non-temporal stores: traffic with read share 0.5.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using CopyNt = Streamed<&Operations::copy_nt, 1, Stores::non_temporal>;

NEARFAR_KERNEL(CopyNt, "copy-nt", "half the lines copied to the others by non-temporal stores")

}  // namespace
}  // namespace nearfar::measure
