// Loads and ordinary stores, one for one; the target is owned (read) before it is written.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using Copy = Streamed<&Operations::copy, 1>;

NEARFAR_KERNEL(Copy, "copy", "half the lines copied to the others by ordinary stores")

// STREAM's first: c = a.
using StreamCopy = Streamed<&Operations::copy, 1>;
NEARFAR_KERNEL(StreamCopy, "stream-copy", "STREAM copy: c = a, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
