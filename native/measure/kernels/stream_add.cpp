// STREAM add: c = a + b.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using StreamAdd = Streamed<&Operations::add, 2>;

NEARFAR_KERNEL(StreamAdd, "stream-add", "STREAM add: c = a + b, ordinary stores")

}  // namespace
}  // namespace nearfar::measure
