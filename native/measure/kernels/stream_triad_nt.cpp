// STREAM triad with non-temporal stores: a = b + 3 c.
#include "measure/streamed.hpp"

namespace nearfar::measure {
namespace {

using StreamTriadNt = Streamed<&Operations::stream_nt, 2, Stores::non_temporal>;

NEARFAR_KERNEL(StreamTriadNt, "stream-triad-nt", "STREAM triad with non-temporal stores")

}  // namespace
}  // namespace nearfar::measure
