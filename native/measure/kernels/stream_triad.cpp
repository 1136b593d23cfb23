// STREAM triad: a = b + 3 c.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using StreamTriad = Streamed<&Operations::stream, 2>;

NEARFAR_KERNEL(StreamTriad, "stream-triad", "STREAM triad: a = b + 3 c, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
