// Loads and ordinary stores, one for one; the target is owned (read) before it is written.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using Copy = Streamed<&Operations::copy, 1>;

NEARFAR_KERNEL(Copy, "copy", "half the lines copied to the others by ordinary stores")

}  // namespace
}  // namespace nearfar::measure
