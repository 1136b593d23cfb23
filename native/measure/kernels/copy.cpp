// As many loads as ordinary stores; the target's lines are read for ownership first.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using Copy = Streamed<&Operations::copy, 1>;

NEARFAR_KERNEL(Copy, "copy", "half the lines copied to the others by ordinary stores")

// The penalty of arrays that lie a power of two apart is the difference to "copy".
using CopyAliased = Streamed<&Operations::copy, 1, Stores::ordinary, Starts::aliased>;
NEARFAR_KERNEL(CopyAliased, "copy-aliased", "copy between arrays that lie a power of two apart")

// STREAM copy: c = a.
using StreamCopy = Streamed<&Operations::copy, 1>;
NEARFAR_KERNEL(StreamCopy, "stream-copy", "STREAM copy: c = a, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
