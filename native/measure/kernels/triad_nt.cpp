// Schoenauer triad with non-temporal stores: a = (b xor c) + d.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using TriadNt = Streamed<&Operations::triad_nt, 3, Stores::non_temporal>;

NEARFAR_KERNEL(TriadNt, "triad-nt", "three arrays read, one written by non-temporal stores")

}  // namespace
}  // namespace nearfar::measure
