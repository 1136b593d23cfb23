// STREAM scale: b = 3 c.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using StreamScale = Streamed<&Operations::scale, 1>;

NEARFAR_KERNEL(StreamScale, "stream-scale", "STREAM scale: b = 3 c, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
