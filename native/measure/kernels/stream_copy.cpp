// STREAM's first: c = a.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using StreamCopy = Streamed<&Operations::copy, 1>;

NEARFAR_KERNEL(StreamCopy, "stream-copy", "STREAM copy: c = a, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
