// Schoenauer triad: a = (b xor c) + d.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using Triad = Streamed<&Operations::triad, 3>;

NEARFAR_KERNEL(Triad, "triad", "three arrays read, one written: a = (b xor c) + d")

}  // namespace
}  // namespace nearfar::measure
